//! Applies decisions to a group: which of its files stay and which are removed.
//!
//! All names of one inode have the same fate. At least one sound file of a group stays; if a
//! decision would remove all of them, it is void. Files that are not sound always stay, because lop
//! cannot compare them.

mod files;

use std::collections::HashSet;
use std::fmt;

use action::plan::{Candidate, choose};
use catalog::{Choice, Decision, Scope};

use crate::decisions::Decisions;
use crate::filter::Filter;
use crate::folder_sets::folders;
use crate::index::{Condition, Index};
use crate::settle::files::Files;
use crate::status::Status;

/// The result of applying the decisions to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settlement {
    /// No decision is about the group.
    Undecided,
    /// The group stays as it is.
    Left {
        /// The id of the decision.
        by: i64,
    },
    /// The fates of the files are determined.
    Decided {
        /// The id of the decision.
        by: i64,
        /// The fate of each member, in the order of [`Index::members`].
        fates: Vec<Fate>,
    },
    /// A decision is about the group but cannot be followed. The group counts as undecided.
    Void {
        /// The id of the decision.
        by: i64,
        /// The reason.
        reason: Void,
    },
}

/// The fate of a file when a run carries out the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The file stays.
    Keep(Why),
    /// The file is removed or replaced.
    Remove,
}

/// The reason why a file stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// This keep rule chose the file.
    Rule(String),
    /// No keep rule distinguished the files, and this file comes first by path.
    First,
    /// The user chose the file or its folder.
    Chosen,
    /// lop does not act on a file in this condition.
    Condition(Condition),
}

/// The reason why a decision cannot be followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Void {
    /// None of the files or folders that should stay is in the group.
    Absent,
    /// A file that would be removed was not in the group when the user chose files.
    Unseen,
    /// The files that should stay cannot be compared with the others.
    Unsound(Condition),
    /// A rule is not valid.
    Rule(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Rule(rule) => f.write_str(rule),
            Why::First => f.write_str("first by path"),
            Why::Chosen => f.write_str("chosen"),
            Why::Condition(condition) => condition.fmt(f),
        }
    }
}

impl fmt::Display for Void {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Void::Absent => f.write_str("none of the files to keep is in the group"),
            Void::Unseen => f.write_str("a file was added to the group after the decision"),
            Void::Unsound(condition) => write!(f, "the files to keep are {condition}"),
            Void::Rule(problem) => f.write_str(problem),
        }
    }
}

/// Applies the decisions to one group.
///
/// # Panics
///
/// Panics if `at` is not less than [`Index::len`].
pub fn settle(index: &Index, decisions: &Decisions, at: u32) -> Settlement {
    let undecided = |filter: &Filter| filter.matches(index, at, Status::Undecided);
    let by_group = || index.group(at).digest.and_then(|d| decisions.about(&Scope::Group(d)));
    let by_folders = || decisions.about(&Scope::Folders(folder_paths(index, at)));
    let by_filter = || {
        let (id, _) = decisions.filters().find(|(_, filter)| undecided(filter))?;
        decisions.get(id)
    };
    let Some(decision) = by_group().or_else(by_folders).or_else(by_filter) else {
        return Settlement::Undecided;
    };
    follow(index, decisions, decision, at)
}

/// Returns the folder set of a group as sorted paths.
fn folder_paths(index: &Index, at: u32) -> Vec<Vec<u8>> {
    let path = |number| index.tree().absolute_dir_path(walk::DirId(number));
    let mut paths: Vec<Vec<u8>> = folders(index, at).folders().into_iter().map(path).collect();
    paths.sort();
    paths
}

/// Applies a decision to a group that it is about.
pub(crate) fn follow(
    index: &Index,
    decisions: &Decisions,
    decision: &Decision,
    at: u32,
) -> Settlement {
    let (by, files) = (decision.id, Files::new(index, at));
    let kept = match keep(index, decisions, decision, at, &files) {
        Ok(Kept::All) => return Settlement::Left { by },
        Ok(kept) => kept,
        Err(reason) => return Settlement::Void { by, reason },
    };
    let (one, chosen) = match kept {
        Kept::ByRules => (Some(choose_one(index, decisions, by, &files, at)), HashSet::new()),
        Kept::Chosen(chosen) => (None, chosen),
        Kept::All => (None, HashSet::new()),
    };
    let fate = |file: usize| match (files.condition(file), &one) {
        (condition, _) if !condition.is_sound() => Fate::Keep(Why::Condition(condition)),
        (_, Some((kept, why))) if *kept == file => Fate::Keep(why.clone()),
        (_, None) if chosen.contains(&file) => Fate::Keep(Why::Chosen),
        _ => Fate::Remove,
    };
    Settlement::Decided { by, fates: files.of_members().map(fate).collect() }
}

/// The effect of a decision on a group in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effect {
    pub(crate) status: Status,
    /// Number of files to remove.
    pub(crate) removes: u32,
}

