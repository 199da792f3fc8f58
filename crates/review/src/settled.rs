//! The states of all groups, kept up to date as decisions are made.
//!
//! The states are those that [`settle`](crate::settle::settle) would return. [`Settled::update`]
//! must be called after every change of the decisions.

use std::collections::HashMap;

use catalog::Scope;

use crate::decisions::Decisions;
use crate::folder_sets::FolderSets;
use crate::index::Index;
use crate::settle::{Effect, effect};
use crate::status::Status;

/// The states of all groups.
#[derive(Debug)]
pub struct Settled {
    statuses: Vec<Status>,
    rows: Vec<Row>,
    /// The decision about each folder set.
    by_set: HashMap<u32, i64>,
    /// The groups that each filter of a decision matches, latest decision first.
    by_filter: Vec<(i64, Vec<bool>)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Row {
    /// The id of the decision, if any.
    by: Option<i64>,
    removes: u32,
    frees: u64,
}

impl Settled {
    /// Applies the decisions to all groups.
    pub fn new(index: &Index, sets: &FolderSets, decisions: &Decisions) -> Settled {
        let mut settled = Settled {
            statuses: vec![Status::Undecided; index.len() as usize],
            rows: vec![Row::default(); index.len() as usize],
            by_set: HashMap::new(),
            by_filter: Vec::new(),
        };
        for decision in decisions.list() {
            if let Scope::Folders(paths) = &decision.scope
                && let Some(set) = sets.find(index, paths)
            {
                settled.by_set.insert(set, decision.id);
            }
        }
        settled.search(index, decisions);
        settled.refresh(index, sets, decisions, index.all());
        settled
    }

    /// Returns the status of a group.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn status(&self, at: u32) -> Status {
        self.statuses[at as usize]
    }

    /// Returns the id of the decision about a group.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn by(&self, at: u32) -> Option<i64> {
        self.rows[at as usize].by
    }

    /// Returns the number of files of a group that are removed.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn removes(&self, at: u32) -> u32 {
        self.rows[at as usize].removes
    }

    /// Returns the number of bytes that removing these files frees.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn frees(&self, at: u32) -> u64 {
        self.rows[at as usize].frees
    }

    /// Returns the status of each group.
    pub(crate) fn statuses(&self) -> &[Status] {
        &self.statuses
    }

    /// Applies the decisions again to the groups of a scope, after the decision about this scope was
    /// made, replaced or withdrawn.
    pub(crate) fn update(
        &mut self,
        index: &Index,
        sets: &FolderSets,
        decisions: &Decisions,
        scope: &Scope,
    ) {
        match scope {
            Scope::Group(digest) => {
                self.refresh(index, sets, decisions, index.at_digest(digest).into_iter());
            }
            Scope::Folders(paths) => {
                let Some(set) = sets.find(index, paths) else { return };
                match decisions.about(scope) {
                    Some(decision) => self.by_set.insert(set, decision.id),
                    None => self.by_set.remove(&set),
                };
                self.refresh(index, sets, decisions, sets.groups_of(set).iter().copied());
            }
            Scope::Filter(_) => {
                self.search(index, decisions);
                self.refresh(index, sets, decisions, index.all());
            }
        }
    }

    /// Finds the groups that the filters of decisions match.
    fn search(&mut self, index: &Index, decisions: &Decisions) {
        let mut known: HashMap<i64, Vec<bool>> = self.by_filter.drain(..).collect();
        let matches = decisions.filters().map(|(id, filter)| {
            (id, known.remove(&id).unwrap_or_else(|| filter.search(index, None)))
        });
        self.by_filter = matches.collect();
    }

    fn refresh(
        &mut self,
        index: &Index,
        sets: &FolderSets,
        decisions: &Decisions,
        groups: impl Iterator<Item = u32>,
    ) {
        for at in groups {
            let by = self.find(index, sets, decisions, at);
            let decision = by.and_then(|by| decisions.get(by));
            let Effect { status, removes } = decision
                .map_or_else(Effect::default, |decision| effect(index, decisions, decision, at));
            let frees = share(index.gain(at), removes);
            self.statuses[at as usize] = status;
            self.rows[at as usize] = Row { by, removes, frees };
        }
    }

    /// Returns the decision about a group.
    fn find(
        &self,
        index: &Index,
        sets: &FolderSets,
        decisions: &Decisions,
        at: u32,
    ) -> Option<i64> {
        let by_group = || {
            let digest = index.group(at).digest?;
            decisions.about(&Scope::Group(digest)).map(|decision| decision.id)
        };
        let by_set = || self.by_set.get(&sets.set_of(at)).copied();
        let by_filter = || {
            let found = self.by_filter.iter().find(|(_, matches)| matches[at as usize]);
            found.map(|(id, _)| *id)
        };
        by_group().or_else(by_set).or_else(by_filter)
    }
}

/// Returns the bytes that removing some files of a group frees, given the bytes that keeping only
/// one of its files would free, and the number of its files.
pub(crate) fn share((reclaimable, files): (u64, u32), removes: u32) -> u64 {
    let most = files.saturating_sub(1);
    if removes >= most {
        return if removes == 0 { 0 } else { reclaimable };
    }
    let bytes = u128::from(reclaimable) * u128::from(removes) / u128::from(most);
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::share;

    #[test]
    fn each_removed_file_frees_its_share() {
        let frees = [0, 1, 2, 3, 4].map(|removes| share((300, 4), removes));
        assert_eq!(frees, [0, 100, 200, 300, 300]);
        assert_eq!(share((u64::MAX, u32::MAX), u32::MAX - 1), u64::MAX);
        assert_eq!((share((300, 1), 0), share((300, 0), 0)), (0, 0));
    }
}
