//! The page of one run: what it did to each file, and how it can be undone.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use action::journal::{FileAction, FileActions, FileState};
use action::plan::Kind;
use action::run::{RunSummary, Runs};
use action::undo::{FilePreview, RestoreMethod};
use axum::extract::{Path, Query, State};
use axum::response::Response;
use maud::{Markup, html};

use crate::app::App;
use crate::attachment::{attachment, csv_row, in_chunks};
use crate::error::PageError;
use crate::frame::page;
use crate::layout::{name, path_name};
use crate::pages::jobs::{Done, outcome, place};
use crate::quantity::{count, counted, files, size, time};

/// Number of files that the page lists.
const LISTED: usize = 1000;

/// Number of failures that the page lists.
const FAILURES: usize = 200;

/// Number of lines in one chunk of the table.
const CHUNK: usize = 500;

/// Maximum time for looking at all files of a run.
const PREVIEW_TIMEOUT: Duration = Duration::from_secs(120);

pub(super) async fn show(
    State(app): State<Arc<App>>,
    Path(run): Path<u64>,
    done: Query<Done>,
) -> Result<Markup, PageError> {
    let content = app.blocking(move |app| content(app, run)).await?;
    let main = html! {
        .narrow data-module="runs" {
            p { a href="/runs" { "All runs" } }
            h1 { "Run " (run) }
            (outcome(&app, &done))
            (place("undo restore purge"))
            (content)
        }
    };
    Ok(page(&app, &format!("Run {run}"), "/runs", &main))
}

fn content(app: &App, run: u64) -> Result<Markup, PageError> {
    let folder = app.runs_dir();
    let first_that_may_run = Runs::first_that_may_run(&folder)?;
    let (summary, actions) = Runs::actions(&folder, run)?;
    let may_run = summary.may_run(first_that_may_run);
    let seen = Seen::read(&summary, actions)?;
    Ok(html! {
        (cards(&summary))
        (remarks(&summary, may_run))
        (undo(app, &summary, may_run))
        @if summary.failed > 0 { (failures(run, &summary, &seen.failures)) }
        (file_table(run, &seen, may_run))
    })
}

/// The files of a run that the page lists.
struct Seen {
    files: Vec<FileAction>,
    /// Files that were left alone, with the reasons.
    failures: Vec<(Vec<u8>, String)>,
    /// Whether the run has more files than the page lists.
    is_cut: bool,
}

impl Seen {
    /// Reads the first files and the first failures. Stops as soon as it has both.
    fn read(summary: &RunSummary, actions: FileActions) -> Result<Seen, PageError> {
        let listed = summary.failed - summary.unrecorded;
        let expected = usize::try_from(listed).unwrap_or(usize::MAX).min(FAILURES);
        let mut seen = Seen { files: Vec::new(), failures: Vec::new(), is_cut: false };
        for action in actions {
            let action = action?;
            if let FileState::LeftAlone(why) = &action.state
                && seen.failures.len() < FAILURES
            {
                seen.failures.push((action.path.clone(), why.clone()));
            }
            if seen.files.len() < LISTED {
                seen.files.push(action);
                continue;
            }
            seen.is_cut = true;
            if seen.failures.len() >= expected {
                break;
            }
        }
        Ok(seen)
    }
}

fn cards(run: &RunSummary) -> Markup {
    html! {
        p.dim {
            (run.kind.word()) ", began " (time(run.started_ms))
            @if let Some(ended) = run.ended_ms { ", ended " (time(ended)) } @else { ", not finished" }
        }
        .cards {
            .card { b.big { (count(run.done)) } (if run.done == 1 { "file" } else { "files" }) " acted on" }
            // The space of files in quarantine is free when the quarantine is emptied.
            @if run.freed > 0 || run.kind != Kind::Quarantine { .card { b.big { (size(run.freed)) } "freed" } }
            @if run.failed > 0 { .card { b.big.warn { (count(run.failed)) } "left alone" } }
            @if run.already > 0 { .card { b.big { (count(run.already)) } "already done" } }
            @if run.undone > 0 { .card { b.big { (count(run.undone)) } "restored since" } }
            @if run.purged > 0 { .card { b.big { (count(run.purged)) } "removed for good" } }
        }
    }
}

