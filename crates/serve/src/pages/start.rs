//! The start page: the contents of the catalog, how much can be reclaimed, and the next step.
//!
//! A scan does not change the files of the user, so a read-only server can start it.

mod disks;

use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::routing::get;
use catalog::{ScannedRoot, VolumeSummary, has_typed_options};
use futures_util::future::join;
use maud::{Markup, html};

use self::disks::DiskState;
use crate::app::App;
use crate::app::reviews::Loaded;
use crate::app::summaries::Summary;
use crate::error::PageError;
use crate::frame::page;
use crate::layout::{name, plain_name};
use crate::pages::changed;
use crate::pages::jobs::{Done, hex, outcome, place};
use crate::quantity::{count, counted, files, size, time};

pub(super) fn routes() -> Router<Arc<App>> {
    Router::new().route("/", get(show))
}

async fn show(State(app): State<Arc<App>>, done: Query<Done>) -> Result<Markup, PageError> {
    let content = content(&app).await?;
    let main = html! {
        .narrow data-module="start" {
            (outcome(&app, &done))
            (place("scan"))
            (content)
        }
    };
    Ok(page(&app, "Start", "/", &main))
}

async fn content(app: &Arc<App>) -> Result<Markup, PageError> {
    let read = |app: &App| {
        let has_catalog = app.catalog_path().exists();
        Ok(has_catalog.then(|| {
            let (summary, decisions) = (app.summary()?, app.decisions_now()?.0);
            let removes = if decisions == 0 { 0 } else { removes(app) };
            Ok((summary, decisions, removes))
        }))
    };
    let (summary, decisions, removes) = match app.blocking(read).await? {
        None => return Ok(first_page(app)),
        Some(Err(error)) => return Ok(unusable(&error)),
        Some(Ok(all)) => all,
    };
    let states = disks::states(&app.disks, &summary.overview.volumes);
    let (states, news) = join(states, app.news()).await;
    Ok(html! {
        h1 { "Duplicate files" }
        (changed::note(&news?, &summary.overview.roots))
        (cards(&summary, decisions))
        (steps(app, &summary, removes))
        (scan_form(&summary.overview.roots))
        (disk_table(&summary.overview.volumes, &states))
        (catalog_line(app, &summary))
    })
}

/// Returns the number of files that the decisions remove. Loading all groups of a large catalog takes
/// seconds; until they are loaded, assumes that the decisions remove a file.
fn removes(app: &App) -> u64 {
    let removes = |loaded: Loaded<'_>| {
        let all: Vec<u32> = (0..loaded.review.index().len()).collect();
        loaded.review.totals(&all).removes
    };
    app.review_if_loaded(removes).unwrap_or(1)
}

/// The page before the first scan.
fn first_page(app: &App) -> Markup {
    html! {
        h1 { "Find duplicate files" }
        p {
            "lop looks through the folders that you choose, and compares files byte by byte. Only files that are "
            "really identical form a group. The result is stored in a catalog, so later scans read only what changed."
        }
        p { b { "A scan changes none of your files." } " It only reads them." }
        (scan_form(&[]))
        h2 { "What comes next" }
        ol.steps {
            li { "Scan the folders that may contain copies." }
            li { "Look at the groups of identical files, and decide which copies stay. One decision can settle all groups in the same folders." }
            li { "Check the plan. It lists every file that would be changed, the file that stays, and the reason." }
            li { "Apply the plan. Every run can be undone." }
        }
        p.dim { "The catalog will be " (name(app.catalog_path().as_os_str().as_bytes())) "." }
    }
}

fn unusable(error: &PageError) -> Markup {
    html! {
        h1 { "The catalog cannot be used" }
        .note.error role="alert" { (error.markup()) }
        (scan_form(&[]))
    }
}

fn cards(summary: &Summary, decisions: u64) -> Markup {
    let (groups, all) = (&summary.groups, &summary.overview.all);
    html! {
        .cards {
            .card { b.big { (size(groups.reclaimable)) } "can be reclaimed" }
            .card {
                b.big { (count(groups.redundant)) }
                (if groups.redundant == 1 { "file is redundant" } else { "files are redundant" })
                ", in " a href="/groups" { (counted(groups.groups, "group", "groups")) }
            }
            .card {
                b.big { (count(decisions)) }
                (if decisions == 1 { "decision" } else { "decisions" }) " made so far"
            }
            .card { b.big { (count(all.files)) } "files remembered, " (size(all.bytes)) }
        }
    }
}

