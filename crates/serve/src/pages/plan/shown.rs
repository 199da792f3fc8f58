//! Shows a plan: totals, warnings, the list of files, and the dialog that applies it.

use std::io;

use action::plan::SavedAction;
use maud::{Markup, html};

use crate::app::App;
use crate::app::plan_lines::PlanLines;
use crate::app::plans::FORM;
use crate::error::PageError;
use crate::jobs::{Action, Job};
use crate::layout::{path_name, plain_name};
use crate::pages::jobs::messages;
use crate::quantity::{count, counted, files, size, time};

/// Maximum number of rows in one answer.
const MAX_ROWS: u32 = 200;

/// Number of deleted files above which the user confirms once more.
const MANY: u32 = 100;

/// Returns the section about a plan.
///
/// # Errors
///
/// Fails if the plan cannot be read.
pub(super) fn plan(app: &App, job: &Job) -> Result<Markup, PageError> {
    let lines = app.plans.lines(job.id, &app.jobs)?;
    let action = app.plans.get(job.id).map_or(Action::Quarantine, |known| known.action);
    let run = app.plans.run_of(job.id, &app.jobs);
    let outdated = app.plans.check_current(job.id, || app.plan_basis());
    Ok(html! {
        section aria-labelledby="plan-title" {
            h2 #plan-title { (what(action, lines.len())) }
            p.dim { "Made " (time(job.started_ms)) "." @if run.is_none() { " No file has been changed yet." } }
            @if let Some(run) = run {
                .note { p { "This plan was applied as " a href=(format!("/runs/{run}")) { "run " (run) } "." } }
            } @else if let Err(why) = &outdated {
                .note.warning { p { (why.text()) ". " a href=(FORM) { (why.advice()) } } }
            }
            (cards(job, action, &lines))
            (left_out(job))
            @if lines.len() == 0 {
                .empty {
                    h2 { "The plan is empty" }
                    p { "Nothing would be done. Decide more groups. Any files that were left out are listed above." }
                }
            } @else {
                (apply_bar(job, action, &lines, blocked(app, run.is_some(), outdated.is_err())))
                (list(job, &lines))
            }
        }
    })
}

fn what(action: Action, number: u32) -> String {
    let files = files(number.into());
    match action {
        Action::Quarantine => format!("Move {files} to quarantine"),
        Action::Hardlink => format!("Replace {files} with hard links"),
        Action::Reflink => format!("Let {files} share disk space"),
        Action::Symlink => format!("Replace {files} with symbolic links"),
        Action::Delete => format!("Delete {files}"),
    }
}

fn cards(job: &Job, action: Action, lines: &PlanLines) -> Markup {
    let disk_space = |key| size(job.summary(key).unwrap_or(0));
    html! {
        .cards {
            .card { b.big { (count(lines.len().into())) } (if lines.len() == 1 { "file" } else { "files" }) " to act on" }
            @if let Some(groups) = job.summary("groups") {
                .card { b.big { (count(groups)) } (if groups == 1 { "group" } else { "groups" }) ", each keeps at least one file" }
            }
            @if action == Action::Quarantine {
                .card { b.big { (disk_space("quarantined_bytes")) } "would be freed when you empty the quarantine" }
            } @else {
                .card { b.big { (disk_space("reclaimable_bytes")) } "would be freed" }
            }
        }
    }
}

/// Returns what is not in the plan, and why.
fn left_out(job: &Job) -> Markup {
    const UNKNOWN: [(&str, &str); 5] = [
        ("stale_files", "changed or gone since the scan"),
        ("pending", "not compared yet"),
        ("damaged", "damaged or unreadable"),
        ("offline", "on a disk that is not mounted"),
        ("views", "possibly the same file by another path"),
    ];
    let unknown: Vec<(u64, &str)> = UNKNOWN
        .into_iter()
        .filter_map(|(key, why)| Some((job.summary(key).filter(|&number| number > 0)?, why)))
        .collect();
    html! {
        @if !unknown.is_empty() || job.messages_total > 0 {
            .note.warning {
                h2 { "Not in the plan" }
                @for (number, why) in unknown { p { (files(number)) " " (why) } }
                (messages(job))
            }
        }
    }
}

/// Returns the reason why a plan cannot be applied.
fn blocked(app: &App, is_applied: bool, is_outdated: bool) -> Option<&'static str> {
    if !app.allows_actions() {
        return Some(
            "This server is read-only. Start it with --allow-actions, or save the plan and apply it with: lop dedupe --plan FILE --apply",
        );
    }
    if is_applied {
        return Some("This plan was applied already. Make a new one for the remaining files.");
    }
    is_outdated.then_some("This plan is outdated.")
}

