//! Describes in sentences how folders are related.

use maud::{Markup, html};
use review::Review;

use crate::app::folders::Progress;
use crate::app::folders::report::{Folder, Kind, Relation, Report};
use crate::jobs::Job;
use crate::layout::name;
use crate::pages::groups_link::groups_below;
use crate::quantity;

/// Maximum number of relations on the page. The first ones have the most reclaimable space.
const RELATIONS: usize = 300;
/// Maximum number of folders of a set that are listed.
const FOLDERS: usize = 20;

/// The relations that one decision can settle.
#[derive(Debug, Default)]
pub(super) struct Choices {
    /// The revision of the numbers.
    revision: u64,
    /// The last change of decisions.
    seen: u64,
    /// For each relation on the page.
    sets: Vec<Option<Decidable>>,
}

/// A folder set that a decision can be about.
#[derive(Debug)]
struct Decidable {
    /// The number of the set.
    set: u32,
    /// For each folder of the relation, its position in the set.
    keep: Vec<u32>,
}

impl Choices {
    /// Finds the folder sets that the relations are about.
    pub(super) fn find(report: &Report, review: &Review, revision: u64, seen: u64) -> Choices {
        let related = report.related.iter().take(RELATIONS);
        let sets = related.map(|relation| Decidable::find(relation, review)).collect();
        Choices { revision, seen, sets }
    }
}

impl Decidable {
    fn find(relation: &Relation, review: &Review) -> Option<Decidable> {
        let paths: Vec<Vec<u8>> = relation.dirs.iter().map(Folder::path).collect();
        let mut sorted = paths.clone();
        sorted.sort();
        let set = review.sets().find(review.index(), &sorted)?;
        let folders = review.sets().set(review.index(), set).folders;
        let position = |path: &Vec<u8>| {
            let at = folders.iter().position(|folder| folder.path == *path)?;
            u32::try_from(at).ok()
        };
        Some(Decidable { set, keep: paths.iter().map(position).collect::<Option<Vec<u32>>>()? })
    }
}

/// Returns the content of the page.
pub(super) fn main(progress: &Progress, choices: &Choices) -> Markup {
    html! {
        div.narrow.folders data-module="folders" data-state=(progress.word()) data-seen=(choices.seen) {
            h1 { "Compare folders" }
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
                Progress::Done(report) => (list(report, choices)),
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

fn list(report: &Report, choices: &Choices) -> Markup {
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
            @for (at, relation) in related.iter().take(RELATIONS).enumerate() {
                li.card { (show(relation, choices.sets.get(at).and_then(Option::as_ref), choices.revision)) }
            }
        }
        @if related.len() > RELATIONS {
            p.dim {
                (quantity::count((related.len() - RELATIONS) as u64))
                " more with less reclaimable space. " code { "lop report --dirs" } " lists all of them."
            }
        }
    }
}

fn show(relation: &Relation, decidable: Option<&Decidable>, revision: u64) -> Markup {
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
        div.bar {
            @if let Some(groups) = groups_below(&both) { a.button href=(groups) { "Show the files they share" } }
            @match decidable {
                Some(Decidable { set, keep }) => {
                    @for (keep, path) in keep.iter().zip(&paths).take(FOLDERS) {
                        button type="button" data-set=(set) data-keep=(keep) data-revision=(revision) {
                            "Keep the files in " (name(path))
                        }
                    }
                }
                None => a.button href="/same-folders" { "Decide by folders" },
            }
        }
    }
}

fn sentence(relation: &Relation, paths: &[Vec<u8>]) -> Markup {
    let [first, second, ..] = paths else { return html! {} };
    html! {
        @match relation.kind {
            Kind::Contained => { (name(first)) " is contained in " (name(second)) }
            Kind::Overlapping => { (relation.percent) " % of " (name(first)) " is also in " (name(second)) }
            Kind::Equal | Kind::Other if paths.len() == 2 => { (name(first)) " and " (name(second)) " are equal" }
            Kind::Equal | Kind::Other => { (quantity::count(paths.len() as u64 - 1)) " folders are equal to " (name(first)) }
        }
    }
}
