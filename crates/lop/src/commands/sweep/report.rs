//! The preview as a table for people.
//!
//! Names and IDs come from foreign disks and files, so the table always shows them escaped.

use std::collections::HashMap;
use std::io::{self, Write};

use sweep::bindings::Bindings;
use sweep::guard::{Guard, Refused};
use sweep::preview::{Match, RuleTotals};

use super::engine::Found;
use super::places;
use super::rule_book::RuleBook;
use crate::output::names::Names;
use crate::quantity::{count, counted, local_month, size};
use crate::settings::{Settings, Verbosity};

/// Maximum number of lines about refused rules, unless `-v` is given.
const MAX_REFUSED: usize = 20;

/// Maximum number of rules that the table lists as off, unless `-v` is given.
const MAX_OFF: usize = 6;

/// The width of notes, in columns.
const MAX_WIDTH: usize = 80;

/// Maximum width of the column with the IDs. Longer IDs shift the rest of their line.
const MAX_ID_WIDTH: usize = 40;

/// Writes the preview: a heading and the rules of each target, then the rules that take nothing.
pub(super) fn write(
    out: &mut impl Write,
    book: &RuleBook,
    found: &[Found],
    settings: &Settings,
) -> io::Result<()> {
    for (at, found) in found.iter().enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        write_target(out, book, found, settings)?;
    }
    write_refused(out, book, &book.refused, settings)?;
    write_off(out, book, found, settings)?;
    write_dropped(out, book)
}

fn write_target(
    out: &mut impl Write,
    book: &RuleBook,
    found: &Found,
    settings: &Settings,
) -> io::Result<()> {
    settings.stdout.write_heading(out, &heading(book, found))?;
    let mut by_rule: HashMap<u32, Vec<&Match>> = HashMap::new();
    for found in &found.preview.matches {
        by_rule.entry(found.rule).or_default().push(found);
    }
    let mut rows: Vec<(usize, &RuleTotals)> = found.preview.rules.iter().enumerate().collect();
    rows.retain(|(_, totals)| totals.matches > 0);
    rows.sort_by_key(|&(at, totals)| (std::cmp::Reverse(totals.frees), &book.rules[at].id));
    let ids = rows.iter().map(|&(at, _)| shown(&book.rules[at].id).chars().count());
    let width = ids.max().unwrap_or(0).clamp("rule".len(), MAX_ID_WIDTH);
    let files = rows.iter().map(|(_, totals)| count(totals.files).len());
    let files_width = files.max().unwrap_or(0).max("files".len());
    if !rows.is_empty() {
        let (risk, rule) = ("risk", "rule");
        writeln!(
            out,
            "  {risk:<11}  {rule:<width$}  {:>files_width$}  {:>9}  oldest   where",
            "files", "frees"
        )?;
    }
    for (at, totals) in rows {
        let rule = &book.rules[at];
        let matches = by_rule.get(&walk::to_u32(at)).map_or(&[][..], Vec::as_slice);
        writeln!(
            out,
            "  {:<11}  {:<width$}  {:>files_width$}  {:>9}  {:<7}  {}",
            rule.risk.word(),
            shown(&rule.id),
            count(totals.files),
            size(totals.frees),
            totals.oldest_ns.map_or("-".into(), |ns| local_month(ns / 1_000_000)),
            places::of(matches.iter().copied(), &found.bindings)
        )?;
    }
    write_refused(out, book, &found.preview.refused, settings)
}

/// Returns the heading of a target: its systems, and the number of rules.
fn heading(book: &RuleBook, found: &Found) -> String {
    let target = shown_bytes(&found.target.given);
    let here = found.preview.rules.iter().filter(|totals| totals.is_here).count() as u64;
    let matching = found.preview.rules.iter().filter(|totals| totals.matches > 0).count() as u64;
    let active = book.active.iter().filter(|active| **active).count() as u64;
    let refused = (book.refused.len() + found.preview.refused.len()) as u64;
    let mut text = format!("{target}  {}", systems(&found.bindings));
    let profiles = found.bindings.profiles.len() as u64;
    text.push_str("\n  ");
    if profiles > 0 {
        text.push_str(&format!("{}, ", counted(profiles, "profile", "profiles")));
    }
    text.push_str(&format!("rules: {} active, {} match", count(here), count(matching)));
    for (number, what) in [(refused, "refused"), (active.saturating_sub(here), "not here")] {
        if number > 0 {
            text.push_str(&format!(", {} {what}", count(number)));
        }
    }
    text
}