/// Returns the effect of a decision on a group. Keep rules always keep one sound file, so they do
/// not have to be evaluated for this.
pub(crate) fn effect(index: &Index, decisions: &Decisions, decision: &Decision, at: u32) -> Effect {
    let files = Files::new(index, at);
    let sound = files.sound().count();
    let stays = match keep(index, decisions, decision, at, &files) {
        Ok(Kept::All) => return Effect { status: Status::Left, removes: 0 },
        Ok(Kept::ByRules) => 1,
        Ok(Kept::Chosen(kept)) => files.sound().filter(|file| kept.contains(file)).count(),
        Err(_) => return Effect { status: Status::Void, removes: 0 },
    };
    Effect { status: Status::Decided, removes: walk::to_u32(sound.saturating_sub(stays)) }
}

/// The files of a group that stay, by their numbers in [`Files`].
enum Kept {
    All,
    /// One sound file, which the rules of the decision choose.
    ByRules,
    /// These files, of which at least one is sound.
    Chosen(HashSet<usize>),
}

fn keep(
    index: &Index,
    decisions: &Decisions,
    decision: &Decision,
    at: u32,
    files: &Files,
) -> Result<Kept, Void> {
    let chosen: HashSet<usize> = match &decision.choice {
        Choice::Leave => return Ok(Kept::All),
        Choice::Rules(_) => {
            decisions.rules(decision.id).map_err(|problem| Void::Rule(problem.into()))?;
            return match files.sound().next() {
                Some(_) => Ok(Kept::ByRules),
                None => Err(Void::Unsound(files.condition(0))),
            };
        }
        Choice::Folder(paths) => in_folders(index, at, files, paths),
        Choice::Files { keep, .. } => with_paths(index, at, files, keep),
    };
    let mut conditions = chosen.iter().map(|&file| files.condition(file));
    match conditions.clone().max() {
        None => return Err(Void::Absent),
        Some(_) if conditions.any(Condition::is_sound) => {}
        Some(worst) => return Err(Void::Unsound(worst)),
    }
    if let Choice::Files { others, .. } = &decision.choice {
        let others: HashSet<&[u8]> = others.iter().map(Vec::as_slice).collect();
        let is_removed = |file| !chosen.contains(&file) && files.condition(file).is_sound();
        let mut removed =
            files.of_members().zip(index.files(at)).filter(|(file, _)| is_removed(*file));
        if removed.any(|(_, &name)| !others.contains(&index.tree().absolute_path(name)[..])) {
            return Err(Void::Unseen);
        }
    }
    Ok(Kept::Chosen(chosen))
}

/// Returns the files of which some name is one of the paths.
fn with_paths(index: &Index, at: u32, files: &Files, paths: &[Vec<u8>]) -> HashSet<usize> {
    let paths: HashSet<&[u8]> = paths.iter().map(Vec::as_slice).collect();
    let members = files.of_members().zip(index.files(at));
    let is_one = |name| paths.contains(&index.tree().absolute_path(name)[..]);
    members.filter(|(_, name)| is_one(**name)).map(|(file, _)| file).collect()
}

/// Returns the files of which some name is in one of the folders.
fn in_folders(index: &Index, at: u32, files: &Files, paths: &[Vec<u8>]) -> HashSet<usize> {
    let folder_of = folders(index, at);
    let kept: Vec<u32> =
        paths.iter().filter_map(|path| index.dirs.find(index.tree(), path)).collect();
    let is_kept = |dir| kept.contains(&folder_of.get(index.dirs.number(dir)));
    let members = files.of_members().zip(index.records(at));
    members.filter(|(_, record)| is_kept(record.dir)).map(|(file, _)| file).collect()
}

/// Chooses one of the sound files by the rules of a decision. There must be a sound file.
fn choose_one(
    index: &Index,
    decisions: &Decisions,
    id: i64,
    files: &Files,
    at: u32,
) -> (usize, Why) {
    let sound: Vec<usize> = files.sound().collect();
    let tree = index.tree();
    let mut paths: Vec<Vec<Vec<u8>>> = vec![Vec::new(); files.len()];
    for (file, &name) in files.of_members().zip(index.files(at)) {
        paths[file].push(tree.absolute_path(name));
    }
    let names: Vec<Vec<&[u8]>> =
        sound.iter().map(|&file| paths[file].iter().map(Vec::as_slice).collect()).collect();
    let candidates: Vec<Candidate<'_>> = sound
        .iter()
        .zip(&names)
        .map(|(&file, paths)| {
            let record = tree.file(files.first_name(file));
            let device = tree.device_of(record.dir);
            Candidate {
                paths,
                mtime_ns: record.mtime_ns,
                device: device.number,
                is_local: device.volume.is_local(device.number),
                root: usize::MAX,
            }
        })
        .collect();
    let (at, rule) = choose(&candidates, decisions.rules(id).unwrap_or_default());
    (sound.get(at).copied().unwrap_or(0), rule.map_or(Why::First, Why::Rule))
}