fn remarks(run: &RunSummary, may_run: bool) -> Markup {
    html! {
        @if run.ended_ms.is_none() {
            .note.warning { p {
                @if may_run { "This run may still be in progress. Reload the page to see how far it has got." }
                @else {
                    "This run was interrupted. No file is lost: the next run or undo moves back every file that was being moved."
                }
            } }
        }
        @if run.damaged > 0 {
            .note.warning { p {
                (counted(run.damaged, "line of the journal is", "lines of the journal are")) " damaged and ignored."
            } }
        }
    }
}

fn undo(app: &App, run: &RunSummary, may_run: bool) -> Markup {
    let left = run.done.saturating_sub(run.undone + run.purged);
    let reason = if run.kind == Kind::Reflink {
        Some("Reflinks changed neither names nor contents, so there is nothing to undo.")
    } else if left == 0 && run.ended_ms.is_some() {
        Some("Nothing is left to restore.")
    } else if may_run {
        Some("It can be undone when no process is changing files any more.")
    } else if app.check_actions().is_err() {
        Some(
            "This server is read-only. Start it with --allow-actions, or use the command lop undo.",
        )
    } else {
        None
    };
    let number = run.run;
    html! {
        .bar {
            button type="button" data-dialog="undo-dialog" disabled[reason.is_some()]
                aria-describedby=[reason.map(|_| "undo-reason")] { "Undo this run…" }
            a.button href=(format!("/runs/{number}/files.csv")) download { "Save as table (CSV)" }
        }
        @if let Some(reason) = reason { p.dim #undo-reason { (reason) } }
        @else {
            dialog #undo-dialog data-post="/api/undo" data-body=(format!("{{\"run\":{number}}}"))
                data-preview=(format!("/runs/{number}/undo")) aria-labelledby="undo-title" {
                h2 #undo-title { "Undo run " (number) "?" }
                .preview aria-live="polite" { p.dim { "Looking at the files…" } }
                p { "Nothing is overwritten: if another file has the name now, it stays." }
                form method="dialog" {
                    .bar.end {
                        button value="cancel" formnovalidate autofocus { "Cancel" }
                        button.primary value="ok" { "Undo" }
                    }
                }
            }
        }
    }
}

fn failures(run: u64, summary: &RunSummary, failures: &[(Vec<u8>, String)]) -> Markup {
    let listed = summary.failed - summary.unrecorded;
    let more = listed.saturating_sub(failures.len() as u64);
    html! {
        h2 { "Left alone" }
        @if !failures.is_empty() {
            .scroll {
                table {
                    thead { tr { th scope="col" { "File" } th scope="col" { "Why" } } }
                    tbody {
                        @for (path, why) in failures { tr { td { (name(path)) } td { (name(why.as_bytes())) } } }
                    }
                }
            }
        }
        @if summary.unrecorded > 0 {
            p.dim { (files(summary.unrecorded)) " failed the first checks. The journal does not name them." }
        }
        @if more > 0 {
            p.dim {
                "and " (count(more)) " more; "
                a href=(format!("/runs/{run}/files.csv")) download { "save the result of every file" } "."
            }
        }
    }
}

fn file_table(run: u64, seen: &Seen, may_run: bool) -> Markup {
    html! {
        h2 { "Files" }
        @if seen.files.is_empty() { p.dim { "The run reached no file." } }
        @else {
            .scroll {
                table.listed {
                    thead { tr {
                        th scope="col" { "State" } th.wide scope="col" { "File" } th.num scope="col" { "Size" }
                    } }
                    tbody { @for action in &seen.files { (file_row(action, may_run)) } }
                }
            }
            @if seen.is_cut {
                p.dim {
                    "The first " (count(LISTED as u64)) " files are shown; "
                    a href=(format!("/runs/{run}/files.csv")) download { "save all" } "."
                }
            }
        }
    }
}

fn file_row(action: &FileAction, may_run: bool) -> Markup {
    let (word, _) = state(&action.state, may_run);
    let is_warning = match action.state {
        FileState::LeftAlone(_) => true,
        FileState::CutOff => !may_run,
        _ => false,
    };
    let bytes = if action.files.is_some() { action.allocated } else { action.was.size };
    html! {
        tr {
            td { span.state.warn[is_warning] { (word) } }
            td {
                (path_name(&action.path))
                @if let Some(kept) = &action.kept { small.path-line { "kept: " (path_name(&kept.path)) } }
                @if let Some(rule) = &action.rule { small.path-line { "rule: " (name(rule.as_bytes())) } }
            }
            td.num { (size(bytes)) }
        }
    }
}

/// Returns the state of a file in a few words, and the reason if it was left alone. `may_run` tells whether the run may
/// still be in progress.
fn state(state: &FileState, may_run: bool) -> (&'static str, &str) {
    match state {
        FileState::CutOff if may_run => ("in progress", ""),
        FileState::CutOff => ("interrupted", ""),
        FileState::Done => ("done", ""),
        FileState::Already => ("already done", ""),
        FileState::LeftAlone(why) => ("left alone", why),
        FileState::Restored => ("restored", ""),
        FileState::Purged => ("removed for good", ""),
    }
}

/// How an undo would restore the files of a run.
#[derive(Default)]
struct Preview {
    moves: u64,
    links: u64,
    copies: u64,
    in_place: u64,
    failed: u64,
    failures: Vec<(Vec<u8>, String)>,
}

impl Preview {
    fn add(&mut self, file: FilePreview) {
        match file.method {
            Ok(RestoreMethod::MoveBack) => self.moves += 1,
            Ok(RestoreMethod::Link { .. }) => self.links += 1,
            Ok(RestoreMethod::Copy { .. }) => self.copies += 1,
            Ok(RestoreMethod::InPlace) => self.in_place += 1,
            Err(why) => {
                self.failed += 1;
                if self.failures.len() < FAILURES {
                    self.failures.push((file.path, why.to_string()));
                }
            }
        }
    }
}

/// Answers with what an undo would do, for the dialog.
pub(super) async fn preview(
    State(app): State<Arc<App>>,
    Path(run): Path<u64>,
) -> Result<Markup, PageError> {
    let folder = app.runs_dir();
    let work = move || -> Result<Preview, PageError> {
        let mut preview = Preview::default();
        Runs::preview(&folder, Some(run), &[], |_| (), |file| preview.add(file))?;
        Ok(preview)
    };
    // The files may be on several disks.
    let preview = app.disks.run(0, PREVIEW_TIMEOUT, work).await?;
    Ok(shown(&preview?))
}

fn shown(preview: &Preview) -> Markup {
    let all = preview.moves + preview.links + preview.copies;
    html! {
        p { b { (files(all)) " would be restored." } }
        ul {
            @if preview.moves > 0 { li { (files(preview.moves)) " moved back" } }
            @if preview.copies > 0 { li { (files(preview.copies)) " copied from the files that stayed" } }
            @if preview.links > 0 { li { (counted(preview.links, "name", "names")) " linked again" } }
            @if preview.in_place > 0 { li { (files(preview.in_place)) " already in place" } }
            @if preview.failed > 0 { li.warn { (files(preview.failed)) " cannot be restored" } }
        }
        @if !preview.failures.is_empty() {
            details {
                summary { "Which cannot be restored, and why" }
                ul.messages {
                    @for (path, why) in &preview.failures { li { (name(path)) ": " (name(why.as_bytes())) } }
                }
                @if preview.failed > preview.failures.len() as u64 {
                    p.dim { "and " (count(preview.failed - preview.failures.len() as u64)) " more" }
                }
            }
        }
    }
}

/// Answers with a table of what the run did to each file.
pub(super) async fn csv(
    State(app): State<Arc<App>>,
    Path(run): Path<u64>,
) -> Result<Response, PageError> {
    let read = move |app: &App| {
        let first_that_may_run = Runs::first_that_may_run(&app.runs_dir())?;
        let (summary, actions) = Runs::actions(&app.runs_dir(), run)?;
        Ok((actions, summary.may_run(first_that_may_run)))
    };
    let (actions, may_run) = app.blocking(read).await?;
    let body = in_chunks((actions, false), move |(actions, is_begun)| {
        let mut out = Vec::new();
        if !std::mem::replace(is_begun, true) {
            csv_row(&mut out, &[b"state", b"path", b"size", b"kept", b"why"]);
        }
        for action in actions.take(CHUNK) {
            let action = action.map_err(io::Error::other)?;
            let (word, why) = state(&action.state, may_run);
            let size = action.was.size.to_string();
            let kept = action.kept.as_ref().map_or(&b""[..], |kept| &kept.path);
            csv_row(
                &mut out,
                &[word.as_bytes(), &action.path, size.as_bytes(), kept, why.as_bytes()],
            );
        }
        Ok((!out.is_empty()).then_some(out))
    });
    Ok(attachment(&format!("lop-run-{run}.csv"), "text/csv", body))
}
