//! The requests that change decisions.
//!
//! A request identifies groups, sets, files and folders by numbers of one revision. The paths of a decision
//! come from the catalog, never from the browser.

mod choice;

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use catalog::Decider;
use review::{DecideError, Review};
use runtime::epoch::now_ms;
use serde::Deserialize;
use serde_json::{Value, json};

use self::choice::{About, Chosen};
use crate::api::{Answer, read};
use crate::app::App;
use crate::error::PageError;
use crate::pages::review_parts::{basis, summary};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/api/decide", post(decide)).route("/api/withdraw", post(withdraw))
}

/// A decision to make.
#[derive(Debug, Deserialize)]
struct Decide {
    scope: About,
    choice: Chosen,
    #[serde(flatten)]
    shown: Shown,
}

/// Decisions to withdraw: one, or all.
#[derive(Debug, Deserialize)]
struct Withdraw {
    id: Option<i64>,
    #[serde(default)]
    all: bool,
    #[serde(flatten)]
    shown: Shown,
}

/// The state that the page shows.
#[derive(Debug, Deserialize)]
struct Shown {
    revision: u64,
    /// The last change of decisions.
    seen: u64,
    /// The listing whose totals the page shows.
    view: Option<u64>,
    /// The group whose details the page shows.
    group: Option<i64>,
}

async fn decide(State(app): State<Arc<App>>, body: Bytes) -> Answer {
    let Decide { scope, choice, shown } = read(&body)?;
    let done = app.blocking(move |app| {
        shown.change(app, |review, decider| {
            let about = scope.find(review)?;
            app.changes.check(&about, shown.seen)?;
            let made = choice.find(review, &scope)?;
            let replaced = choice.replaced(review);
            review.decide(decider, about.clone(), made, now_ms()).map_err(explain)?;
            app.changes.note(about);
            // The group follows the decision about its folders from now on.
            replaced.map_or(Ok(()), |id| withdraw_one(app, review, decider, id))
        })
    });
    Ok(Json(done.await?))
}

async fn withdraw(State(app): State<Arc<App>>, body: Bytes) -> Answer {
    let Withdraw { id, all, shown } = read(&body)?;
    let done = app.blocking(move |app| {
        shown.change(app, |review, decider| match id {
            Some(id) => {
                if let Some(decision) = review.decisions().get(id) {
                    app.changes.check(&decision.scope, shown.seen)?;
                }
                withdraw_one(app, review, decider, id)
            }
            None if all => {
                app.changes.check_all(shown.seen)?;
                review.clear(decider)?;
                app.changes.note_all();
                Ok(())
            }
            None => Err(PageError::bad_request("No decision was named")),
        })
    });
    Ok(Json(done.await?))
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

impl Shown {
    /// Makes a change. The answer has the totals after it and the [`basis`] of the group whose details the page
    /// shows. `others` in the answer is true if there were earlier changes that the page does not show.
    fn change(
        &self,
        app: &App,
        work: impl FnOnce(&mut Review, &Decider) -> Result<(), PageError>,
    ) -> Result<Value, PageError> {
        let mut others = false;
        app.change(self.revision, |review, decider| {
            others = app.changes.last() != self.seen;
            work(review, decider)
        })?;
        app.review(|loaded| {
            let listing = self.view.and_then(|view| loaded.listing(view).ok());
            let mut answer = match listing.as_deref() {
                Some(listing) => summary(app, loaded, &listing.groups(loaded.review)),
                None => summary(app, loaded, &[]),
            };
            answer["others"] = json!(others);
            if let Some(at) = self.group.and_then(|number| loaded.review.index().at(number)) {
                answer["basis"] = json!(basis(&loaded.review.settlement(at)));
            }
            Ok(answer)
        })
    }
}

fn explain(error: DecideError) -> PageError {
    match error {
        DecideError::Catalog(error) => PageError::from(error),
        DecideError::Invalid(why) => PageError::bad_request(why),
    }
}
