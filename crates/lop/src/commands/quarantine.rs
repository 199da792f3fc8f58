//! `lop quarantine`: files that were moved aside, and their removal for good.

use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

use action::{Quarantined, Runs};
use catalog::Catalog;
use fsops::Watch;
use serde::Serialize;

use crate::args::{QuarantineArgs, QuarantineCommand, QuarantinePurgeArgs};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::{JsonPath, to_json};
use crate::monitor::Monitor;
use crate::output;
use crate::quantity::{count, counted, size, utc};
use crate::refusals::{self, Conclusion};
use crate::settings::{Settings, Verbosity};

/// Runs the command.
pub(crate) fn run(args: &QuarantineArgs, settings: &Settings) -> Result<Exit, CommandError> {
    match &args.command {
        QuarantineCommand::List => list(settings),
        QuarantineCommand::Purge(args) => purge(args, settings),
    }
}

fn list(settings: &Settings) -> Result<Exit, CommandError> {
    let mut unreadable = 0;
    let files = Runs::quarantined(&Catalog::runs(&settings.catalog()?), |error| {
        CommandError::from(error).tell(settings);
        unreadable += 1;
    })?;
    let bytes = files.iter().fold(0u64, |sum, file| sum.saturating_add(file.allocated));
    let heard = output::print(|out| {
        if settings.json {
            let files = files.iter().map(Row::from).collect();
            return writeln!(out, "{}", to_json(&Document { files }));
        }
        for file in &files {
            write!(out, "{:>4}  {}  {:>10}  ", file.run, utc(file.since_ms), size(file.size))?;
            out.write_all(&settings.stdout.names.show_line(&file.path))?;
            writeln!(out)?;
        }
        Ok(())
    })?;
    if heard && !settings.json && settings.verbosity != Verbosity::Quiet {
        let files = counted(files.len() as u64, "file", "files");
        settings.note(&format!("{files} in quarantine, {}", size(bytes)));
    }
    Ok(refusals::with_unreadable(Exit::Done, unreadable, settings))
}

fn purge(args: &QuarantinePurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    // Before signals are caught: Ctrl-C ends the wait for another process at once.
    let runs = refusals::open_runs(&Catalog::runs(&settings.catalog()?), settings)?;
    let watch = Arc::new(Watch::default());
    let monitor = Monitor::begin(&watch, settings)?;
    let before = SystemTime::now().checked_sub(args.older_than);
    let since = before.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let before_ms = since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    let mut unreadable = 0;
    let (purged, ended) = runs.purge(before_ms.saturating_add(1), &watch, |error| {
        CommandError::from(error).tell(settings);
        unreadable += 1;
    })?;
    let ended = ended.and(monitor.finish().map_err(Into::into));
    let summary = Summary {
        purged: purged.done,
        freed_bytes: purged.freed,
        left: purged.refused.len() as u64,
    };
    let refused = &purged.refused;
    let conclusion = Conclusion { summary: &summary, text: summary.text(), refused };
    let exit = conclusion.say(ended, || Ok(()), settings)?;
    Ok(refusals::with_unreadable(exit, unreadable, settings))
}

#[derive(Serialize)]
struct Summary {
    purged: u64,
    freed_bytes: u64,
    left: u64,
}

impl Summary {
    fn text(&self) -> String {
        let files = counted(self.purged, "file", "files");
        let mut text = format!("{files} removed from quarantine, {} freed", size(self.freed_bytes));
        if self.left > 0 {
            text.push_str(&format!(", {} stay", count(self.left)));
        }
        text
    }
}

#[derive(Serialize)]
struct Document<'a> {
    files: Vec<Row<'a>>,
}

#[derive(Serialize)]
struct Row<'a> {
    run: u64,
    since_ms: i64,
    size: u64,
    #[serde(flatten)]
    path: JsonPath<'a>,
    at: String,
}

impl<'a> From<&'a Quarantined> for Row<'a> {
    fn from(file: &'a Quarantined) -> Row<'a> {
        Row {
            run: file.run,
            since_ms: file.since_ms,
            size: file.size,
            path: JsonPath::new(&file.path),
            at: String::from_utf8_lossy(&file.at).into_owned(),
        }
    }
}