fn apply_bar(job: &Job, action: Action, lines: &PlanLines, reason: Option<&'static str>) -> Markup {
    let base = format!("/plan/{}", job.id.0);
    html! {
        .bar {
            button.primary.danger[action == Action::Delete] type="button" data-dialog="apply-dialog"
                disabled[reason.is_some()] aria-describedby=[reason.map(|_| "apply-reason")] {
                (what(action, lines.len())) "…"
            }
            span.label-text { "Save as" }
            a.button href=(format!("{base}/plan.jsonl")) download { "plan of lop" }
            a.button href=(format!("{base}/plan.csv")) download { "table (CSV)" }
            a.button href=(format!("{base}/plan.sh")) download { "shell script" }
        }
        @if let Some(reason) = reason { p.dim #apply-reason { (reason) } }
        @else { (dialog(job, action, lines)) }
    }
}

fn dialog(job: &Job, action: Action, lines: &PlanLines) -> Markup {
    let text = super::ACTIONS.iter().find(|(known, ..)| *known == action).map(|&(_, _, text)| text);
    let asks = action == Action::Delete && lines.len() > MANY;
    let body = format!("{{\"plan\":{}}}", job.id.0);
    html! {
        dialog #apply-dialog data-post="/api/apply" data-body=(body) aria-labelledby="apply-title" {
            h2 #apply-title { (what(action, lines.len())) "?" }
            p { (counted(lines.len().into(), "file", "files")) " with a total size of " (size(lines.bytes())) ". " @if let Some(text) = text { (text) } }
            p { "Each file is compared byte by byte with the file that stays, right before anything is done. A file that changed is left alone." }
            form method="dialog" {
                @if asks {
                    label.choice {
                        input type="checkbox" required;
                        span { "I understand that undo can only copy these files back from the files that stay." }
                    }
                }
                .bar.end {
                    button value="cancel" formnovalidate autofocus { "Cancel" }
                    button.primary.danger[action == Action::Delete] value="ok" { (what(action, lines.len())) }
                }
            }
        }
    }
}

fn list(job: &Job, lines: &PlanLines) -> Markup {
    html! {
        .bar role="search" {
            label.grow {
                span.hidden-label { "Show only paths with this text" }
                input #plan-filter type="search" placeholder="Show only paths with this text" autocomplete="off"
                    spellcheck="false" aria-keyshortcuts="/";
            }
            output #plan-count for="plan-filter" { (files(lines.len().into())) }
        }
        .list.plan-list #plan-list role="grid" tabindex="0" aria-label="Files in the plan"
            data-job=(job.id.0) data-count=(lines.len()) { .spacer {} }
        p.detail-line #plan-detail aria-live="polite" { span.dim { "Choose a line to see its whole paths." } }
    }
}

/// Returns rows of the list.
///
/// # Errors
///
/// Fails if the plan cannot be read.
pub(super) fn rows(lines: &PlanLines, filter: &str, from: u32, number: u32) -> io::Result<Markup> {
    let found = lines.matching(filter)?;
    let all = found.as_ref().map_or(lines.len() as usize, |found| found.len());
    let to = from.saturating_add(number.min(MAX_ROWS)).min(u32::try_from(all).unwrap_or(u32::MAX));
    let at = |rank: u32| found.as_ref().map_or(rank, |found| found[rank as usize]);
    let actions: io::Result<Vec<_>> = (from..to).map(|rank| lines.action(at(rank))).collect();
    let actions = actions?;
    Ok(html! { @for (rank, action) in (from..to).zip(&actions) { (row(rank, action)) } })
}

fn row(rank: u32, action: &SavedAction) -> Markup {
    let (path, kept) = (plain_name(&action.path), plain_name(&action.kept));
    html! {
        .row.plan role="row" aria-rowindex=(rank + 1) data-rank=(rank) {
            span.paths role="gridcell" {
                span.line.source data-path=(path) {
                    span.word.remove { (action.kind.word()) } (path_name(&action.path))
                }
                span.line.kept data-kept=(kept) data-why=(action.why) {
                    span.word.keep { "keep" } (path_name(&action.kept))
                    @if !action.why.is_empty() { small { "(" bdi { (action.why) } ")" } }
                }
            }
            span.num role="gridcell" { (size(action.size)) }
        }
    }
}
