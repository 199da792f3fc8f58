//! The preview and the result of a run as one JSON document. `docs/formats.md` lists its keys.

use std::collections::BTreeMap;
use std::time::Duration;

use fsops::Kind;
use serde::Serialize;
use sweep::bindings::System;
use sweep::guard::Refused;
use sweep::preview::{Match, RuleTotals};
use sweep::rule::Rule;

use super::engine::Found;
use super::rule_book::RuleBook;
use super::summary::Summary;
use crate::output::devices::Device;
use crate::output::formats::JsonPath;
use crate::output::stats::peak_memory_bytes;
use crate::settings::Resources;

/// The document.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    targets: Vec<JsonTarget<'a>>,
    rules: Vec<JsonRule<'a>>,
    refused: Vec<JsonRefused<'a>>,
    off: Vec<JsonOff<'a>>,
    dropped: BTreeMap<&'static str, u64>,
    skipped_parts: u64,
    bindings: Vec<JsonBinding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<JsonMatch<'a>>>,
    summary: &'a Summary,
}

#[derive(Serialize)]
struct JsonTarget<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    systems: Vec<JsonSystem<'a>>,
    profiles: usize,
    remarks: &'a [String],
}

#[derive(Serialize)]
struct JsonSystem<'a> {
    #[serde(flatten)]
    path: JsonPath<'static>,
    name: &'a str,
    live: bool,
}

#[derive(Serialize)]
struct JsonRule<'a> {
    id: &'a str,
    what: &'a str,
    risk: &'static str,
    matches: u64,
    files: u64,
    bytes: u64,
    oldest_ns: Option<i64>,
}

#[derive(Serialize)]
struct JsonRefused<'a> {
    id: &'a str,
    guard: u8,
    reason: &'a str,
}

#[derive(Serialize)]
struct JsonOff<'a> {
    id: &'a str,
    risk: &'static str,
}

#[derive(Serialize)]
struct JsonBinding {
    variable: &'static str,
    #[serde(flatten)]
    path: JsonPath<'static>,
}

#[derive(Serialize)]
struct JsonMatch<'a> {
    #[serde(flatten)]
    path: JsonPath<'static>,
    rule: &'a str,
    kind: &'static str,
    files: u64,
    bytes: u64,
}

impl<'a> Document<'a> {
    /// Returns the document of a preview or a run. `listed` selects the matches to list.
    pub(super) fn new(
        book: &'a RuleBook,
        found: &'a [Found],
        listed: Listed,
        summary: &'a Summary,
    ) -> Document<'a> {
        let refused = found.iter().flat_map(|found| &found.preview.refused);
        let matches = match listed {
            Listed::Nothing => None,
            Listed::Matches(rule) => Some(matches(book, found, rule)),
        };
        Document {
            targets: found.iter().map(JsonTarget::new).collect(),
            rules: rules(book, found),
            refused: book
                .refused
                .iter()
                .chain(refused)
                .map(|refused| JsonRefused::new(book, refused))
                .collect(),
            off: book.off.iter().map(|&at| JsonOff::new(&book.rules[at])).collect(),
            dropped: book.dropped_by_reason(),
            skipped_parts: book.skipped_parts,
            bindings: found.iter().flat_map(bindings).collect(),
            matches,
            summary,
        }
    }
}

/// The matches that a document lists.
#[derive(Clone, Copy)]
pub(super) enum Listed {
    /// No matches.
    Nothing,
    /// All matches, or only those of one rule.
    Matches(Option<usize>),
}

/// Returns the rules that can match something on a target, with their totals over all targets.
fn rules<'a>(book: &'a RuleBook, found: &[Found]) -> Vec<JsonRule<'a>> {
    let mut rules = Vec::new();
    for (at, rule) in book.rules.iter().enumerate() {
        let totals = found.iter().filter_map(|found| found.preview.rules.get(at));
        let totals: Vec<&RuleTotals> = totals.filter(|totals| totals.is_here).collect();
        if totals.is_empty() || is_refused(at, found) {
            continue;
        }
        rules.push(JsonRule {
            id: &rule.id,
            what: &rule.what,
            risk: rule.risk.word(),
            matches: totals.iter().map(|totals| totals.matches).sum(),
            files: totals.iter().map(|totals| totals.files).sum(),
            bytes: totals.iter().fold(0u64, |sum, totals| sum.saturating_add(totals.frees)),
            oldest_ns: totals.iter().filter_map(|totals| totals.oldest_ns).min(),
        });
    }
    rules
}

/// Returns whether a guard refused a rule on every target.
fn is_refused(rule: usize, found: &[Found]) -> bool {
    found.iter().all(|found| found.preview.refused.iter().any(|refused| refused.rule == rule))
}

fn matches<'a>(book: &'a RuleBook, found: &[Found], rule: Option<usize>) -> Vec<JsonMatch<'a>> {
    let mut all = Vec::new();
    for found in found {
        all.extend(found.matches_of(rule).map(|one| JsonMatch {
            path: JsonPath::owned(&found.target.shown_path(&one.path)),
            rule: &book.rules[one.rule as usize].id,
            kind: kind_word(one),
            files: one.files,
            bytes: one.frees,
        }));
    }
    all
}

fn kind_word(found: &Match) -> &'static str {
    match found.stat.kind {
        Kind::Dir => "directory",
        Kind::Symlink => "symlink",
        _ => "file",
    }
}

fn bindings(found: &Found) -> impl Iterator<Item = JsonBinding> {
    found.bindings.bound.iter().map(|binding| JsonBinding {
        variable: binding.variable.word(),
        path: JsonPath::owned(&found.target.shown_path(&binding.path)),
    })
}

impl<'a> JsonTarget<'a> {
    fn new(found: &'a Found) -> JsonTarget<'a> {
        let Found { target, bindings, .. } = found;
        let system = |system: &'a System| JsonSystem {
            path: JsonPath::owned(&target.shown_path(&system.path)),
            name: &system.name,
            live: system.is_live,
        };
        JsonTarget {
            path: JsonPath::new(&target.given),
            systems: bindings.systems.iter().map(system).collect(),
            profiles: bindings.profiles.len(),
            remarks: &bindings.remarks,
        }
    }
}

impl<'a> JsonRefused<'a> {
    fn new(book: &'a RuleBook, refused: &'a Refused) -> JsonRefused<'a> {
        let Refused { rule, guard, ref reason } = *refused;
        JsonRefused { id: &book.rules[rule].id, guard: guard as u8, reason }
    }
}

impl<'a> JsonOff<'a> {
    fn new(rule: &'a Rule) -> JsonOff<'a> {
        JsonOff { id: &rule.id, risk: rule.risk.word() }
    }
}

/// The output of `--stats`.
#[derive(Serialize)]
pub(super) struct Figures {
    dirs_listed: u64,
    names_seen: u64,
    seconds: f64,
    threads: usize,
    peak_memory_bytes: u64,
    spilled_bytes: u64,
    devices: Vec<Device>,
}

impl Figures {
    pub(super) fn new(found: &[Found], resources: &Resources, took: Duration) -> Figures {
        Figures {
            dirs_listed: found.iter().map(|found| found.preview.dirs_listed).sum(),
            names_seen: found.iter().map(|found| found.preview.names_seen).sum(),
            seconds: (took.as_secs_f64() * 1e6).round() / 1e6,
            threads: resources.threads.first,
            peak_memory_bytes: peak_memory_bytes(),
            spilled_bytes: runtime::memory::spilled().most,
            devices: resources.disks.profiles().into_iter().map(Device::from).collect(),
        }
    }
}
