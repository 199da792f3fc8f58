//! The requests that change decisions.
//!
//! A request identifies groups, sets, files and folders by numbers of one revision. The paths of a decision
//! come from the catalog, never from the browser.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::response::Response;
use axum::routing::post;
use axum::{Json, Router};
use catalog::{Choice, Decider, Scope};
use review::{DecideError, Fate, Filter, Member, Review, Settlement};
use runtime::epoch::now_ms;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::api::answer;
use crate::app::App;
use crate::app::changes::overtaken;
use crate::error::PageError;
use crate::pages::groups::no_group;
use crate::pages::review_parts::{MOST_FILES, basis, by_rules, summary};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/decide", post(decide)).route("/api/withdraw", post(withdraw))
}

/// A decision to make.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Decide {
    scope: About,
    choice: Wish,
    revision: u64,
    /// The last change of decisions that the page shows, for this scope.
    seen: u64,
    /// The listing whose totals the page shows.
    view: Option<u64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum About {
    /// A group, by its number.
    Group(i64),
    /// A folder set.
    Set(u32),
    /// The text of a filter.
    Filter(String),
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Wish {
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

/// Decisions to withdraw: one, or all.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Withdraw {
    id: Option<i64>,
    #[serde(default)]
    all: bool,
    revision: u64,
    /// As in [`Decide`].
    seen: u64,
    view: Option<u64>,
}

async fn decide(
    State(app): State<Arc<App>>,
    body: Result<Json<Decide>, JsonRejection>,
) -> Response {
    let done = match body {
        Err(error) => Err(PageError::bad_request(error.body_text())),
        Ok(Json(body)) => {
            app.blocking(move |app| {
                let mut others = false;
                app.change(body.revision, |review, decider| {
                    let scope = scope(review, &body.scope)?;
                    app.changes.check(&scope, body.seen)?;
                    others = app.changes.last() != body.seen;
                    let choice = choice(review, &body)?;
                    let like = like(review, &body.choice);
                    review.decide(decider, scope.clone(), choice, now_ms()).map_err(explain)?;
                    app.changes.note(scope);
                    // The group follows the decision about its folders from now on.
                    if let Some(id) = like {
                        withdraw_one(app, review, decider, id)?;
                    }
                    Ok(())
                })?;
                state(app, body.view, others)
            })
            .await
        }
    };
    answer(done)
}

async fn withdraw(
    State(app): State<Arc<App>>,
    body: Result<Json<Withdraw>, JsonRejection>,
) -> Response {
    let done = match body {
        Err(error) => Err(PageError::bad_request(error.body_text())),
        Ok(Json(body)) => {
            app.blocking(move |app| {
                let mut others = false;
                app.change(body.revision, |review, decider| {
                    others = app.changes.last() != body.seen;
                    match body.id {
                        Some(id) => {
                            if let Some(decision) = review.decisions().get(id) {
                                app.changes.check(&decision.scope, body.seen)?;
                            }
                            withdraw_one(app, review, decider, id)?;
                        }
                        None if body.all => {
                            app.changes.check_all(body.seen)?;
                            review.clear(decider)?;
                            app.changes.note_all();
                        }
                        None => return Err(PageError::bad_request("No decision was named")),
                    }
                    Ok(())
                })?;
                state(app, body.view, others)
            })
            .await
        }
    };
    answer(done)
}

fn withdraw_one(
    app: &App,
    review: &mut Review,
    decider: &Decider,
    id: i64,
) -> Result<(), PageError> {
    let scope = review.decisions().get(id).map(|decision| decision.scope.clone());
    review.withdraw(decider, id)?;
    if let Some(scope) = scope {
        app.changes.note(scope);
    }
    Ok(())
}

/// Returns the totals after a change. `others` tells whether the page does not show all changes before.
fn state(app: &App, view: Option<u64>, others: bool) -> Result<Value, PageError> {
    app.review(|loaded| {
        let listing = view.and_then(|view| loaded.listing(view).ok());
        let mut answer = match listing.as_deref() {
            Some(listing) => summary(app, loaded, &listing.groups(loaded.review)),
            None => summary(app, loaded, &[]),
        };
        answer["others"] = json!(others);
        Ok(answer)
    })
}

fn check_basis(review: &Review, number: i64, shown: &str) -> Result<(), PageError> {
    let at = review.index().at(number).ok_or_else(no_group)?;
    if basis(&review.settlement(at)) == shown { Ok(()) } else { Err(overtaken()) }
}

fn scope(review: &Review, about: &About) -> Result<Scope, PageError> {
    match about {
        About::Group(number) => {
            let at = review.index().at(*number).ok_or_else(no_group)?;
            review.group_scope(at).ok_or_else(|| {
                PageError::bad_request("The digest of this group is not known yet")
                    .with_advice("Scan its folders again, and decide then.")
            })
        }
        About::Set(set) if *set < review.sets().len() => Ok(review.folders_scope(*set)),
        About::Set(_) => Err(PageError::not_found("This folder set does not exist")),
        About::Filter(text) => {
            let filter = Filter::parse(text);
            let filter = filter.map_err(|error| PageError::bad_request(error.to_string()))?;
            Ok(Review::filter_scope(&filter))
        }
    }
}

fn choice(review: &Review, body: &Decide) -> Result<Choice, PageError> {
    match (&body.choice, &body.scope) {
        (Wish::Leave(_), _) => Ok(Choice::Leave),
        (Wish::Rules(rules), _) => by_rules(rules.clone()),
        (Wish::Folders(folders), About::Set(set)) => folder_choice(review, *set, folders),
        (Wish::Files(kept), About::Group(number)) => {
            files_choice(review, *number, &kept.iter().copied().collect())
        }
        (Wish::Change { keep, remove, basis }, About::Group(number)) => {
            check_basis(review, *number, basis)?;
            let mut kept = kept_now(review, *number)?;
            let removed = with_names(review, *number, remove)?;
            kept.retain(|ordinal| !removed.contains(ordinal));
            kept.extend(keep);
            files_choice(review, *number, &kept)
        }
        (Wish::Like { group, basis }, About::Set(set)) => {
            check_basis(review, *group, basis)?;
            like_choice(review, *group, *set)
        }
        _ => Err(PageError::bad_request("This choice does not apply to these groups")),
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
    let members = (0u32..).zip(members);
    let (keep, others): (Vec<_>, Vec<_>) = members.partition(|(ordinal, _)| kept.contains(ordinal));
    if !keep.iter().any(|(_, member)| member.condition.is_sound()) {
        return Err(PageError::bad_request("At least one file must stay")
            .with_advice("Keep another file first, then remove this one."));
    }
    let paths =
        |members: Vec<(u32, Member)>| members.into_iter().map(|(_, one)| one.path).collect();
    Ok(Choice::Files { keep: paths(keep), others: paths(others) })
}

/// Returns the ordinals of all names of these files. A file stays as long as one of its names does.
fn with_names(review: &Review, number: i64, of: &[u32]) -> Result<BTreeSet<u32>, PageError> {
    let at = review.index().at(number).ok_or_else(no_group)?;
    let members = review.index().members(at);
    let file = |ordinal: u32| {
        let member = members.get(ordinal as usize).filter(|member| member.condition.is_sound())?;
        Some((member.device, member.inode))
    };
    let files: BTreeSet<_> = of.iter().filter_map(|&ordinal| file(ordinal)).collect();
    let all = 0..review.index().group(at).names;
    Ok(all.filter(|&ordinal| file(ordinal).is_some_and(|file| files.contains(&file))).collect())
}

/// Returns the files of a group that stay now.
fn kept_now(review: &Review, number: i64) -> Result<BTreeSet<u32>, PageError> {
    let at = review.index().at(number).ok_or_else(no_group)?;
    Ok(match review.settlement(at) {
        Settlement::Decided { fates, .. } => {
            let fates = (0u32..).zip(fates);
            fates.filter(|(_, fate)| *fate != Fate::Remove).map(|(ordinal, _)| ordinal).collect()
        }
        _ => (0..review.index().group(at).names).collect(),
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

/// Returns the decision about exactly the group whose choice is taken over for its folders.
fn like(review: &Review, wish: &Wish) -> Option<i64> {
    let Wish::Like { group, .. } = wish else { return None };
    let scope = review.index().at(*group).and_then(|at| review.group_scope(at))?;
    review.decisions().about(&scope).map(|decision| decision.id)
}

fn explain(error: DecideError) -> PageError {
    match error {
        DecideError::Catalog(error) => PageError::from(error),
        DecideError::Invalid(why) => PageError::bad_request(why),
    }
}
