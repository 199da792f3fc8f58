//! What a mirroring came to, as it is told.

use std::io::Error;
use std::time::Duration;

use mirror::{Change, Differs, Options, Outcome, Reason, Spared, What};
use serde::Serialize;

use crate::args::MirrorArgs;
use crate::devices::Device;
use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::formats::JsonPath;
use crate::names::Names;
use crate::patterns::Patterns;
use crate::quantity::{count, counted, duration, size};
use crate::refusals::SHOWN;
use crate::settings::{Settings, Verbosity};
use crate::stats::peak_memory_bytes;

/// What a run did, or would do.
#[derive(Serialize)]
pub(super) struct Account {
    dry_run: bool,
    names: u64,
    files_copied: u64,
    bytes_copied: u64,
    dirs_made: u64,
    others_made: u64,
    linked: u64,
    files_reused: u64,
    bytes_reused: u64,
    adjusted: u64,
    removed: u64,
    spared: u64,
    split: u64,
    vanished: u64,
    skipped: u64,
    failed: u64,
    /// Metadata that the destination does not keep.
    not_kept: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unmatched_patterns: Vec<String>,
    seconds: f64,
    #[serde(skip)]
    max_delete: Option<u64>,
    #[serde(skip)]
    changes: u64,
    #[serde(skip)]
    spared_why: Spared,
}

impl Account {
    pub(super) fn new(
        outcome: &Outcome,
        args: &MirrorArgs,
        patterns: &Patterns,
        took: Duration,
    ) -> Account {
        Account {
            dry_run: args.dry_run,
            names: outcome.names,
            files_copied: outcome.files,
            bytes_copied: outcome.bytes,
            dirs_made: outcome.dirs,
            others_made: outcome.others,
            linked: outcome.linked,
            files_reused: outcome.reused,
            bytes_reused: outcome.reused_bytes,
            adjusted: outcome.adjusted,
            removed: outcome.removed,
            spared: outcome.spared,
            split: outcome.split,
            vanished: outcome.vanished,
            skipped: outcome.skipped,
            failed: outcome.failed,
            not_kept: not_kept(outcome),
            unmatched_patterns: patterns.unmatched(),
            seconds: (took.as_secs_f64() * 1e3).round() / 1e3,
            max_delete: args.max_delete,
            changes: outcome.changes(),
            spared_why: outcome.spared_why,
        }
    }

    pub(super) fn text(&self) -> String {
        let copied = format!(
            "{} copied ({})",
            counted(self.files_copied, "file", "files"),
            size(self.bytes_copied)
        );
        let reused = format!(
            "{} made of content that was there ({})",
            counted(self.files_reused, "file", "files"),
            size(self.bytes_reused)
        );
        let parts = [
            (self.linked, "linked"),
            (
                self.dirs_made,
                if self.dirs_made == 1 { "directory made" } else { "directories made" },
            ),
            (
                self.others_made,
                if self.others_made == 1 {
                    "link or special file made"
                } else {
                    "links and special files made"
                },
            ),
            (self.adjusted, "given other metadata"),
            (self.removed, "removed"),
            (self.split, "copied again, as no more names could be linked"),
            (self.vanished, "gone before being copied"),
            (self.skipped, "left out, as they are the destination or what a run left"),
            (self.failed, "failed"),
        ];
        let mut text = if self.changes == 0 {
            "nothing to change".to_string()
        } else {
            let parts = parts[..5].iter().filter(|(number, _)| *number > 0);
            let parts = parts.map(|(number, what)| format!("{} {what}", count(*number)));
            let copied = Some(copied).filter(|_| self.files_copied > 0);
            let reused = Some(reused).filter(|_| self.files_reused > 0);
            let all: Vec<String> = copied.into_iter().chain(reused).chain(parts).collect();
            all.join(", ")
        };
        for (number, what) in &parts[5..] {
            if *number > 0 {
                text.push_str(&format!(", {} {what}", count(*number)));
            }
        }
        if !self.not_kept.is_empty() {
            let what = self.not_kept.join(" and no ");
            text.push_str(&format!("; the destination keeps no {what}"));
        }
        let took = duration(Duration::from_secs_f64(self.seconds));
        let names = counted(self.names, "name", "names");
        let would = if self.dry_run { "would be: " } else { "" };
        format!("{names} in {took}; {would}{text}")
    }

    /// Returns why something of the destination was not removed.
    fn spared(&self) -> Option<String> {
        let spared = (self.spared > 0).then(|| counted(self.spared, "name", "names"))?;
        let why = match self.spared_why {
            Spared::SourceFailed => "not all of the source could be read".to_string(),
            Spared::SourceEmpty => {
                "there is nothing in the source to mirror; --allow-empty-source removes them".into()
            }
            Spared::TooMany => {
                let most = self.max_delete.map_or_else(String::new, count);
                format!("they are more than {most} entries with what is in them (--max-delete)")
            }
            Spared::Declined => "the answer was no".into(),
        };
        let was = if self.spared == 1 { "was" } else { "were" };
        Some(format!("{spared} that the source does not have {was} not removed: {why}"))
    }
}

