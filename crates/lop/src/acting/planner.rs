//! Turns groups of identical files into plans, based on the current state of each file and the user's rules.

mod changes;

use std::cmp::Reverse;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Display;
use std::ops::Range;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use action::plan::{Kind, Member, Plan, Protection, Rule, Target, Version, plan, plan_decided};
use dupes::{Attributes, State};
use fsops::{FileKey, Stat};
use walk::{DirId, FileId, OwnFiles, Tree};

use crate::acting::decided::Decided;
use crate::acting::sources::Source;
use crate::error::CommandError;
use crate::paths::{is_at_or_below, resolve_all};
use crate::protected::Protected;
use crate::questions::knowledge::UnknownFiles;
use crate::settings::Configured;

/// The user's options for duplicates.
#[derive(Debug)]
pub(crate) struct PlanOptions {
    pub(crate) kind: Kind,
    rules: Vec<Rule>,
    min_size: u64,
    protected: Protected,
    roots: Vec<Vec<u8>>,
    /// True if files in system directories and other files that are managed by programs may be changed.
    pub(crate) system_dirs: bool,
    /// lop's own files, which are never changed.
    pub(crate) own: OwnFiles,
    /// The user's decisions, if they choose the files that stay.
    pub(crate) decided: Option<Decided>,
}

impl PlanOptions {
    /// Resolves the paths that the user typed, and parses the rules. If the user gave no rules, those of the
    /// configuration apply.
    ///
    /// # Errors
    ///
    /// Fails if a path does not exist or a rule is not valid.
    pub(crate) fn new(
        kind: Kind,
        keep: KeepRules<'_>,
        min_size: Option<u64>,
        protected: Protected,
        roots: &[PathBuf],
    ) -> Result<PlanOptions, CommandError> {
        let roots = resolve_all(roots)?;
        let to_path = |path: &Vec<u8>| PathBuf::from(OsString::from_vec(path.clone()));
        let tops: Vec<PathBuf> = roots.iter().map(to_path).collect();
        let mut rules = keep.parse(&tops)?;
        rules.extend(Rule::usual());
        let min_size = min_size.unwrap_or(0);
        Ok(PlanOptions {
            kind,
            rules,
            min_size,
            protected,
            roots,
            system_dirs: false,
            own: OwnFiles::default(),
            decided: None,
        })
    }
}

/// The rules that choose the files to keep, before the default rules.
#[derive(Clone, Copy, Debug)]
pub(crate) enum KeepRules<'a> {
    /// The values of `--keep`.
    Typed(&'a [String]),
    /// The rules of the configuration.
    Configured(&'a [Configured<String>]),
}

impl KeepRules<'_> {
    /// Parses the rules. `tops` are the PATHs of the command.
    fn parse(self, tops: &[PathBuf]) -> Result<Vec<Rule>, CommandError> {
        let parse = |option: &dyn Display, text: &str| {
            Rule::parse(text, tops).map_err(|e| CommandError::usage(format!("{option}: {e}")))
        };
        match self {
            KeepRules::Typed(rules)
                if tops.is_empty() && rules.iter().any(|rule| rule == FIRST_ROOT) =>
            {
                Err(CommandError::usage("--keep first-root needs PATHs"))
            }
            KeepRules::Typed(rules) => rules.iter().map(|rule| parse(&"--keep", rule)).collect(),
            // A rule about PATHs does not distinguish any files without them.
            KeepRules::Configured(rules) => rules
                .iter()
                .filter(|rule| !tops.is_empty() || rule.value != FIRST_ROOT)
                .map(|rule| parse(&format!("{}: keep", rule.place), &rule.value))
                .collect(),
        }
    }
}

/// The rule that prefers files below the first PATH.
const FIRST_ROOT: &str = "first-root";

/// Groups of files that are unchanged since they were compared.
pub(crate) struct Planner {
    source: Source,
    options: PlanOptions,
    /// The current attributes of each file. `None` if the file has changed.
    now: Vec<Option<Attributes>>,
    /// Group number and file number of each member, sorted so that the members of a group are adjacent.
    members: Vec<(u32, FileId)>,
    /// The range of each group in `members`.
    groups: Vec<Range<usize>>,
    protected: ProtectedDirs,
    /// Number of files that are skipped because another program, such as git, manages them.
    left: u64,
}

