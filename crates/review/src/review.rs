//! The groups and the decisions of a catalog, kept consistent with each other.
//!
//! A [`Review`] changes the catalog first and its own state afterwards. If the catalog cannot be
//! written, neither has changed.

use catalog::{Catalog, Choice, Decider, Error, Scope};

use crate::decisions::{Decisions, filter, rules};
use crate::filter::Filter;
use crate::folder_sets::FolderSets;
use crate::index::Index;
use crate::settle::{Settlement, follow};
use crate::settled::Settled;
use crate::view::{Sort, Totals};

/// The groups of a catalog, and the decisions about them.
#[derive(Debug)]
pub struct Review {
    index: Index,
    sets: FolderSets,
    decisions: Decisions,
    settled: Settled,
}

/// The reason why a decision was not recorded.
#[derive(Debug, thiserror::Error)]
pub enum DecideError {
    /// The filter or a keep rule is not valid, or a list is empty or contains an empty item or a
    /// NUL.
    #[error("{0}")]
    Invalid(String),
    /// The catalog cannot be written.
    #[error(transparent)]
    Catalog(#[from] Error),
}

impl Review {
    /// Loads the groups and the decisions of a catalog. In filters, the ages of files are counted
    /// from `now_ns`, in nanoseconds since the epoch.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn load(catalog: &Catalog, now_ns: i64) -> Result<Review, Error> {
        let index = Index::load(catalog, now_ns)?;
        let decisions = Decisions::load(catalog)?;
        let sets = FolderSets::new(&index);
        let settled = Settled::new(&index, &sets, &decisions);
        Ok(Review { index, sets, decisions, settled })
    }

    /// Returns the groups.
    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the folder sets.
    pub fn sets(&self) -> &FolderSets {
        &self.sets
    }

    /// Returns the decisions.
    pub fn decisions(&self) -> &Decisions {
        &self.decisions
    }

    /// Returns the states of the groups.
    pub fn settled(&self) -> &Settled {
        &self.settled
    }

    /// Returns the positions of the groups that match a filter, in order.
    pub fn select(&self, filter: &Filter, sort: Sort) -> Vec<u32> {
        let matches = filter.search(&self.index, Some(self.settled.statuses()));
        let mut order: Vec<u32> = self.index.all().filter(|&at| matches[at as usize]).collect();
        sort.apply(&self.index, &mut order);
        order
    }

    /// Adds up the totals of some groups.
    pub fn totals(&self, groups: &[u32]) -> Totals {
        Totals::of(&self.index, &self.settled, groups)
    }

    /// Applies the decisions to one group.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn settlement(&self, at: u32) -> Settlement {
        let decision = self.settled.by(at).and_then(|by| self.decisions.get(by));
        decision.map_or(Settlement::Undecided, |decision| {
            follow(&self.index, &self.decisions, decision, at)
        })
    }

    /// Returns the scope of a decision about one group. Returns `None` if the digest of the group is
    /// not known.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn group_scope(&self, at: u32) -> Option<Scope> {
        self.index.group(at).digest.map(Scope::Group)
    }

    /// Returns the scope of a decision about all groups with a folder set.
    ///
    /// # Panics
    ///
    /// Panics if there is no such set.
    pub fn folders_scope(&self, set: u32) -> Scope {
        let folders = self.sets.set(&self.index, set).folders;
        Scope::Folders(folders.into_iter().map(|folder| folder.path).collect())
    }

    /// Returns the scope of a decision about all groups that match a filter.
    pub fn filter_scope(filter: &Filter) -> Scope {
        Scope::Filter(filter.to_string())
    }

    /// Records a decision that was made at `made_ms`, in milliseconds since the epoch. Returns its
    /// id. The decision replaces an earlier one about the same scope.
    ///
    /// # Errors
    ///
    /// Fails if the decision is not valid, or if the catalog cannot be written. Nothing has changed
    /// then.
    pub fn decide(
        &mut self,
        decider: &Decider,
        scope: Scope,
        choice: Choice,
        made_ms: i64,
    ) -> Result<i64, DecideError> {
        let scope = canonical(scope).map_err(DecideError::Invalid)?;
        check(&choice).map_err(DecideError::Invalid)?;
        let decision = decider.decide(scope, choice, made_ms)?;
        let (id, scope) = (decision.id, decision.scope.clone());
        self.decisions.add(decision);
        self.settled.update(&self.index, &self.sets, &self.decisions, &scope);
        Ok(id)
    }

    /// Removes a decision. Returns whether there was one with this id.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. Nothing has changed then.
    pub fn withdraw(&mut self, decider: &Decider, id: i64) -> Result<bool, Error> {
        let is_removed = decider.withdraw(id)?;
        if let Some(decision) = self.decisions.remove(id) {
            self.settled.update(&self.index, &self.sets, &self.decisions, &decision.scope);
        }
        Ok(is_removed)
    }

    /// Removes all decisions. Returns their number.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. Nothing has changed then.
    pub fn clear(&mut self, decider: &Decider) -> Result<u64, Error> {
        let removed = decider.clear()?;
        self.decisions = Decisions::default();
        self.settled = Settled::new(&self.index, &self.sets, &self.decisions);
        Ok(removed)
    }
}

/// Checks a scope and brings it into the form in which equal scopes are equal.
pub(crate) fn canonical(scope: Scope) -> Result<Scope, String> {
    match scope {
        Scope::Group(_) => Ok(scope),
        Scope::Folders(mut paths) => {
            check_list(&paths)?;
            paths.sort();
            paths.dedup();
            Ok(Scope::Folders(paths))
        }
        Scope::Filter(text) => Ok(Scope::Filter(filter(&text)?.to_string())),
    }
}

pub(crate) fn check(choice: &Choice) -> Result<(), String> {
    match choice {
        Choice::Leave => Ok(()),
        Choice::Rules(texts) if texts.is_empty() => Ok(()),
        Choice::Rules(texts) => check_list(texts).and_then(|()| rules(texts).map(drop)),
        Choice::Folder(paths) => check_list(paths),
        Choice::Files { keep, others } if others.is_empty() => check_list(keep),
        Choice::Files { keep, others } => check_list(keep).and_then(|()| check_list(others)),
    }
}

/// Checks that a list can be stored: it has items, and none of them is empty or contains a NUL.
fn check_list(items: &[impl AsRef<[u8]>]) -> Result<(), String> {
    let is_bad = |item: &[u8]| item.is_empty() || item.contains(&0);
    if items.is_empty() || items.iter().any(|item| is_bad(item.as_ref())) {
        return Err("a decision needs at least one path or rule, without NUL bytes".into());
    }
    Ok(())
}