/// Returns what the destination does not keep of metadata.
fn not_kept(outcome: &Outcome) -> Vec<String> {
    let owners = outcome.no_owners.then(|| "owners".to_string());
    let modes = outcome.no_modes.then(|| "permissions".to_string());
    let before = outcome.first_time.map(|time| format!("times before {}", year(time)));
    let after = outcome.last_time.map(|time| format!("times after {}", year(time)));
    [owners, modes, before, after].into_iter().flatten().collect()
}

/// Returns the year that a moment is in, seconds since the epoch.
fn year(seconds: i64) -> i64 {
    /// Seconds of a year of the Gregorian calendar, on average.
    const YEAR: i64 = 31_556_952;
    1970 + seconds.div_euclid(YEAR)
}

/// What `--stats` prints.
#[derive(Serialize)]
pub(super) struct Figures<'a> {
    #[serde(flatten)]
    account: &'a Account,
    peak_memory_bytes: u64,
    spilled_bytes: u64,
    devices: Vec<Device>,
}

impl<'a> Figures<'a> {
    pub(super) fn new(account: &'a Account, options: &Options) -> Figures<'a> {
        Figures {
            account,
            peak_memory_bytes: peak_memory_bytes(),
            spilled_bytes: fsops::memory::spilled().most,
            devices: options.lanes.conclusions().into_iter().map(Device::from).collect(),
        }
    }
}

/// A change as an object of JSON.
#[derive(Serialize)]
pub(super) struct Line<'a> {
    what: &'static str,
    #[serde(flatten)]
    path: JsonPath<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<JsonPath<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differs: Vec<&'static str>,
}

impl<'a> Line<'a> {
    pub(super) fn of(change: &'a Change) -> Line<'a> {
        Line {
            what: word(change.what),
            path: JsonPath::new(&change.path),
            to: change.to.as_deref().map(JsonPath::new),
            differs: words(change.differs),
        }
    }
}

/// Returns a change as a line of text.
pub(super) fn line(change: &Change, names: Names) -> Vec<u8> {
    let shown = |path: &[u8]| {
        let path = if path.is_empty() { b"." } else { path };
        names.show_line(path).into_owned()
    };
    let mut line = format!("{:8} ", word(change.what)).into_bytes();
    line.extend_from_slice(&shown(&change.path));
    if let Some(to) = &change.to {
        line.extend_from_slice(b" => ");
        line.extend_from_slice(&shown(to));
    }
    let differs = words(change.differs);
    if !differs.is_empty() && change.what != What::Linked {
        line.extend_from_slice(format!(" ({})", differs.join(", ")).as_bytes());
    }
    line.push(b'\n');
    line
}

fn word(what: What) -> &'static str {
    match what {
        What::New => "new",
        What::Replaced => "replace",
        What::Linked => "link",
        What::Adjusted => "adjust",
        What::Removed => "remove",
        What::Reused => "reuse",
    }
}

fn words(differs: Differs) -> Vec<&'static str> {
    let Differs { kind, content, time, mode, owner, xattrs, links } = differs;
    let all = [
        (kind, "kind"),
        (content, "content"),
        (time, "time"),
        (mode, "mode"),
        (owner, "owner"),
        (xattrs, "attributes"),
        (links, "links"),
    ];
    all.into_iter().filter(|(differs, _)| *differs).map(|(_, word)| word).collect()
}

/// Says what came of it, and returns how the program ends.
pub(super) fn conclude(
    account: &Account,
    outcome: &Outcome,
    ended: Result<(), CommandError>,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    print(outcome, settings);
    if let Some(text) = account.spared() {
        settings.complain(text.as_bytes());
    }
    let text = account.text();
    if !settings.json && settings.verbosity != Verbosity::Quiet {
        settings.note(&text);
    }
    ended?;
    if account.failed == 0 && account.spared == 0 {
        return Ok(Exit::Done);
    }
    let exit = if account.spared > 0 && account.spared_why == Spared::SourceEmpty {
        Exit::Refused
    } else if account.changes == 0 && account.names <= account.failed {
        Exit::Failed
    } else {
        Exit::Partial
    };
    settings.print_exit_record(exit, &text);
    Ok(exit)
}

/// Returns why something could not be mirrored, for people.
pub(super) fn reason_text(reason: &Reason) -> String {
    let said = |verb, of, source: &Error| format!("cannot {verb} {of}: {}", io_text(source));
    match reason {
        Reason::Source { op, source } => said(op.verb(), "the source", source),
        Reason::Destination { op, source } => said(op.verb(), "the copy", source),
        other => other.to_string(),
    }
}

/// Prints what could not be mirrored as `lop: PATH: reason`.
fn print(outcome: &Outcome, settings: &Settings) {
    let all = settings.verbosity == Verbosity::Verbose;
    let problems = &outcome.problems;
    let shown = if all { problems.len() } else { SHOWN.min(problems.len()) };
    for problem in &problems[..shown] {
        let reason = reason_text(&problem.reason);
        let path = if problem.path.is_empty() { &b"."[..] } else { &problem.path };
        settings.complain(&[path, b": ", reason.as_bytes()].concat());
    }
    let rest = outcome.failed.saturating_sub(shown as u64);
    if rest > 0 {
        let hint = if all { "" } else { " (-v shows more)" };
        settings.complain(format!("… and {} more{hint}", count(rest)).as_bytes());
    }
}