impl Planner {
    /// Prepares plans for the groups of a source. `now` contains the current attributes of each file.
    pub(crate) fn new(
        source: Source,
        now: Vec<Option<Attributes>>,
        options: PlanOptions,
    ) -> Planner {
        let mut members = source.members();
        let is_wanted = |file: FileId| {
            now[file.0 as usize].is_some() && source.tree().file(file).size >= options.min_size
        };
        members.retain(|&(_, file)| is_wanted(file));
        leave_own(&source, &options.own, &mut members);
        let left = leave_to_programs(&source, &options, &mut members);
        members.sort_unstable();
        let protected = ProtectedDirs::new(source.tree(), &options.protected);
        let mut groups = Vec::new();
        for group in members.chunk_by(|a, b| a.0 == b.0) {
            let start = groups.last().map_or(0, |last: &Range<usize>| last.end);
            groups.push(start..start + group.len());
        }
        groups.retain(|group| group.len() > 1);
        Planner { source, options, now, members, groups, protected, left }
    }

    /// Returns the files that are skipped because their current content is unknown.
    pub(crate) fn unknown(&self) -> UnknownFiles {
        let Some(loaded) = self.loaded() else { return UnknownFiles::default() };
        let tree = self.source.tree();
        let is_wanted = |file: FileId| {
            tree.file(file).size >= self.options.min_size
                && (self.options.roots.is_empty() || {
                    let path = tree.absolute_path(file);
                    self.options.roots.iter().any(|root| is_at_or_below(root, &path))
                })
        };
        let members = self.source.members().into_iter().map(|(_, file)| file);
        let stale = members.filter(|file| self.now[file.0 as usize].is_none() && is_wanted(*file));
        let became = |file| if tree.is_offline(file) { State::Offline } else { State::Changed };
        UnknownFiles::of_catalog(stale.map(became), loaded.unreliable_counts())
    }

    /// Sorts the groups in the order of the directory tree, to reduce seeks.
    pub(crate) fn in_order_of_the_tree(mut self) -> Planner {
        let members = &self.members;
        self.groups.sort_unstable_by_key(|group| members[group.start].1);
        self
    }

    /// Sorts the groups for display: by total size of the redundant files, largest first, then by path.
    pub(crate) fn in_order_of_size(mut self) -> Planner {
        let (tree, members) = (self.source.tree(), &self.members);
        self.groups.sort_by_cached_key(|group| {
            let paths = members[group.clone()].iter().map(|&(_, file)| tree.absolute_path(file));
            let size = tree.file(members[group.start].1).size;
            (Reverse(size.saturating_mul(group.len() as u64 - 1)), paths.min())
        });
        self
    }

    /// Returns the number of files that are skipped because they are managed by programs.
    pub(crate) fn left_to_programs(&self) -> u64 {
        self.left
    }

    /// Returns the rules whose pattern matched no file.
    pub(crate) fn idle_rules(&self) -> impl Iterator<Item = &Rule> {
        self.options.rules.iter().filter(|rule| rule.matched_nothing())
    }

    /// Returns the devices that hold the files.
    pub(crate) fn devices(&self) -> &[walk::Device] {
        self.source.tree().devices()
    }

