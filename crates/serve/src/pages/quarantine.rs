//! The page with the files in quarantine, which can be restored or removed for good.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use action::quarantine::QuarantinedFile;
use action::run::Runs;
use axum::Router;
use axum::extract::{Query, State};
use axum::routing::get;
use maud::{Markup, html};
use runtime::epoch::now_ms;
use serde::Deserialize;

use crate::app::App;
use crate::error::PageError;
use crate::frame::page;
use crate::layout::path_name;
use crate::pages::jobs::{Done, outcome, place};
use crate::quantity::{count, counted, files, size, time};

/// Number of files that the page lists.
const LISTED: usize = 1000;

/// Number of days after which files are removed, unless the user types another number.
const DAYS: u64 = 30;

/// Milliseconds in a day.
const DAY_MS: u64 = 86_400_000;

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/quarantine", get(show)).route("/quarantine/purge", get(preview))
}

async fn show(State(app): State<Arc<App>>, done: Query<Done>) -> Result<Markup, PageError> {
    let content = app.blocking(content).await?;
    let main = html! {
        .narrow data-module="runs" {
            h1 { "Quarantine" }
            (outcome(&app, &done))
            (place("apply undo restore purge"))
            (content)
        }
    };
    Ok(page(&app, "Quarantine", "/quarantine", &main))
}

/// A number of files in quarantine.
#[derive(Clone, Copy, Default)]
struct Sum {
    files: u64,
    bytes: u64,
    since_ms: i64,
}

impl Sum {
    fn add(&mut self, file: &QuarantinedFile) {
        self.files += file.file_count();
        self.bytes = self.bytes.saturating_add(file.allocated);
        self.since_ms = file.since_ms;
    }
}

fn content(app: &App) -> Result<Markup, PageError> {
    let mut unreadable = Vec::new();
    let stored = Runs::quarantined(&app.runs_dir(), |error| unreadable.push(error.to_string()))?;
    let (mut all, mut runs) = (Sum::default(), BTreeMap::<u64, Sum>::new());
    for file in &stored {
        all.add(file);
        runs.entry(file.run).or_default().add(file);
    }
    Ok(html! {
        @if !unreadable.is_empty() {
            .note.warning {
                p { "Some journals could not be read, so the list may be incomplete:" }
                ul.messages { @for why in unreadable.iter().take(20) { li { (why) } } }
            }
        }
        @if stored.is_empty() {
            .empty {
                h2 { "The quarantine is empty" }
                p { "Plans with the action Quarantine move files here. They stay until you restore or remove them." }
            }
        } @else {
            p {
                b { (files(all.files)) } " in quarantine, " b { (size(all.bytes)) } " on disk. "
                "They are in hidden folders on their own disks, and take up space until they are removed."
            }
            (actions(app, all))
            (run_table(&runs))
            (file_table(&stored))
        }
    })
}

fn actions(app: &App, all: Sum) -> Markup {
    let is_off = app.check_actions().is_err();
    html! {
        .bar {
            button type="button" data-dialog="restore-dialog" disabled[is_off] { "Restore all…" }
            form #purge-form .inline {
                label { "Remove files older than " input #days type="number" min="0" max="36500" value=(DAYS) required; " days for good" }
                button.danger type="submit" disabled[is_off] { "Remove…" }
            }
        }
        @if is_off {
            p.dim { "This server is read-only. Start it with --allow-actions, or use lop quarantine restore and lop quarantine purge." }
        } @else {
            dialog #restore-dialog data-post="/api/restore" data-body="{}" aria-labelledby="restore-title" {
                h2 #restore-title { "Restore all files in quarantine?" }
                p { (files(all.files)) ", " (size(all.bytes)) " on disk, are moved back to where they were. Nothing is overwritten: if another file has the name now, it stays." }
                form method="dialog" { .bar.end {
                    button value="cancel" autofocus { "Cancel" }
                    button.primary value="ok" { "Restore" }
                } }
            }
            dialog #purge-dialog data-post="/api/purge" aria-labelledby="purge-title" {
                h2 #purge-title { "Remove files for good?" }
                .preview aria-live="polite" {}
                p { b { "This cannot be undone." } " A file is removed only if the file that was kept for it still exists and is equal byte by byte." }
                form method="dialog" { .bar.end {
                    button value="cancel" autofocus { "Cancel" }
                    button.primary.danger value="ok" { "Remove for good" }
                } }
            }
        }
    }
}

