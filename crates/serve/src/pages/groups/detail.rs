//! The files of one group, what happens to them, and the choices that a user has.

use std::collections::{HashMap, HashSet};

use maud::{Markup, html};
use review::{Choice, Condition, Decision, Fate, Group, Member, Review, Scope, Settlement, Why};

use crate::layout::{name, plain_name};
use crate::pages::file::Address;
use crate::pages::review_parts::{MOST_FILES, RULES, basis, choice, outcome, scope};
use crate::quantity::{count, counted, files, size, time};

/// Number of files that have a digit as their key.
const DIGITS: usize = 9;

/// Returns the details of a group. `seen` is the number of the last change of decisions.
pub(super) fn detail(review: &Review, at: u32, seen: u64) -> Markup {
    let (index, group) = (review.index(), review.index().group(at));
    let (members, settlement) = (index.members(at), review.settlement(at));
    let set = review.sets().set_of(at);
    let alike = review.sets().groups_of(set).len() as u64;
    let shown = members.iter().position(|member| member.condition.is_sound()).unwrap_or(0);
    html! {
        div data-number=(group.number) data-set=(set) data-files=(members.len()) data-seen=(seen)
            data-basis=(basis(&settlement)) {
            h2 { (name(members[shown].name())) }
            (facts(&group, &members))
            p.outcome { (outcome(&settlement)) " " (reason(review, &settlement)) }
            @if group.digest.is_none() {
                p.note.warning {
                    "The files of this group are known to be identical, but their digest is not known yet. \
                     A decision about this group alone needs it; the next scan computes it."
                }
            }
            (actions(review, &settlement, group.digest.is_some(), alike))
            (table(&members, &settlement, deciding(review, &settlement)))
            div.preview-place data-preview=(Address::of(&group, walk::to_u32(shown), &members[shown])) {}
        }
    }
}

fn facts(group: &Group, members: &[Member]) -> Markup {
    html! {
        p.dim {
            (files(group.inodes.into()))
            @if members.len() > group.inodes as usize {
                " with " (counted(members.len() as u64, "name", "names"))
            }
            " of " (size(group.size)) " (" (count(group.size)) " bytes) · "
            b { (size(group.reclaimable)) } " reclaimable"
            @if let Some(digest) = group.digest { " · BLAKE3 " code.digest { (digest.to_string()) } }
        }
    }
}

fn deciding<'r>(review: &'r Review, settlement: &Settlement) -> Option<&'r Decision> {
    match settlement {
        Settlement::Undecided => None,
        Settlement::Left { by } | Settlement::Decided { by, .. } | Settlement::Void { by, .. } => {
            review.decisions().get(*by)
        }
    }
}

/// Returns which decision is about the group.
fn reason(review: &Review, settlement: &Settlement) -> Markup {
    let Some(decision) = deciding(review, settlement) else { return html! {} };
    html! { span.dim { "Decision about " (scope(decision)) ": " (choice(decision)) "." } }
}

fn actions(review: &Review, settlement: &Settlement, has_digest: bool, alike: u64) -> Markup {
    let decision = deciding(review, settlement);
    html! {
        div.bar {
            form.inline {
                label.hidden-label for="rule" { "Keep by rule" }
                select #rule name="rule" required data-act="choose-rule" disabled[!has_digest] {
                    option value="" { "Keep by rule…" }
                    @for (rule, meaning) in RULES.iter().filter(|(rule, _)| !rule.ends_with(':')) {
                        option value=(rule) { (rule) ": " (meaning) }
                    }
                }
                button type="submit" data-act="rule" disabled[!has_digest] { "Keep by this rule" }
            }
            button type="button" data-act="leave" disabled[!has_digest] aria-keyshortcuts="x" {
                "Leave these alone" kbd { "x" }
            }
            @if let Some(decision) = decision {
                @if alike > 1 && !matches!(decision.scope, Scope::Folders(_)) {
                    button type="button" data-act="alike" aria-keyshortcuts="a" {
                        "Same for all " (count(alike)) " groups in these folders" kbd { "a" }
                    }
                }
                button type="button" data-act="withdraw" data-decision=(decision.id) {
                    @match decision.scope {
                        Scope::Group(_) => "Withdraw decision",
                        Scope::Folders(_) => "Withdraw decision for these folders",
                        Scope::Filter(_) => "Withdraw decision for the filter",
                    }
                }
            }
        }
    }
}