    /// Returns an iterator over the plans.
    pub(crate) fn plans(&self) -> impl Iterator<Item = Plan> + Clone + Send + '_ {
        self.groups.iter().flat_map(|group| {
            let group = &self.members[group.clone()];
            let members = group.iter().filter_map(|&(_, file)| self.member(file)).collect();
            let digest = group.first().and_then(|&(_, file)| self.source.digest(file));
            let PlanOptions { kind, rules, decided, .. } = &self.options;
            let plans = match decided {
                Some(decided) => plan_decided(self.settle(group, members, decided), *kind, rules),
                None => plan(members, *kind, rules),
            };
            plans.into_iter().map(move |plan| Plan { digest, ..plan })
        })
    }

    /// Protects the members of a group that stay by decision. Returns no members if the group is not decided.
    fn settle(
        &self,
        group: &[(u32, FileId)],
        members: Vec<Member>,
        decided: &Decided,
    ) -> Vec<Member> {
        let number = group.first().and_then(|&(_, file)| self.source.content_number(file));
        let Some(fates) = number.and_then(|number| decided.fates(number)) else {
            return Vec::new();
        };
        let settled = members.into_iter().filter_map(|member| {
            let stays = fates.get(&member.target.path)?.clone().map(Protection::Decided);
            let protected = stays.or(member.protected.clone());
            Some(Member { protected, ..member })
        });
        settled.collect()
    }

    fn member(&self, file: FileId) -> Option<Member> {
        let stat = self.stat(file)?;
        let tree = self.source.tree();
        let path = tree.absolute_path(file);
        let root = self.options.roots.iter().position(|dir| is_at_or_below(dir, &path));
        let is_protected = || {
            self.options.protected.folder_of(&path).is_some()
                || self.protected.contains(tree, tree.file(file).dir)
        };
        let protected = if is_protected() {
            Some(Protection::Requested)
        } else if root.is_none() && !self.options.roots.is_empty() {
            Some(Protection::Outside)
        } else {
            None
        };
        let target = Target { path, version: Version::from(&stat), tag: file.0 };
        let root = root.unwrap_or(usize::MAX);
        let device = tree.device_of(tree.file(file).dir);
        let is_local = device.volume.is_local(device.number);
        Some(Member { is_local, protected, root, ..Member::new(target, stat) })
    }

    fn stat(&self, file: FileId) -> Option<Stat> {
        self.now[file.0 as usize].map(|now| now.stat(self.source.tree(), file))
    }

    /// Returns the catalog, if it is the source of the groups.
    pub(crate) fn loaded(&self) -> Option<&catalog::Loaded> {
        self.source.loaded()
    }
}

/// Removes files that are managed by programs from the groups of a catalog, and returns the number of removed files.
/// Removes nothing from a report or a list, because the user chose each file in it.
fn leave_to_programs(
    source: &Source,
    options: &PlanOptions,
    members: &mut Vec<(u32, FileId)>,
) -> u64 {
    let Some(loaded) = source.loaded().filter(|_| !options.system_dirs) else { return 0 };
    let kept = walk::managed_by_programs(&loaded.tree, &options.roots);
    let before = members.len();
    members.retain(|&(_, file)| !kept[loaded.tree.file(file).dir.0 as usize]);
    (before - members.len()) as u64
}

/// Removes lop's own files from the groups of a catalog. A catalog can contain them if they were scanned while a
/// different catalog was in use. Does nothing for a report or a list, because such files were refused when the report
/// or list was read.
fn leave_own(source: &Source, own: &OwnFiles, members: &mut Vec<(u32, FileId)>) {
    let Some(tree) = source.loaded().map(|loaded| &loaded.tree) else { return };
    let is_own = |file| own.has(dir_key(tree, tree.file(file).dir), tree.name(file).to_bytes());
    members.retain(|&(_, file)| !is_own(file));
}

/// The protected directories and all directories below them. Protected directories are also recognised by device and
/// inode number, so that they are protected under every path.
#[derive(Default)]
struct ProtectedDirs {
    dirs: HashSet<DirId>,
    keys: HashSet<FileKey>,
}

impl ProtectedDirs {
    fn new(tree: &Tree, folders: &Protected) -> ProtectedDirs {
        let mut protected = ProtectedDirs::default();
        if folders.is_empty() {
            return protected;
        }
        for (id, dir) in (0u32..).zip(tree.dirs()) {
            let id = DirId(id);
            if folders.folder_of(&tree.absolute_dir_path(id)).is_some() {
                protected.dirs.insert(id);
                if dir.inode != 0 {
                    protected.keys.insert(dir_key(tree, id));
                }
            }
        }
        protected
    }

    fn contains(&self, tree: &Tree, dir: DirId) -> bool {
        self.dirs.contains(&dir) || self.keys.contains(&dir_key(tree, dir))
    }
}

fn dir_key(tree: &Tree, id: DirId) -> FileKey {
    FileKey { device: tree.device_of(id).number, inode: tree.dir(id).inode }
}