fn run_table(runs: &BTreeMap<u64, Sum>) -> Markup {
    html! {
        h2 { "By run" }
        .scroll {
            table {
                thead { tr {
                    th scope="col" { "Run" }
                    th scope="col" { "Since" }
                    th.num scope="col" { "Files" }
                    th.num scope="col" { "On disk" }
                } }
                tbody {
                    @for (run, sum) in runs.iter().rev() {
                        tr {
                            th scope="row" { a href=(format!("/runs/{run}")) { "Run " (run) } " " small { "(restore with Undo)" } }
                            td { (time(sum.since_ms)) }
                            td.num { (count(sum.files)) }
                            td.num { (size(sum.bytes)) }
                        }
                    }
                }
            }
        }
    }
}

fn file_table(stored: &[QuarantinedFile]) -> Markup {
    html! {
        h2 { "Files" }
        .scroll {
            table.listed {
                thead { tr {
                    th.wide scope="col" { "Came from" }
                    th.num scope="col" { "Size" }
                    th.num.optional scope="col" { "Run" }
                    th.optional.when scope="col" { "Since" }
                } }
                tbody {
                    @for file in newest_first(stored).into_iter().take(LISTED) {
                        tr {
                            td {
                                (path_name(&file.path))
                                @if let Some(number) = file.files { small.path-line { "folder with " (files(number)) } }
                            }
                            td.num { (size(file.size)) }
                            td.num.optional { a href=(format!("/runs/{}", file.run)) { (file.run) } }
                            td.optional { (time(file.since_ms)) }
                        }
                    }
                }
            }
        }
        @if stored.len() > LISTED {
            p.dim { "The newest " (count(LISTED as u64)) " of " (counted(stored.len() as u64, "entry", "entries")) " are shown." }
        }
    }
}

/// Returns the files of the newest run first, those of a run in the order of its plan.
fn newest_first(stored: &[QuarantinedFile]) -> Vec<&QuarantinedFile> {
    let mut files: Vec<&QuarantinedFile> = stored.iter().collect();
    files.sort_by_key(|file| Reverse(file.run));
    files
}

/// How old files have to be.
#[derive(Deserialize)]
struct Older {
    days: u64,
}

/// Answers with what a removal would remove, for the dialog.
async fn preview(
    State(app): State<Arc<App>>,
    Query(Older { days }): Query<Older>,
) -> Result<Markup, PageError> {
    let sum = app.blocking(move |app| {
        let before = before_ms(now_ms(), days);
        let stored = Runs::quarantined(&app.runs_dir(), |_| ())?;
        let mut sum = Sum::default();
        stored.iter().filter(|file| file.since_ms <= before).for_each(|file| sum.add(file));
        Ok(sum)
    });
    let sum = sum.await?;
    Ok(html! {
        @if sum.files == 0 { p { "No file is that old. Nothing would be removed." } }
        @else {
            p {
                b { (files(sum.files)) } ", " (size(sum.bytes)) " on disk, in quarantine"
                @if days > 0 { " for more than " (counted(days, "day", "days")) }
                "."
            }
        }
    })
}

/// Returns the time `days` days before `now_ms`, in milliseconds since the epoch.
fn before_ms(now_ms: i64, days: u64) -> i64 {
    let age_ms = i64::try_from(days.saturating_mul(DAY_MS)).unwrap_or(i64::MAX);
    now_ms.saturating_sub(age_ms).max(0)
}

#[cfg(test)]
mod tests {
    use super::{QuarantinedFile, newest_first};

    #[test]
    fn the_newest_run_comes_first_and_its_files_are_in_order() {
        let file = |run, path: &str| QuarantinedFile {
            run,
            since_ms: 0,
            path: path.into(),
            at: Vec::new(),
            size: 1,
            allocated: 1,
            files: None,
            rule: None,
        };
        let stored = [file(1, "a"), file(1, "b"), file(2, "c"), file(2, "d")];
        let paths: Vec<&[u8]> = newest_first(&stored).iter().map(|file| &*file.path).collect();
        assert_eq!(paths, [b"c", b"d", b"a", b"b"]);
    }
}
