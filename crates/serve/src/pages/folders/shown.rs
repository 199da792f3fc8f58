//! Shows how folders are related, in sentences.

use maud::{Markup, html};

use super::Progress;
use super::report::{Folder, Kind, Relation, Report};
use crate::jobs::Job;
use crate::layout::name;
use crate::pages::groups_link::groups_below;
use crate::quantity;

/// Maximum number of relations on the page. The first ones have the most to win.
const RELATIONS: usize = 300;
/// Maximum number of folders of a set that are listed.
const FOLDERS: usize = 20;

/// Returns the content of the page.
pub(super) fn main(progress: &Progress) -> Markup {
    let state = match progress {
        Progress::Idle => "idle",
        Progress::Running(_) => "running",
        Progress::Done(_) => "done",
        Progress::Failed(_) => "failed",
    };
    html! {
        div.narrow.folders data-module="folders" data-state=(state) {
            h1 { "Folders with the same content" }
            @match progress {
                Progress::Idle => {
                    p { "lop compares all folders of the catalog. This can take a while; the files are not read." }
                    p { button.primary #compare type="button" { "Compare the folders" } }
                }
                Progress::Running(job) => p #progress role="status" { (running(job)) },
                Progress::Failed(reason) => {
                    p.note.error { "The folders were not compared: " (reason) "." }
                    p { button.primary #compare type="button" { "Try again" } }
                }
                Progress::Done(report) => (list(report)),
            }
        }
    }
}

/// Returns what a running job does.
pub(super) fn running(job: &Job) -> String {
    let text = job.progress.as_ref().map(|progress| progress.text.as_str());
    match text.filter(|text| !text.is_empty()) {
        Some(text) => format!("Comparing folders: {text}"),
        None => "Comparing folders …".into(),
    }
}

fn list(report: &Report) -> Markup {
    let related = &report.related;
    if related.is_empty() {
        return html! {
            div.empty {
                h2 { "No folders have much in common" }
                p { "Single files may still have copies: see the " a href="/groups" { "groups" } "." }
            }
        };
    }
    html! {
        p {
            "Removing all copies and all contained folders would free "
            b { (quantity::size(report.summary.reclaimable_bytes)) } ". One copy of every file would stay."
        }
        @if report.summary.problems > 0 {
            p.note.warning { "lop could not examine " (quantity::counted(report.summary.problems, "entry", "entries")) "." }
        }
        ol.relations {
            @for relation in related.iter().take(RELATIONS) { li.card { (show(relation)) } }
        }
        @if related.len() > RELATIONS {
            p.dim {
                (quantity::count((related.len() - RELATIONS) as u64))
                " more with less to win. " code { "lop report --dirs" } " lists all of them."
            }
        }
    }
}

fn show(relation: &Relation) -> Markup {
    let paths: Vec<Vec<u8>> = relation.dirs.iter().map(Folder::path).collect();
    let both: Vec<&[u8]> = paths.iter().take(2).map(Vec::as_slice).collect();
    html! {
        h2 { (sentence(relation, &paths)) }
        p {
            b { (quantity::size(relation.reclaimable_bytes)) } " reclaimable · "
            (quantity::files(relation.files)) " in common, " (quantity::size(relation.bytes))
        }
        ul.plain {
            @for (folder, path) in relation.dirs.iter().zip(&paths).take(FOLDERS) {
                li {
                    (name(path)) " "
                    span.dim {
                        (quantity::files(folder.files)) ", " (quantity::size(folder.bytes))
                        @if folder.changed > 0 { ", " (quantity::count(folder.changed)) " changed since the scan" }
                        @if folder.unknown > 0 { ", " (quantity::count(folder.unknown)) " not compared" }
                    }
                }
            }
            @if paths.len() > FOLDERS { li.dim { (quantity::count((paths.len() - FOLDERS) as u64)) " more" } }
        }
        @if let Some(groups) = groups_below(&both) {
            p.bar { a.button href=(groups) { "Show the files they share" } a.button href="/same-folders" { "Decide by folders" } }
        }
    }
}

fn sentence(relation: &Relation, paths: &[Vec<u8>]) -> Markup {
    let [first, second, ..] = paths else { return html! {} };
    html! {
        @match relation.relation {
            Kind::Contained => { (name(first)) " is contained in " (name(second)) }
            Kind::Overlapping => { (relation.percent) " % of " (name(first)) " is also in " (name(second)) }
            Kind::Equal | Kind::Other if paths.len() == 2 => { (name(first)) " and " (name(second)) " are equal" }
            Kind::Equal | Kind::Other => { (quantity::count(paths.len() as u64 - 1)) " folders are equal to " (name(first)) }
        }
    }
}
