//! `lop quarantine`: lists, restores or removes files that were moved to quarantine.

mod trees;

use std::cell::Cell;
use std::io::Write;
use std::sync::Arc;
use std::time::SystemTime;

use action::quarantine::{Quarantine, QuarantinedFile, QuarantinedTree};
use action::run::Runs;
use catalog::Catalog;
use runtime::{Progress, epoch};
use serde::Serialize;

use self::trees::TreeRemover;
use crate::acting::catalog_update;
use crate::acting::conclusion::{self, conclude};
use crate::args::{
    QuarantineArgs, QuarantineCommand, QuarantineDirArgs, QuarantinePurgeArgs,
    QuarantineRestoreArgs,
};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::formats::{JsonPath, document_with};
use crate::output::stdout;
use crate::paths::journal::journal_paths;
use crate::paths::resolve;
use crate::quantity::{append_counts, counted, files_and_dirs, local_time, size};
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &QuarantineArgs, settings: &Settings) -> Result<Exit, CommandError> {
    match &args.command {
        QuarantineCommand::List(args) => list(args, settings),
        QuarantineCommand::Restore(args) => restore(args, settings),
        QuarantineCommand::Purge(args) => purge(args, settings),
    }
}

/// Opens the quarantines in the directory given with `--dir`. Returns `None` without this option.
fn open_quarantines(
    args: &QuarantineDirArgs,
    unreadable: impl FnMut(action::Error),
) -> Result<Option<Quarantine>, CommandError> {
    let Some(dir) = &args.dir else { return Ok(None) };
    Ok(Some(Quarantine::open(&resolve(dir)?, unreadable)?))
}

fn list(args: &QuarantineDirArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let unreadable = Cell::new(0);
    let skip = conclusion::skip_unreadable(&unreadable, settings);
    let files = match open_quarantines(args, &skip)? {
        Some(shelf) => shelf.list()?,
        None => Runs::quarantined(&Catalog::runs_dir(&settings.catalog()?), &skip)?,
    };
    let bytes = files.iter().fold(0u64, |sum, file| sum.saturating_add(file.allocated));
    let printed = stdout::print(|out| {
        if settings.json {
            let files: Vec<Row> = files.iter().map(Row::from).collect();
            return writeln!(out, "{}", document_with("files", &files));
        }
        for file in &files {
            let (since, size) = (local_time(file.since_ms), size(file.size));
            write!(out, "{:>4}  {since}  {size:>10}  ", file.run)?;
            out.write_all(&settings.stdout.names.show_line(&file.path))?;
            if let Some(files) = file.files {
                write!(out, "  ({})", counted(files, "file", "files"))?;
            }
            writeln!(out)?;
        }
        Ok(())
    })?;
    if printed {
        let files = files.iter().map(QuarantinedFile::file_count).sum();
        let files = counted(files, "file", "files");
        settings.summarize(format!("{files} in quarantine, {} on disk", size(bytes)).as_bytes());
    }
    Ok(conclusion::with_unreadable(Exit::Done, unreadable.get(), settings))
}

fn restore(args: &QuarantineRestoreArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let paths = journal_paths(&args.paths)?;
    let unreadable = Cell::new(0);
    let skip = conclusion::skip_unreadable(&unreadable, settings);
    let progress = Arc::new(Progress::default());
    let folder = Catalog::runs_dir(&settings.catalog()?);
    let (restored, ended, deeds) = if let Some(shelf) = open_quarantines(&args.at, &skip)? {
        let monitor = Monitor::begin(&progress, settings)?;
        let (restored, ended) = shelf.restore(&paths, &progress)?;
        let deeds = shelf.restored_actions(&restored);
        (restored, ended.and(monitor.finish().map_err(Into::into)), Ok(deeds))
    } else {
        // Signals are not caught yet, so Ctrl-C terminates lop while it waits for another process.
        let runs = conclusion::open_runs(&folder, settings)?;
        let monitor = Monitor::begin(&progress, settings)?;
        let (restored, ended) = runs.restore(&paths, &progress, &skip)?;
        let deeds = Runs::restored_actions(&folder, &restored);
        (restored, ended.and(monitor.finish().map_err(Into::into)), deeds)
    };
    for path in &restored.unmatched {
        settings.complain(&[path, &b": nothing in quarantine comes from there"[..]].concat());
    }
    let failed = restored.refused.len() as u64;
    let summary = RestoreSummary { restored: restored.done, trees: restored.trees, failed };
    let update =
        || catalog_update::follow(deeds?.into_iter().flatten(), &restored.statuses, settings);
    let refused = &restored.refused;
    let exit = conclude(&summary, &summary.text(), refused, ended, update, settings)?;
    let is_partial = unreadable.get() > 0 || !restored.unmatched.is_empty();
    Ok(settings.partial_if(is_partial, exit, &summary.text()))
}

#[derive(Serialize)]
struct RestoreSummary {
    restored: u64,
    #[serde(skip)]
    trees: u64,
    failed: u64,
}

impl RestoreSummary {
    fn text(&self) -> String {
        let mut text = format!("{} restored", files_and_dirs(self.restored, self.trees));
        append_counts(&mut text, [(self.failed, "could not be")]);
        text
    }
}

fn purge(args: &QuarantinePurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let before = SystemTime::now().checked_sub(args.older_than);
    let before_ms = before.map_or(0, epoch::ms).saturating_add(1);
    let unreadable = Cell::new(0);
    let skip = conclusion::skip_unreadable(&unreadable, settings);
    let progress = Arc::new(Progress::default());
    let trees = TreeRemover::new(settings, &progress);
    let mut remove_tree = |tree: &QuarantinedTree| trees.remove(tree);
    let (purged, ended, monitor) = if let Some(shelf) = open_quarantines(&args.at, &skip)? {
        let monitor = Monitor::begin(&progress, settings)?;
        let (purged, ended) = shelf.purge(before_ms, &progress, &mut remove_tree)?;
        (purged, ended, monitor)
    } else {
        // Signals are not caught yet, so Ctrl-C terminates lop while it waits for another process.
        let runs = conclusion::open_runs(&Catalog::runs_dir(&settings.catalog()?), settings)?;
        let monitor = Monitor::begin(&progress, settings)?;
        let (purged, ended) = runs.purge(before_ms, &progress, &mut remove_tree, &skip)?;
        (purged, ended, monitor)
    };
    let ended = ended.and(monitor.finish().map_err(Into::into));
    let summary = Summary {
        purged: purged.done,
        freed_bytes: purged.freed,
        failed: purged.refused.len() as u64,
    };
    let refused = &purged.refused;
    let exit = conclude(&summary, &summary.text(), refused, ended, || Ok(()), settings)?;
    Ok(conclusion::with_unreadable(exit, unreadable.get(), settings))
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
        append_counts(&mut text, [(self.failed, "stay")]);
        text
    }
}

#[derive(Serialize)]
struct Row<'a> {
    run: u64,
    since_ms: i64,
    size: u64,
    /// Number of files in a directory tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
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
            files: file.files,
            rule: file.rule.as_deref(),
            path: JsonPath::new(&file.path),
            at: JsonPath::new(&file.at),
        }
    }
}
