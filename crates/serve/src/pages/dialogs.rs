//! The dialogs of the review pages: keep rules for many groups, and the list of decisions.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::response::Response;
use axum::routing::get;
use catalog::Scope;
use maud::{Markup, html};
use review::{Decisions, Preview, Review};
use serde::Deserialize;
use serde_json::json;

use crate::api::answer;
use crate::app::App;
use crate::app::listings::Wanted;
use crate::app::reviews::Loaded;
use crate::error::PageError;
use crate::layout::name;
use crate::pages::review_parts::{RULES, by_rules, choice, scope};
use crate::quantity::{count, counted, files, size, time};

/// Number of decisions about filters and folders that are listed.
const MOST_DECISIONS: usize = 500;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/review/preview", get(preview)).route("/review/decisions", get(decisions))
}

/// Rules for the groups of a listing or of a folder set.
#[derive(Debug, Deserialize)]
struct Proposal {
    revision: u64,
    view: Option<u64>,
    set: Option<u32>,
    /// The rules, one per line.
    #[serde(default)]
    rules: String,
}

/// Returns the dialog in which rules are chosen. The script fills and saves it.
pub(super) fn rules() -> Markup {
    html! {
        dialog #rules aria-labelledby="rules-title" {
            h2 #rules-title { "Decide all shown groups" }
            p {
                "One file of each group stays. The first rule that distinguishes the files decides. \
                 If no rule does, lop keeps a local, tidy, old file with a short path."
            }
            ol #rule-list.rules {}
            div.bar {
                label.hidden-label for="rule-add" { "Rule to add" }
                select #rule-add {
                    @for (rule, meaning) in RULES { option value=(rule) { (rule) @if !rule.ends_with(':') { ":" } " " (meaning) } }
                }
                label.hidden-label for="rule-text" { "Pattern or folder" }
                input #rule-text type="text" placeholder="photos/**" spellcheck="false" autocomplete="off" hidden;
                button #rule-plus type="button" { "Add rule" }
            }
            p #rule-error.field-error role="alert" {}
            p #rule-preview.note role="status" {}
            div.bar {
                button #rule-save.primary type="button" { "Save decision" }
                button #rule-leave type="button" { "Leave all of them alone" }
                button type="button" data-close { "Cancel" }
            }
        }
    }
}

async fn preview(State(app): State<Arc<App>>, Query(proposal): Query<Proposal>) -> Response {
    let preview = app.blocking(move |app| {
        app.review(|loaded| {
            loaded.check(proposal.revision)?;
            let scope = scope_of(loaded, &proposal)?;
            let rules = by_rules(proposal.rules.lines().map(str::to_owned).collect())?;
            let preview = loaded.review.preview(&scope, &rules);
            let preview = preview.map_err(PageError::bad_request)?;
            Ok(json!({ "html": shown(&preview).into_string() }))
        })
    });
    answer(preview.await)
}

fn scope_of(loaded: Loaded<'_>, proposal: &Proposal) -> Result<Scope, PageError> {
    match (proposal.view, proposal.set) {
        (_, Some(set)) if set < loaded.review.sets().len() => Ok(loaded.review.folders_scope(set)),
        (Some(view), None) => match &loaded.listing(view)?.wanted {
            Wanted::Groups(filter, _) => Ok(Review::filter_scope(filter)),
            Wanted::Sets(_) => Err(PageError::bad_request("This is not a list of groups")),
        },
        _ => Err(PageError::bad_request("Nothing to decide about")),
    }
}

fn shown(preview: &Preview) -> Markup {
    html! {
        b { (counted(preview.decided, "group", "groups")) } " would be settled: "
        b { (files(preview.removes)) } " removed, " b { (size(preview.frees)) } " freed."
        @if preview.others > 0 {
            " " (counted(preview.others, "group keeps its", "groups keep their")) " own decision."
        }
        @if preview.void > 0 {
            " " (counted(preview.void, "group", "groups")) " cannot be settled, because no file can be compared."
        }
    }
}

async fn decisions(State(app): State<Arc<App>>) -> Response {
    let list = app.blocking(|app| {
        app.review(|loaded| {
            let html = list(loaded.review.decisions()).into_string();
            Ok(json!({ "html": html, "seen": app.changes.last() }))
        })
    });
    answer(list.await)
}

fn list(decisions: &Decisions) -> Markup {
    let is_wide = |scope: &Scope| !matches!(scope, Scope::Group(_));
    let wide = || decisions.list().iter().rev().filter(|decision| is_wide(&decision.scope));
    let (all, single) = (wide().count(), decisions.list().len() - wide().count());
    html! {
        h2 #decisions-title { "Decisions" }
        p.dim {
            "A decision about a group takes precedence over one about its folders, and that one over the latest about \
             a filter. Decisions survive new scans."
        }
        @if all == 0 { p { "No decisions about filters or folders." } }
        @if all > 0 {
            div.scroll {
                table aria-label="Decisions about filters and folders" {
                    thead { tr {
                        th scope="col" { "About" } th scope="col" { "Decision" } th scope="col" { "Made" } th {}
                    } }
                    tbody {
                        @for decision in wide().take(MOST_DECISIONS) {
                            tr {
                                td { (scope(decision)) }
                                td {
                                    (choice(decision))
                                    @if let Some(problem) = decisions.problem(decision.id) {
                                        p.warn { "Not used: " (name(problem.as_bytes())) }
                                    }
                                }
                                td.when { (time(decision.made_ms)) }
                                td { button type="button" data-withdraw=(decision.id) { "Withdraw" } }
                            }
                        }
                    }
                }
            }
        }
        @if all > MOST_DECISIONS { p.dim { "and " (count((all - MOST_DECISIONS) as u64)) " more" } }
        p { (counted(single as u64, "decision", "decisions")) " about single groups." }
        div.bar {
            @if all + single > 0 {
                button.danger type="button" data-withdraw="all" {
                    "Withdraw all " (counted((all + single) as u64, "decision", "decisions"))
                }
            }
            button type="button" data-close autofocus { "Close" }
        }
    }
}
