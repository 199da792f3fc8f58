//! Choices of single files of a group, by their positions in [`crate::Index::members`].

use std::collections::BTreeSet;

use catalog::{Choice, Decision, Scope};

use crate::decisions::Decisions;
use crate::index::Member;
use crate::review::Review;
use crate::settle::{Fate, Settlement, follow};

impl Review {
    /// Returns the members of a group that stay now. All of them stay unless a decision about the group applies.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn kept(&self, at: u32) -> BTreeSet<u32> {
        match self.settlement(at) {
            Settlement::Decided { fates, .. } => {
                let fates = (0u32..).zip(fates);
                fates
                    .filter(|(_, fate)| *fate != Fate::Remove)
                    .map(|(ordinal, _)| ordinal)
                    .collect()
            }
            _ => (0..self.index().group(at).names).collect(),
        }
    }

    /// Returns all members of a group that are names of the same files as the members `of`. A file stays as long as one
    /// of its names stays. Ignores members that are not sound.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn with_names(&self, at: u32, of: &[u32]) -> BTreeSet<u32> {
        let members = self.index().members(at);
        let file = |ordinal: u32| {
            let member = members.get(ordinal as usize).filter(|one| one.condition.is_sound())?;
            Some((member.device, member.inode))
        };
        let files: BTreeSet<_> = of.iter().filter_map(|&ordinal| file(ordinal)).collect();
        let all = 0..self.index().group(at).names;
        all.filter(|&ordinal| file(ordinal).is_some_and(|file| files.contains(&file))).collect()
    }

    /// Returns the choice to keep only these members of a group. Returns `None` if none of them is sound, because at
    /// least one file must stay.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn choice_of(&self, at: u32, kept: &BTreeSet<u32>) -> Option<Choice> {
        let members = (0u32..).zip(self.index().members(at));
        let (keep, others): (Vec<_>, Vec<_>) =
            members.partition(|(ordinal, _)| kept.contains(ordinal));
        let paths =
            |members: Vec<(u32, Member)>| members.into_iter().map(|(_, one)| one.path).collect();
        let is_sound = keep.iter().any(|(_, member)| member.condition.is_sound());
        is_sound.then(|| Choice::Files { keep: paths(keep), others: paths(others) })
    }

    /// Returns the settlement of a group that a decision by the usual keep rules would cause. Does not record this
    /// decision.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn suggestion(&self, at: u32) -> Settlement {
        let choice = Choice::Rules(Vec::new());
        let usual = Decision { id: 0, made_ms: 0, scope: Scope::Filter(String::new()), choice };
        let mut decisions = Decisions::default();
        decisions.add(usual.clone());
        follow(self.index(), &decisions, &usual, at)
    }
}
