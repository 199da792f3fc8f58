//! The decisions about groups that the user made in `lop serve` or `lop look`, for plans.
//!
//! A group without a decision, a group that is left, and a group whose decision cannot be followed have no plan. The
//! files of a decided group are found by path, so lop never acts on a path that the decision does not cover.

use std::collections::HashMap;

use catalog::{Catalog, Choice, Decision, Scope};
use review::{Decisions, Fate, Index, Member, Settlement, Why, folders_below, settle};
use runtime::epoch::now_ns;

use crate::error::CommandError;
use crate::paths::is_at_or_below;
use crate::quantity::{count, counted};

/// The groups of a catalog and the decisions about them.
#[derive(Debug)]
pub(crate) struct Decided {
    index: Index,
    decisions: Decisions,
}

/// The files of a decided group by path, each with the reason why it stays, or `None` if it does not stay.
pub(crate) type Fates = HashMap<Vec<u8>, Option<String>>;

/// Numbers of groups that have no plan.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Skipped {
    pub(crate) undecided: u64,
    pub(crate) left: u64,
    /// Groups whose decision cannot be followed.
    pub(crate) void: u64,
}

impl Decided {
    /// Loads the decisions of a catalog.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub(crate) fn load(catalog: &Catalog) -> Result<Decided, CommandError> {
        let index = Index::load(catalog, now_ns())?;
        Ok(Decided { index, decisions: Decisions::load(catalog)? })
    }

    /// Returns the fate of each file of a group, or `None` if lop leaves the whole group alone. `number` is the
    /// number of the content in the catalog.
    pub(crate) fn fates(&self, number: i64) -> Option<Fates> {
        let at = self.index.at(number)?;
        let Settlement::Decided { by, fates } = settle(&self.index, &self.decisions, at) else {
            return None;
        };
        let members = self.index.members(at).into_iter().zip(fates);
        let fate = |(member, fate): (Member, Fate)| match fate {
            // The file stays, but it is not the copy that should stay.
            Fate::Keep(Why::Condition(_)) => None,
            Fate::Keep(why) => {
                let why = self.reason(by, &why, &member.path);
                Some((member.path, Some(why)))
            }
            Fate::Remove => Some((member.path, None)),
        };
        Some(members.filter_map(fate).collect())
    }

    /// Returns why a file stays, in a few words.
    fn reason(&self, by: i64, why: &Why, path: &[u8]) -> String {
        let decision = self.decisions.get(by);
        if let (Why::Chosen, Some(Decision { choice: Choice::Folder(kept), scope, .. })) =
            (why, decision)
        {
            let inside = kept.iter().filter(|folder| is_at_or_below(folder, path));
            if let Some(folder) = inside.max_by_key(|folder| folder.len()) {
                return in_folder(folder, kept, scope);
            }
        }
        why.to_string()
    }

    /// Counts the groups that have no plan.
    pub(crate) fn skipped(&self) -> Skipped {
        let mut skipped = Skipped::default();
        for at in 0..self.index.len() {
            match settle(&self.index, &self.decisions, at) {
                Settlement::Undecided => skipped.undecided += 1,
                Settlement::Left { .. } => skipped.left += 1,
                Settlement::Void { .. } => skipped.void += 1,
                Settlement::Decided { .. } => {}
            }
        }
        skipped
    }
}

/// Returns in which kept folder a file is. Files in other folders of the set below it are removed, so they are
/// named, too.
fn in_folder(folder: &[u8], kept: &[Vec<u8>], scope: &Scope) -> String {
    let text = |path| String::from_utf8_lossy(path);
    let all = if let Scope::Folders(all) = scope { all.as_slice() } else { &[] };
    let others = all.iter().filter(|path| !kept.contains(path)).map(Vec::as_slice);
    let mut removed = folders_below(folder, others);
    match (removed.next(), removed.count()) {
        (None, _) => format!("in {}", text(folder)),
        (Some(first), 0) => format!("in {}, outside {}", text(folder), text(first)),
        (Some(first), more) => {
            let more = counted(more as u64, "other folder", "other folders");
            format!("in {}, outside {} and {more}", text(folder), text(first))
        }
    }
}

impl Skipped {
    /// Returns the numbers as text, or `None` if all groups have plans.
    pub(crate) fn text(self) -> Option<String> {
        let counts = [
            (self.undecided, "undecided"),
            (self.left, "to be left alone"),
            (self.void, "with a decision that cannot be followed"),
        ];
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|&(groups, _)| groups > 0)
            .map(|(groups, what)| format!("{} {what}", count(groups)))
            .collect();
        let all = self.undecided + self.left + self.void;
        let groups = counted(all, "group", "groups");
        (all > 0).then(|| format!("skipped {groups}: {}", counts.join(", ")))
    }
}
