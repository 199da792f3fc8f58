//! The folders of one set, the choices that a user has, and some of its groups.

use maud::{Markup, html};
use review::{Folder, Review, folders_below};

use crate::layout::{name, plain_name};
use crate::pages::review_parts::{choice, outcome, shortened, state};
use crate::quantity::{count, counted, files, size};

/// Number of folders in the table.
const MOST_FOLDERS: usize = 200;

/// Number of groups that are shown as a sample.
const SAMPLE: usize = 10;

/// Number of folders that have a digit as their key.
const DIGITS: usize = 9;

/// Returns the details of a set. `seen` is the number of the last change of decisions.
pub(super) fn detail(review: &Review, at: u32, seen: u64) -> Markup {
    let set = review.sets().set(review.index(), at);
    let decision = review.decisions().about(&review.folders_scope(at));
    let has_several = set.folders.len() > 1;
    let end = review.sets().common_end(review.index(), at);
    html! {
        div data-set=(at) data-files=(set.folders.len()) data-seen=(seen) {
            h2 {
                (counted(set.groups.into(), "group", "groups")) " in "
                (counted(set.folders.len() as u64, "folder", "folders"))
            }
            p.dim {
                (files(set.files)) " · " b { (size(set.reclaimable)) } " reclaimable. "
                @if !has_several { "All copies are in one folder, so only rules can decide." }
                @else if !end.is_empty() { "In each of these folders, the copies are below " (name(&end)) "." }
            }
            p.outcome {
                @match decision {
                    None => { b { "No decision about these folders." } }
                    Some(decision) => { b { "Decision about these folders: " } (choice(decision)) "." }
                }
            }
            div.bar {
                button type="button" data-act="rules" { "Decide by rules…" }
                button type="button" data-act="leave" aria-keyshortcuts="x" { "Leave these alone" kbd { "x" } }
                @if let Some(decision) = decision {
                    button type="button" data-act="withdraw" data-decision=(decision.id) { "Withdraw decision" }
                }
            }
            (folders(&set.folders, has_several))
            (sample(review, at))
        }
    }
}

fn folders(folders: &[Folder], has_several: bool) -> Markup {
    let hidden = folders.len().saturating_sub(MOST_FOLDERS);
    html! {
        table.files aria-label="Folders of this set" {
            thead { tr {
                th scope="col" { "Folder" } th.num scope="col" { "Files" } th.num scope="col" { "Size" }
            } }
            tbody {
                @for (ordinal, folder) in folders.iter().take(MOST_FOLDERS).enumerate() {
                    tr data-ordinal=(ordinal) {
                        td.file {
                            (path(ordinal, folder, folders))
                            @if has_several { (keep(ordinal, &plain_name(&folder.path))) }
                        }
                        td.num { (count(folder.files)) }
                        td.num { (size(folder.bytes)) }
                    }
                }
            }
        }
        @if hidden > 0 { p.dim { "and " (counted(hidden as u64, "more folder", "more folders")) } }
        @if folders.len() > 2 {
            p.bar { button type="button" data-act="several" { "Keep the files in the ticked folders" } }
        }
    }
}

fn path(ordinal: usize, folder: &Folder, folders: &[Folder]) -> Markup {
    let paths = folders.iter().map(|folder| folder.path.as_slice());
    html! {
        @if folders.len() > 2 {
            label.tick { input type="checkbox" data-folder=(ordinal); (name(&folder.path)) }
        } @else { (name(&folder.path)) }
        @let below: Vec<&[u8]> = folders_below(&folder.path, paths).collect();
        @if !below.is_empty() { span.where { "outside " (shortened(&below)) } }
    }
}

fn keep(ordinal: usize, label: &str) -> Markup {
    let digit = (ordinal < DIGITS).then(|| (ordinal + 1).to_string());
    html! {
        p.keep-folder {
            button type="button" data-act="only" data-ordinal=(ordinal) aria-keyshortcuts=[digit.as_deref()] {
                "Keep the files in this folder"
                @if let Some(digit) = &digit { kbd aria-hidden="true" { (digit) } }
                span.hidden-label { ": " (label) }
            }
        }
    }
}

fn sample(review: &Review, set: u32) -> Markup {
    let groups = review.sets().groups_of(set);
    html! {
        h2 {
            @if groups.len() > SAMPLE { "The " (SAMPLE) " largest of " (count(groups.len() as u64)) " groups" }
            @else { "Groups" }
        }
        table.files aria-label="Groups of this set" {
            tbody {
                @for &at in groups.iter().take(SAMPLE) {
                    @let path = review.index().first_path(at);
                    tr {
                        td.num { (size(review.index().group(at).reclaimable)) }
                        td.file {
                            b { (name(walk::split_path(&path).1)) }
                            span.where { (outcome(&review.settlement(at))) }
                        }
                        td { (state(review, at)) }
                    }
                }
            }
        }
    }
}
