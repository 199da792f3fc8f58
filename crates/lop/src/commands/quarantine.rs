//! `lop quarantine`: lists, restores or removes files that were moved to quarantine.

use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::time::SystemTime;

use action::quarantine::{Quarantine, QuarantinedFile};
use action::run::Runs;
use catalog::Catalog;
use runtime::Progress;
use serde::Serialize;

use crate::acting::catalog_update;
use crate::acting::conclusion::{self, Conclusion};
use crate::args::{
    QuarantineArgs, QuarantineCommand, QuarantineDirArgs, QuarantinePurgeArgs,
    QuarantineRestoreArgs,
};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::formats::{JsonPath, document};
use crate::output::stdout;
use crate::paths::journal::journal_paths;
use crate::quantity::{count, counted, local_time, size};
use crate::settings::{Settings, Verbosity};

/// Runs the command.
pub(crate) fn run(args: &QuarantineArgs, settings: &Settings) -> Result<Exit, CommandError> {
    match &args.command {
        QuarantineCommand::List(args) => list(&args.at, settings),
        QuarantineCommand::Restore(args) => restore(args, settings),
        QuarantineCommand::Purge(args) => purge(args, settings),
    }
}

/// Opens the quarantines in the directory of `--dir`, if it is given.
fn open_quarantines(
    args: &QuarantineDirArgs,
    unreadable: impl FnMut(action::Error),
) -> Result<Option<Quarantine>, CommandError> {
    let Some(dir) = &args.dir else { return Ok(None) };
    let found = dir.canonicalize();
    let found = found.map_err(|e| CommandError::failed(dir.display().to_string()).because(e))?;
    Ok(Some(Quarantine::open(found.as_os_str().as_bytes(), unreadable)?))
}

fn list(args: &QuarantineDirArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let mut unreadable = 0;
    let mut skip = |error| {
        settings.report(&CommandError::from(error));
        unreadable += 1;
    };
    let files = match open_quarantines(args, &mut skip)? {
        Some(shelf) => shelf.list()?,
        None => Runs::quarantined(&Catalog::runs_dir(&settings.catalog()?), &mut skip)?,
    };
    let bytes = files.iter().fold(0u64, |sum, file| sum.saturating_add(file.allocated));
    let printed = stdout::print(|out| {
        if settings.json {
            let files = files.iter().map(Row::from).collect();
            return writeln!(out, "{}", document(&Document { files }));
        }
        for file in &files {
            write!(
                out,
                "{:>4}  {}  {:>10}  ",
                file.run,
                local_time(file.since_ms),
                size(file.size)
            )?;
            out.write_all(&settings.stdout.names.show_line(&file.path))?;
            writeln!(out)?;
        }
        Ok(())
    })?;
    if printed && !settings.json && settings.verbosity != Verbosity::Quiet {
        let files = counted(files.len() as u64, "file", "files");
        settings.note(&format!("{files} in quarantine, {}", size(bytes)));
    }
    Ok(conclusion::with_unreadable(Exit::Done, unreadable, settings))
}

fn restore(args: &QuarantineRestoreArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let paths = journal_paths(&args.paths)?;
    let mut unreadable = 0;
    let mut skip = |error| {
        settings.report(&CommandError::from(error));
        unreadable += 1;
    };
    let progress = Arc::new(Progress::default());
    let folder = Catalog::runs_dir(&settings.catalog()?);
    let (restored, ended, deeds) = if let Some(shelf) = open_quarantines(&args.at, &mut skip)? {
        let monitor = Monitor::begin(&progress, settings)?;
        let (restored, ended) = shelf.restore(&paths, &progress)?;
        let deeds = shelf.restored_actions(&restored);
        (restored, ended.and(monitor.finish().map_err(Into::into)), Ok(deeds))
    } else {
        // Signals are not caught yet: Ctrl-C must end the wait for another process at once.
        let runs = conclusion::open_runs(&folder, settings)?;
        let monitor = Monitor::begin(&progress, settings)?;
        let (restored, ended) = runs.restore(&paths, &progress, &mut skip)?;
        let deeds = Runs::restored_actions(&folder, &restored);
        (restored, ended.and(monitor.finish().map_err(Into::into)), deeds)
    };
    for path in &restored.unmatched {
        settings.complain(&[path, &b": nothing in quarantine comes from there"[..]].concat());
        unreadable += 1;
    }
    let failed = restored.refused.len() as u64;
    let summary = Restored { restored: restored.done, failed };
    let conclusion =
        Conclusion { summary: &summary, text: summary.text(), refused: &restored.refused };
    let update =
        || catalog_update::follow(deeds?.into_iter().flatten(), &restored.statuses, settings);
    let exit = conclusion.report(ended, update, settings)?;
    if exit == Exit::Done && unreadable > 0 {
        settings.print_exit_record(Exit::Partial, &summary.text());
        return Ok(Exit::Partial);
    }
    Ok(exit)
}

#[derive(Serialize)]
struct Restored {
    restored: u64,
    failed: u64,
}

impl Restored {
    fn text(&self) -> String {
        let mut text = counted(self.restored, "file restored", "files restored");
        if self.failed > 0 {
            text.push_str(&format!(", {} could not be", count(self.failed)));
        }
        text
    }
}

fn purge(args: &QuarantinePurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let before = SystemTime::now().checked_sub(args.older_than);
    let since = before.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
    let before_ms = since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX));
    let before_ms = before_ms.saturating_add(1);
    let mut unreadable = 0;
    let mut skip = |error| {
        settings.report(&CommandError::from(error));
        unreadable += 1;
    };
    let progress = Arc::new(Progress::default());
    let (purged, ended, monitor) = if let Some(shelf) = open_quarantines(&args.at, &mut skip)? {
        let monitor = Monitor::begin(&progress, settings)?;
        let (purged, ended) = shelf.purge(before_ms, &progress)?;
        (purged, ended, monitor)
    } else {
        // Signals are not caught yet: Ctrl-C must end the wait for another process at once.
        let runs = conclusion::open_runs(&Catalog::runs_dir(&settings.catalog()?), settings)?;
        let monitor = Monitor::begin(&progress, settings)?;
        let (purged, ended) = runs.purge(before_ms, &progress, &mut skip)?;
        (purged, ended, monitor)
    };
    let ended = ended.and(monitor.finish().map_err(Into::into));
    let summary = Summary {
        purged: purged.done,
        freed_bytes: purged.freed,
        failed: purged.refused.len() as u64,
    };
    let refused = &purged.refused;
    let conclusion = Conclusion { summary: &summary, text: summary.text(), refused };
    let exit = conclusion.report(ended, || Ok(()), settings)?;
    Ok(conclusion::with_unreadable(exit, unreadable, settings))
}

#[derive(Serialize)]
struct Summary {
    purged: u64,
    freed_bytes: u64,
    failed: u64,
}

impl Summary {
    fn text(&self) -> String {
        let files = counted(self.purged, "file", "files");
        let mut text = format!("{files} removed from quarantine, {} freed", size(self.freed_bytes));
        if self.failed > 0 {
            text.push_str(&format!(", {} stay", count(self.failed)));
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
    at: JsonPath<'a>,
}

impl<'a> From<&'a QuarantinedFile> for Row<'a> {
    fn from(file: &'a QuarantinedFile) -> Row<'a> {
        Row {
            run: file.run,
            since_ms: file.since_ms,
            size: file.size,
            path: JsonPath::new(&file.path),
            at: JsonPath::new(&file.at),
        }
    }
}