/// Returns the steps of a review. The next one is marked. `removes` is the number of files that decisions
/// remove: without any, a plan would be empty.
fn steps(app: &App, summary: &Summary, removes: u64) -> Markup {
    let next = match (summary.groups.groups, removes) {
        (0, _) => 0,
        (_, 0) => 1,
        _ => 2,
    };
    let step = |at: usize, text: Markup| {
        html! {
            li.next[at == next] aria-current=[(at == next).then_some("step")] {
                (text)
                @if at == next { " " span.state { "next" } }
            }
        }
    };
    html! {
        h2 { "What to do next" }
        ol.steps {
            (step(0, html! { a href="#scan" { "Scan" } " the folders that may contain copies." }))
            (step(1, html! {
                "Review the " a href="/groups" { "groups" } ", or decide whole " a href="/same-folders" { "folders with the same files" }
                " at once."
            }))
            (step(2, html! { "Make the " a href="/plan" { "plan" } ", and check what would happen to each file." }))
            (step(3, html! {
                "Apply the plan. Each " a href="/runs" { "run" } " can be undone."
                @if !app.allows_actions() { " " span.dim { "This server is read-only: start it with " code { "--allow-actions" } "." } }
            }))
        }
    }
}

fn scan_form(roots: &[ScannedRoot]) -> Markup {
    html! {
        section aria-labelledby="scan" {
            h2 #scan { (if roots.is_empty() { "Scan" } else { "Scanned folders" }) }
            form #scan-form.scan {
                @if !roots.is_empty() { (root_table(roots)) }
                .bar {
                    label.grow {
                        span.label-text { (if roots.is_empty() { "Folder" } else { "Another folder" }) }
                        input type="text" name="path" placeholder="/srv/photos" autocomplete="off" spellcheck="false"
                            aria-describedby="scan-hint";
                    }
                    button.primary type="submit" { "Scan" }
                }
                p.dim #scan-hint {
                    "The path on the machine where lop runs, beginning with /. A scan reads files and changes none. "
                    "It continues if you close this page."
                }
            }
        }
    }
}

fn root_table(roots: &[ScannedRoot]) -> Markup {
    html! {
        .scroll {
            table {
                thead { tr {
                    th.narrow scope="col" { span.hidden-label { "Scan again" } }
                    th scope="col" { "Folder" }
                    th.num scope="col" { "Files" }
                    th.num scope="col" { "Size" }
                    th scope="col" { "Last scan" }
                } }
                tbody { @for root in roots { (root_row(root)) } }
            }
        }
    }
}

fn root_row(root: &ScannedRoot) -> Markup {
    let label = format!("Scan {} again", plain_name(&root.path));
    html! {
        tr {
            td { input type="checkbox" name="root" value=(hex(&root.path)) aria-label=(label); }
            td {
                (name(&root.path))
                @if !root.complete { " " span.state.warn { "interrupted" } }
                @if has_typed_options(&root.options) {
                    br; small { "scanned with " (root.options) "; a scan from here uses the usual options" }
                }
            }
            td.num { (count(root.remembered.files)) }
            td.num { (size(root.remembered.bytes)) }
            td { (time(root.finished_ms)) }
        }
    }
}

fn disk_table(disks: &[VolumeSummary], states: &[DiskState]) -> Markup {
    let in_state = |state| states.iter().filter(|&&one| one == state).count() as u64;
    let (missing, silent) = (in_state(DiskState::Offline), in_state(DiskState::Silent));
    html! {
        @if missing > 0 {
            .note.warning {
                p {
                    (counted(missing, "disk is", "disks are")) " not mounted. lop remembers "
                    (if missing == 1 { "its files" } else { "their files" }) ", but cannot act on them."
                }
            }
        }
        @if silent > 0 {
            .note.warning {
                p {
                    (counted(silent, "disk does", "disks do")) " not answer. A disk that was powered down needs a few "
                    "seconds to start; then reload the page. Otherwise, check its mount."
                }
            }
        }
        @if disks.len() > 1 || missing + silent > 0 {
            h2 { "Disks" }
            .scroll {
                table {
                    thead { tr {
                        th scope="col" { "Below" }
                        th scope="col" { "File system" }
                        th.num scope="col" { "Files" }
                        th.num scope="col" { "Size" }
                        th scope="col" { "State" }
                    } }
                    tbody {
                        @for (disk, state) in disks.iter().zip(states) {
                            tr {
                                td { (name(&disk.path)) }
                                td { (disk.volume.and_then(|volume| volume.known_name()).unwrap_or("unknown")) }
                                td.num { (count(disk.remembered.files)) }
                                td.num { (size(disk.remembered.bytes)) }
                                td { @match state {
                                    DiskState::Mounted => "mounted",
                                    DiskState::Offline => span.state.warn { "offline" },
                                    DiskState::Silent => span.state.warn { "does not answer" },
                                } }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn catalog_line(app: &App, summary: &Summary) -> Markup {
    let path = app.catalog_path();
    let bytes = std::fs::metadata(path).map_or(0, |meta| meta.len());
    let all = &summary.overview.all;
    html! {
        h2 { "Catalog" }
        p { (name(path.as_os_str().as_bytes())) ", " (size(bytes)) }
        @if summary.overview.problems > 0 {
            p.warn {
                (counted(summary.overview.problems, "entry", "entries"))
                " could not be examined by the last scans. Scan again to see which."
            }
        }
        @if all.pending > 0 {
            p.warn { (files(all.pending)) " not compared yet, because a scan was interrupted. Scan the folder again." }
        }
        @if all.damaged > 0 { p.warn { (files(all.damaged)) " found damaged or unreadable." } }
    }
}
