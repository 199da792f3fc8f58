//! Turns the numbers of a request into the scope and the choice of a decision.

use std::collections::BTreeSet;

use catalog::{Choice, Scope};
use review::{Fate, Filter, Review, Settlement};
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::app::changes::overtaken;
use crate::error::PageError;
use crate::pages::groups::no_group;
use crate::pages::review_parts::{MOST_FILES, basis, by_rules};
use crate::pages::same_folders::no_set;

/// The groups that a decision is about.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum About {
    /// A group, by its number.
    Group(i64),
    /// A folder set.
    Set(u32),
    /// The text of a filter.
    Filter(String),
}

/// The choice that a page sends.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Chosen {
    /// All files stay.
    Leave(IgnoredAny),
    Rules(Vec<String>),
    /// These folders of the set stay.
    Folders(Vec<u32>),
    /// These files of the group stay.
    Files(Vec<u32>),
    /// The fates of these files of the group change.
    Change {
        keep: Vec<u32>,
        remove: Vec<u32>,
        /// The [`basis`] of the group when the page showed it.
        basis: String,
    },
    /// The same as for a group, which is one of the set.
    Like {
        group: i64,
        /// As for a change.
        basis: String,
    },
}

fn check_basis(review: &Review, number: i64, shown: &str) -> Result<(), PageError> {
    let at = review.index().at(number).ok_or_else(no_group)?;
    if basis(&review.settlement(at)) == shown { Ok(()) } else { Err(overtaken()) }
}

impl About {
    /// Returns the scope of the decision.
    ///
    /// # Errors
    ///
    /// Fails if there is no such group or folder set, or if the filter is invalid.
    pub(super) fn find(&self, review: &Review) -> Result<Scope, PageError> {
        match self {
            About::Group(number) => {
                let at = review.index().at(*number).ok_or_else(no_group)?;
                review.group_scope(at).ok_or_else(|| {
                    PageError::bad_request("The digest of this group is not known yet")
                        .with_advice("Scan its folders again, and decide then.")
                })
            }
            About::Set(set) if *set < review.sets().len() => Ok(review.folders_scope(*set)),
            About::Set(_) => Err(no_set()),
            About::Filter(text) => {
                let filter = Filter::parse(text);
                let filter = filter.map_err(|error| PageError::bad_request(error.to_string()))?;
                Ok(Review::filter_scope(&filter))
            }
        }
    }
}

impl Chosen {
    /// Returns the choice that the decision about `about` stores.
    ///
    /// # Errors
    ///
    /// Fails if the choice does not apply to these groups, or if it depends on what the page shows and that has
    /// changed.
    pub(super) fn find(&self, review: &Review, about: &About) -> Result<Choice, PageError> {
        match (self, about) {
            (Chosen::Leave(_), _) => Ok(Choice::Leave),
            (Chosen::Rules(rules), _) => by_rules(rules.clone()),
            (Chosen::Folders(folders), About::Set(set)) => folder_choice(review, *set, folders),
            (Chosen::Files(kept), About::Group(number)) => {
                files_choice(review, *number, &kept.iter().copied().collect())
            }
            (Chosen::Change { keep, remove, basis }, About::Group(number)) => {
                check_basis(review, *number, basis)?;
                let at = review.index().at(*number).ok_or_else(no_group)?;
                let (mut kept, removed) = (review.kept(at), review.with_names(at, remove));
                kept.retain(|ordinal| !removed.contains(ordinal));
                kept.extend(keep);
                files_choice(review, *number, &kept)
            }
            (Chosen::Like { group, basis }, About::Set(set)) => {
                check_basis(review, *group, basis)?;
                like_choice(review, *group, *set)
            }
            _ => Err(PageError::bad_request("This choice does not apply to these groups")),
        }
    }

    /// Returns the decision about exactly the group whose choice is taken over for its folders.
    pub(super) fn replaced(&self, review: &Review) -> Option<i64> {
        let Chosen::Like { group, .. } = self else { return None };
        let scope = review.index().at(*group).and_then(|at| review.group_scope(at))?;
        review.decisions().about(&scope).map(|decision| decision.id)
    }
}

fn folder_choice(review: &Review, set: u32, chosen: &[u32]) -> Result<Choice, PageError> {
    let missing = || PageError::not_found("This set has no such folder");
    if set >= review.sets().len() {
        return Err(missing());
    }
    let folders = review.sets().set(review.index(), set).folders;
    let path = |&ordinal: &u32| folders.get(ordinal as usize).map(|folder| folder.path.clone());
    let paths: Option<Vec<Vec<u8>>> = chosen.iter().map(path).collect();
    Ok(Choice::Folder(paths.filter(|paths| !paths.is_empty()).ok_or_else(missing)?))
}

fn files_choice(review: &Review, number: i64, kept: &BTreeSet<u32>) -> Result<Choice, PageError> {
    let at = review.index().at(number).ok_or_else(no_group)?;
    let members = review.index().members(at);
    if members.len() > MOST_FILES {
        return Err(PageError::bad_request("The page does not show all files of this group")
            .with_advice("Decide by a rule."));
    }
    if kept.last().is_some_and(|&last| last as usize >= members.len()) {
        return Err(PageError::not_found("This group has no such file"));
    }
    review.choice_of(at, kept).ok_or_else(|| {
        PageError::bad_request("At least one file must stay")
            .with_advice("Keep another file first, then remove this one.")
    })
}

/// Returns the choice for a folder set that does the same as the decision about one of its groups.
fn like_choice(review: &Review, number: i64, set: u32) -> Result<Choice, PageError> {
    let at = review.index().at(number).ok_or_else(no_group)?;
    let undecided = || PageError::bad_request("Choose what to keep in this group first");
    let (by, fates) = match review.settlement(at) {
        Settlement::Left { .. } => return Ok(Choice::Leave),
        Settlement::Decided { by, fates } => (by, fates),
        Settlement::Undecided | Settlement::Void { .. } => return Err(undecided()),
    };
    match review.decisions().get(by).map(|decision| &decision.choice) {
        Some(Choice::Rules(rules)) => return Ok(Choice::Rules(rules.clone())),
        Some(Choice::Folder(paths)) => return Ok(Choice::Folder(paths.clone())),
        _ => {}
    }
    let folders = review.sets().folders_of(review.index(), at);
    let with = |is_kept: bool| -> BTreeSet<u32> {
        let fates = fates.iter().zip(&folders);
        fates
            .filter(|(fate, _)| (**fate != Fate::Remove) == is_kept)
            .map(|(_, folder)| *folder)
            .collect()
    };
    let (kept, removed) = (with(true), with(false));
    if !kept.is_disjoint(&removed) {
        return Err(PageError::bad_request(
            "One folder contains both a file to keep and a file to remove",
        )
        .with_advice("Decide about the other groups by rules instead."));
    }
    folder_choice(review, set, &kept.into_iter().collect::<Vec<u32>>())
}
