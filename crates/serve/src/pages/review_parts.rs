//! Parts of the pages on which groups are reviewed: totals, states, reasons, rules and empty lists.
//!
//! Every state is shown as text, because not everyone can distinguish colours.

use catalog::{Choice, Decision, Scope};
use maud::{Markup, html};
use review::{Fate, Review, Settlement, Status, Totals, Void, folders_below};
use serde_json::{Value, json};

use crate::app::App;
use crate::app::reviews::Loaded;
use crate::error::PageError;
use crate::hash::fnv1a;
use crate::layout::name;
use crate::quantity::{count, counted, files, size};

/// Maximum number of files of a group that a page shows. Files of larger groups cannot be chosen one by
/// one, because nobody has seen them all.
pub(super) const MOST_FILES: usize = 500;

/// The keep rules that a page offers, with their meanings. `action::plan::Rule` defines them.
pub(super) const RULES: [(&str, &str); 9] = [
    ("tidy", "the file that looks least like a copy"),
    ("newest", "the file modified last"),
    ("oldest", "the file modified first"),
    ("shortest-path", "the file with the shortest path"),
    ("longest-path", "the file with the longest path"),
    ("shallowest", "the file in the fewest folders"),
    ("deepest", "the file in the most folders"),
    ("local", "a file on a disk of this machine"),
    ("path:", "a file whose path matches a pattern"),
];

/// Returns the choice to keep files by rules.
///
/// # Errors
///
/// Fails if a rule contains the path of a folder, because paths do not come from browsers.
pub(super) fn by_rules(rules: Vec<String>) -> Result<Choice, PageError> {
    if rules.iter().any(|rule| rule.starts_with("device:")) {
        return Err(PageError::bad_request("Rules with a folder work on the command line only"));
    }
    Ok(Choice::Rules(rules))
}

/// Returns what a page needs to know about its list: the answer to a request for a listing or for a
/// change.
pub(super) fn summary(app: &App, loaded: Loaded<'_>, order: &[u32]) -> Value {
    let totals = loaded.review.totals(order);
    json!({
        "revision": loaded.revision,
        "seen": app.changes.last(),
        "totals": totals_line(&totals).into_string(),
        "said": said(&totals),
    })
}

/// Returns the totals in the order in which a user needs them.
pub(super) fn totals_line(totals: &Totals) -> Markup {
    html! {
        (duplicates(totals.groups, totals.redundant_files, totals.reclaimable))
        span {
            (count(totals.undecided)) " undecided, " (count(totals.decided)) " decided, "
            (count(totals.left)) " left alone"
        }
        span.freed {
            "Removing " b { (files(totals.removes)) } " frees " b { (size(totals.frees)) }
        }
    }
}

/// Returns the numbers of groups and redundant files, and the reclaimable bytes.
pub(super) fn duplicates(groups: u64, redundant: u64, reclaimable: u64) -> Markup {
    html! {
        span { b { (count(groups)) } @if groups == 1 { " group" } @else { " groups" } }
        span {
            b { (count(redundant)) }
            @if redundant == 1 { " redundant file" } @else { " redundant files" }
        }
        span { b { (size(reclaimable)) } " reclaimable" }
    }
}

/// Returns the totals as a screen reader says them after a decision.
fn said(totals: &Totals) -> String {
    format!(
        "{} undecided. Removing {} frees {}.",
        count(totals.undecided),
        files(totals.removes),
        size(totals.frees)
    )
}

/// Returns the state of a group in a few words.
pub(super) fn state(review: &Review, at: u32) -> Markup {
    match review.settled().status(at) {
        Status::Undecided => html! { span.state.undecided { "undecided" } },
        Status::Left => html! { span.state.left { "left alone" } },
        Status::Void => {
            let settlement = review.settlement(at);
            let is_new = matches!(settlement, Settlement::Void { reason: Void::Unseen, .. });
            html! { span.state.warn { (if is_new { "changed since" } else { "cannot be settled" }) } }
        }
        Status::Decided => match review.settled().removes(at) {
            0 => html! { span.state.keep { "keep all" } },
            removes => html! { span.state.remove { "remove " (count(removes.into())) } },
        },
    }
}

/// Returns a text that differs if the decision about a group, or what it means for a file, differs. A page
/// sends it with a choice that depends on what it shows.
pub(super) fn basis(settlement: &Settlement) -> String {
    let (state, by, fates): (u8, i64, &[Fate]) = match settlement {
        Settlement::Undecided => (0, 0, &[]),
        Settlement::Left { by } => (1, *by, &[]),
        Settlement::Void { by, .. } => (2, *by, &[]),
        Settlement::Decided { by, fates } => (3, *by, fates),
    };
    let removed = fates.iter().map(|fate| u8::from(*fate == Fate::Remove));
    let bytes = [state].into_iter().chain(by.to_le_bytes()).chain(removed);
    format!("{:016x}", fnv1a(bytes))
}