/// Returns the operating systems of a target, such as `Windows 10 (+ Windows.old: Windows 7)`.
fn systems(bindings: &Bindings) -> String {
    let Some((first, others)) = bindings.systems.split_first() else {
        return "no operating system".into();
    };
    let mut text = shown(&first.name);
    if first.is_live {
        text.push_str(", running");
    }
    let other = |system: &sweep::bindings::System| {
        format!("{}: {}", shown_bytes(&system.path), shown(&system.name))
    };
    if !others.is_empty() {
        let others: Vec<String> = others.iter().map(other).collect();
        text.push_str(&format!(" (+ {})", others.join(", ")));
    }
    text
}

fn write_refused(
    out: &mut impl Write,
    book: &RuleBook,
    refused: &[Refused],
    settings: &Settings,
) -> io::Result<()> {
    let is_verbose = settings.verbosity == Verbosity::Verbose;
    let most = if is_verbose { refused.len() } else { MAX_REFUSED };
    for refused in refused.iter().take(most) {
        write_note(out, "refused", &refusal(book, refused))?;
    }
    if refused.len() > most {
        let rest = count((refused.len() - most) as u64);
        write_note(out, "refused", &format!("… and {rest} more (-v shows them)"))?;
    }
    Ok(())
}

/// Writes a line about rules that take nothing. A line that is wider than a terminal continues below
/// its own text.
fn write_note(out: &mut impl Write, what: &str, text: &str) -> io::Result<()> {
    let mut line = format!("  {what:<11} ");
    let indent = line.len();
    for (at, word) in text.split(' ').enumerate() {
        let is_full = line.chars().count() + 1 + word.chars().count() > MAX_WIDTH;
        if at > 0 && is_full && line.len() > indent {
            writeln!(out, "{line}")?;
            line = " ".repeat(indent);
        }
        line.push(' ');
        line.push_str(word);
    }
    writeln!(out, "{line}")
}

/// Returns the ID of a refused rule, why it was refused, and what lifts the refusal.
fn refusal(book: &RuleBook, refused: &Refused) -> String {
    format!("{}  {}", shown(&book.rules[refused.rule].id), objection(book, refused))
}

/// Returns why a rule was refused, and what lifts the refusal.
pub(super) fn objection(book: &RuleBook, refused: &Refused) -> String {
    let Refused { rule, guard, reason } = refused;
    let lifted = match guard {
        Guard::Protected | Guard::Budget => {
            format!("; --allow {} lifts it", shown(&book.rules[*rule].id))
        }
        Guard::Syntax | Guard::Narrow | Guard::RuleFile => String::new(),
    };
    format!("{} ({guard}{lifted})", shown(reason))
}

/// Writes the rules that could take something, but are not active because of their risk.
fn write_off(
    out: &mut impl Write,
    book: &RuleBook,
    found: &[Found],
    settings: &Settings,
) -> io::Result<()> {
    let rules = book.off.iter().map(|&at| &book.rules[at]);
    let rules = rules.filter(|rule| found.iter().any(|found| found.can_match(rule)));
    let ids: Vec<String> =
        rules.map(|rule| format!("{} ({})", shown(&rule.id), rule.risk)).collect();
    let is_verbose = settings.verbosity == Verbosity::Verbose;
    let most = if is_verbose { ids.len() } else { MAX_OFF.min(ids.len()) };
    if ids.is_empty() {
        return Ok(());
    }
    let mut text = ids[..most].join(", ");
    if ids.len() > most {
        text.push_str(&format!(", … and {} more (-v shows them)", ids.len() - most));
    }
    write_note(out, "off", &format!("--allow ID turns these rules on: {text}"))
}

fn write_dropped(out: &mut impl Write, book: &RuleBook) -> io::Result<()> {
    if book.dropped.is_empty() {
        return Ok(());
    }
    let reasons = book.dropped_by_reason();
    let reasons: Vec<String> = reasons
        .iter()
        .map(|(why, number)| format!("{} {}", count(*number), why.replace('_', " ")))
        .collect();
    let entries = counted(book.dropped.len() as u64, "entry", "entries");
    let text = format!("{entries} of the rule files: {} (-v lists them)", reasons.join(", "));
    write_note(out, "dropped", &text)
}

/// Prints each dropped entry to standard error, if `-v` is given.
pub(super) fn list_dropped(book: &RuleBook, settings: &Settings) {
    if settings.verbosity == Verbosity::Verbose {
        for entry in &book.dropped {
            let text =
                format!("{}:{}: dropped: {} {}", entry.file, entry.line, entry.name, entry.why);
            settings.complain(text.as_bytes());
        }
    }
}

/// Returns a text from a rule file or a disk in a form that cannot disturb a terminal.
pub(super) fn shown(text: &str) -> String {
    shown_bytes(text.as_bytes())
}

/// Returns a name in a form that cannot disturb a terminal.
pub(super) fn shown_bytes(name: &[u8]) -> String {
    String::from_utf8_lossy(&Names::Escaped.show(name)).into_owned()
}
