//! Computes the effect of a decision before it is recorded.
//!
//! A preview counts the same groups that would follow the decision once it is recorded: those that no
//! decision with precedence is about.

use catalog::{Choice, Decision, Scope};

use crate::decisions::{Decisions, filter};
use crate::review::{Review, canonical, check};
use crate::settle::effect;
use crate::settled::share;
use crate::status::Status;

/// The effect that a decision would have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preview {
    /// Number of groups that would follow it and be decided or left.
    pub decided: u64,
    /// Number of groups that would follow it but could not be settled.
    pub void: u64,
    /// Number of groups that it is about, but that have a decision with precedence.
    pub others: u64,
    /// Number of files that would be removed.
    pub removes: u64,
    /// The bytes that removing them would free.
    pub frees: u64,
}

/// An id that no recorded decision has.
const UNRECORDED: i64 = i64::MAX;

impl Review {
    /// Returns what a decision would do. Changes nothing.
    ///
    /// # Errors
    ///
    /// Returns a message for the user if the decision is not valid.
    pub fn preview(&self, scope: &Scope, choice: &Choice) -> Result<Preview, String> {
        let scope = canonical(scope.clone())?;
        check(choice)?;
        let groups = self.groups_in(&scope)?;
        let decision = Decision { id: UNRECORDED, made_ms: 0, scope, choice: choice.clone() };
        let mut alone = Decisions::default();
        alone.add(decision.clone());
        let mut preview = Preview::default();
        for at in groups {
            if self.is_followed_first(at, &decision.scope) {
                preview.others += 1;
                continue;
            }
            let effect = effect(self.index(), &alone, &decision, at);
            match effect.status {
                Status::Void => preview.void += 1,
                _ => preview.decided += 1,
            }
            preview.removes += u64::from(effect.removes);
            let frees = share(self.index().gain(at), effect.removes);
            preview.frees = preview.frees.saturating_add(frees);
        }
        Ok(preview)
    }

    /// Returns the groups that a decision with this scope is about.
    fn groups_in(&self, scope: &Scope) -> Result<Vec<u32>, String> {
        Ok(match scope {
            Scope::Group(digest) => self.index().at_digest(digest).into_iter().collect(),
            Scope::Folders(paths) => match self.sets().find(self.index(), paths) {
                Some(set) => self.sets().groups_of(set).to_vec(),
                None => Vec::new(),
            },
            Scope::Filter(text) => {
                let matches = filter(text)?.search(self.index(), None);
                self.index().all().filter(|&at| matches[at as usize]).collect()
            }
        })
    }

    /// Returns whether a group has a decision that counts before a new one with this scope.
    fn is_followed_first(&self, at: u32, scope: &Scope) -> bool {
        let by = self.settled().by(at).and_then(|id| self.decisions().get(id));
        let rank = |scope: &Scope| match scope {
            Scope::Group(_) => 0,
            Scope::Folders(_) => 1,
            Scope::Filter(_) => 2,
        };
        by.is_some_and(|decision| rank(&decision.scope) < rank(scope))
    }
}