/// Returns what the decisions mean for a group, as a sentence.
pub(super) fn outcome(settlement: &Settlement) -> Markup {
    match settlement {
        Settlement::Undecided => html! { b { "Undecided." } " All files stay." },
        Settlement::Left { .. } => {
            html! { b { "Left alone." } " All files stay, and later plans skip them." }
        }
        Settlement::Void { reason, .. } => html! {
            b.warn { "Cannot be settled: " } (name(reason.to_string().as_bytes())) ". All files stay."
        },
        Settlement::Decided { fates, .. } => {
            let removed = fates.iter().filter(|fate| **fate == Fate::Remove).count();
            let kept = fates.len() - removed;
            html! {
                b { "Decided." } " Of " (counted(fates.len() as u64, "name", "names")) ", "
                (count(kept as u64)) (if kept == 1 { " stays" } else { " stay" }) " and "
                (count(removed as u64)) (if removed == 1 { " goes." } else { " go." })
            }
        }
    }
}

/// Returns what a decision is about.
pub(super) fn scope(decision: &Decision) -> Markup {
    match &decision.scope {
        Scope::Group(_) => html! { "this group" },
        Scope::Filter(text) if text.is_empty() => html! { "all groups" },
        Scope::Filter(text) => html! { "filter " code { (name(text.as_bytes())) } },
        Scope::Folders(paths) => html! {
            "folders " (shortened(paths))
        },
    }
}

/// Returns what a decision says.
pub(super) fn choice(decision: &Decision) -> Markup {
    match &decision.choice {
        Choice::Leave => html! { "leave all files alone" },
        Choice::Rules(rules) => html! {
            "keep by " @for (at, rule) in rules.iter().enumerate() {
                @if at > 0 { ", " } code { (name(rule.as_bytes())) }
            }
        },
        Choice::Folder(kept) => html! {
            @let outside = outside(&decision.scope, kept);
            "keep the files in " (shortened(kept))
            @if !outside.is_empty() { ", outside " (shortened(&outside)) }
        },
        Choice::Files { keep, .. } => html! { "keep " (shortened(keep)) },
    }
}

/// Returns the folders of a set that are below the kept ones but are not kept themselves.
fn outside<'d>(scope: &'d Scope, kept: &[Vec<u8>]) -> Vec<&'d [u8]> {
    let Scope::Folders(all) = scope else { return Vec::new() };
    let others = || all.iter().filter(|path| !kept.contains(path)).map(Vec::as_slice);
    let mut outside: Vec<&[u8]> =
        kept.iter().flat_map(|kept| folders_below(kept, others())).collect();
    outside.sort_unstable();
    outside.dedup();
    outside
}

/// Returns the first paths of a list.
pub(super) fn shortened(paths: &[impl AsRef<[u8]>]) -> Markup {
    const SHOWN: usize = 3;
    html! {
        @for (at, path) in paths.iter().take(SHOWN).enumerate() {
            @if at > 0 { ", " } (name(path.as_ref()))
        }
        @if paths.len() > SHOWN { " and " (count((paths.len() - SHOWN) as u64)) " more" }
    }
}

/// Returns what a page shows if its list has no rows.
pub(super) fn empty(review: &Review, is_filtered: bool) -> Markup {
    if is_filtered && !review.index().is_empty() {
        return html! {
            h2 { "Nothing matches this filter" }
            p { "All terms must match. Remove a term, or clear the filter." }
            button type="button" data-act="clear" { "Clear the filter" }
        };
    }
    html! {
        h2 { "No duplicates" }
        p { "The scanned folders contain no identical files. Scan more folders to compare them with each other." }
        a.button href="/" { "Scan folders" }
    }
}

/// Returns what a page shows if the catalog cannot be used, or `None` if it can.
pub(super) fn no_catalog(app: &App) -> Option<Markup> {
    let error = app.catalog_problem()?;
    let is_missing = !app.catalog_path().exists();
    let title =
        if is_missing { "Nothing has been scanned yet" } else { "The catalog cannot be used" };
    Some(html! {
        h2 { (title) }
        @if is_missing { p { "Choose the folders in which lop looks for duplicates." } }
        @else { (error.markup()) }
        a.button.primary href="/" { "Start a scan" }
    })
}

/// The rows at the top of a list, and the totals of all rows.
pub(super) struct FirstRows {
    pub(super) rows: Markup,
    pub(super) totals: Markup,
}

/// Returns the frame of a page with a list beside the details of the chosen row. `bar` is above both.
/// The list is empty until the script loads it, except for the `first` rows.
pub(super) fn split(
    module: &str,
    label: &str,
    bar: &Markup,
    columns: u32,
    first: Option<&FirstRows>,
) -> Markup {
    html! {
        div.page-full data-module=(module) {
            (bar)
            p #filter-error.field-error role="alert" {}
            p #totals.totals {
                @match first { Some(first) => (first.totals), None => span { "Reading the catalog…" } }
            }
            div.split #split {
                section.pane.first aria-label=(label) {
                    div #list.list role="grid" tabindex="0" aria-label=(label) aria-colcount=(columns)
                        aria-readonly="true" aria-busy="true" {
                        div.spacer role="presentation" {}
                        @if let Some(first) = first { div.chunk.provisional role="rowgroup" { (first.rows) } }
                    }
                    div #empty.empty hidden {}
                }
                section.pane.second aria-label="Details" {
                    div.only-narrow.bar { button #back type="button" { "‹ Back to the list" } }
                    div #detail.detail tabindex="-1" {
                        p.dim.empty { "Choose a row to see its files." }
                    }
                }
            }
            noscript { p.note.warning { "This page needs JavaScript." } }
        }
    }
}