fn table(members: &[Member], settlement: &Settlement, decision: Option<&Decision>) -> Markup {
    let (names, seen) = (names(members), seen(decision));
    let is_new = |member: &Member| seen.as_ref().is_some_and(|seen| !seen.contains(&*member.path));
    let hidden = members.len().saturating_sub(MOST_FILES);
    html! {
        table.files aria-label="Files of this group" {
            thead.hidden-label { tr { th scope="col" { "Choice" } th scope="col" { "File" } } }
            tbody {
                @for (ordinal, member) in members.iter().take(MOST_FILES).enumerate() {
                    ({
                        let (fate, names) = (fate(settlement, ordinal), names[&key(ordinal, member)]);
                        let (is_new, can_choose) = (is_new(member), hidden == 0);
                        file(&Row { ordinal, member, fate, names, is_new, can_choose })
                    })
                }
            }
        }
        @if hidden > 0 {
            p.dim { "and " (counted(hidden as u64, "more name", "more names")) ". Choose by a rule: files of a group of this size cannot be chosen one by one." }
        }
    }
}

/// Returns the fate of a file. Files of a group without a plan stay.
fn fate(settlement: &Settlement, ordinal: usize) -> Option<&Fate> {
    match settlement {
        Settlement::Decided { fates, .. } => fates.get(ordinal),
        _ => None,
    }
}

/// Returns the paths that were in the group when the user chose files.
fn seen(decision: Option<&Decision>) -> Option<HashSet<&[u8]>> {
    match &decision?.choice {
        Choice::Files { keep, others } => {
            Some(keep.iter().chain(others).map(|path| &**path).collect())
        }
        _ => None,
    }
}

/// A name of the group, as the table shows it.
struct Row<'a> {
    ordinal: usize,
    member: &'a Member,
    fate: Option<&'a Fate>,
    /// Number of names of the file in the group.
    names: usize,
    /// Whether the name was found after the user had chosen files.
    is_new: bool,
    /// True if the page shows all names of the group, so that the user can choose among them.
    can_choose: bool,
}

fn file(row: &Row<'_>) -> Markup {
    let &Row { ordinal, member, fate, names, is_new, can_choose } = row;
    let label = plain_name(&member.path);
    let digit = (ordinal < DIGITS).then(|| (ordinal + 1).to_string());
    html! {
        tr data-ordinal=(ordinal) {
            td.choice {
                (toggle(row, &label))
                @if can_choose && member.condition.is_sound() {
                    button type="button" data-act="only" data-ordinal=(ordinal) aria-keyshortcuts=[digit.as_deref()] {
                        "Only this" @if let Some(digit) = &digit { kbd aria-hidden="true" { (digit) } }
                        span.hidden-label { ": " (label) }
                    }
                }
            }
            td.file {
                b { (name(member.name())) } span.where { (name(member.dir())) }
                ul.facts {
                    @if let Some(Fate::Keep(why)) = fate { li.keep { (name(reason_of(why).as_bytes())) } }
                    @if is_new { li.warn { "found after the decision" } }
                    li { (time(member.mtime_ns.div_euclid(1_000_000))) }
                    li data-owner=(ordinal) {}
                    li data-names=(ordinal) data-count=(names) { @if names > 1 { (count(names as u64)) " names" } }
                    li data-live=(ordinal) { @if !member.condition.is_sound() { (member.condition) } }
                }
            }
        }
    }
}

fn toggle(row: &Row<'_>, label: &str) -> Markup {
    let &Row { ordinal, member, fate, can_choose, .. } = row;
    let (word, next) = match fate {
        _ if !member.condition.is_sound() => ("stays", ""),
        None => ("stays", "remove"),
        Some(Fate::Keep(_)) => ("keep", "remove"),
        Some(Fate::Remove) => ("remove", "keep"),
    };
    if next.is_empty() || !can_choose {
        return html! { span.fate { (word) } };
    }
    html! {
        button.fate.keep[word == "keep"].remove[word == "remove"] type="button" data-act="toggle"
            data-ordinal=(ordinal) data-next=(next) aria-label={ (word) ": " (label) ". Press to " (next) "." } {
            (word)
        }
    }
}

fn reason_of(why: &Why) -> String {
    if *why == Why::Chosen { "chosen by you".into() } else { why.to_string() }
}

/// Returns the number of names of each file in the group.
fn names(members: &[Member]) -> HashMap<(u64, u64, usize), usize> {
    let mut names = HashMap::new();
    for (ordinal, member) in members.iter().enumerate() {
        *names.entry(key(ordinal, member)).or_default() += 1;
    }
    names
}

/// Identifies the file of a name. A file that is gone has no inode number, so its name identifies it.
fn key(ordinal: usize, member: &Member) -> (u64, u64, usize) {
    let is_known = !matches!(member.condition, Condition::Gone | Condition::Offline);
    if is_known { (member.device, member.inode, 0) } else { (0, 0, ordinal + 1) }
}
