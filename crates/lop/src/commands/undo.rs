//! `lop undo`: restores the files that a run changed.

mod preview;

use std::cell::Cell;
use std::sync::Arc;

use action::run::Runs;
use action::undo::{NothingLeft, UndoOutcome};
use action::{Reason, Refusal};
use catalog::Catalog;
use runtime::Progress;
use serde::Serialize;

use crate::acting::catalog_update;
use crate::acting::conclusion::{self, conclude};
use crate::args::UndoArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::paths::journal::journal_paths;
use crate::quantity::{count, counted, files_and_dirs, local_time};
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &UndoArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let paths = journal_paths(&args.paths)?;
    if args.dry_run {
        return preview::show(args.run, &paths, settings);
    }
    // Signals are not caught yet, so Ctrl-C terminates lop while it waits for another process.
    let folder = Catalog::runs_dir(&settings.catalog()?);
    let runs = conclusion::open_runs(&folder, settings)?;
    let progress = Arc::new(Progress::default());
    let monitor = Monitor::begin(&progress, settings)?;
    let unreadable = Cell::new(0);
    let skip = conclusion::skip_unreadable(&unreadable, settings);
    let (run, undone, ended) = runs.undo(args.run, &paths, &progress, skip)?;
    let ended = ended.and(monitor.finish().map_err(Into::into));
    let of_others = |refusal: &&Refusal| matches!(refusal.reason, Reason::OwnerNotRestored);
    let other_owner = undone.refused.iter().filter(of_others).count() as u64;
    let failed = undone.refused.len() as u64 - other_owner;
    let UndoOutcome { done, trees, damaged, ref unmatched, .. } = undone;
    let summary = Summary {
        dry_run: false,
        run,
        restored: done,
        trees,
        other_owner,
        failed,
        damaged_lines: damaged,
    };
    let refused = &undone.refused;
    let text = match undone.nothing_left.filter(|_| paths.is_empty()) {
        Some(left) => nothing_left(run, left),
        None => summary.text(),
    };
    // Unlocks the journals, because a process that has locked the catalog may be waiting for them.
    drop(runs);
    let update = || {
        catalog_update::follow(
            Runs::undone_actions(&folder, run, &undone)?,
            &undone.statuses,
            settings,
        )
    };
    let exit = conclude(&summary, &text, refused, ended, update, settings)?;
    let ignored = complain(run, damaged, unmatched, settings) + unreadable.get();
    Ok(settings.partial_if(ignored > 0, exit, &text))
}

/// Returns the message that nothing is left to restore, with the reason.
fn nothing_left(run: u64, NothingLeft { undone, purged, undone_ms }: NothingLeft) -> String {
    let mut text = format!("Run {run}: nothing is left to restore");
    if undone > 0 {
        let when = undone_ms.map(|ms| format!(" at {}", local_time(ms)));
        text.push_str(&format!("; it was undone{}", when.unwrap_or_default()));
    }
    if purged > 0 {
        let files = counted(purged, "file was", "files were");
        text.push_str(&format!("; {files} removed from quarantine for good"));
    }
    text
}

/// Reports damaged lines of the journal and paths that match nothing, and returns their total number.
fn complain(run: u64, damaged: u64, unmatched: &[Vec<u8>], settings: &Settings) -> u64 {
    for path in unmatched {
        let why = format!(": run {run} has nothing to restore there");
        settings.complain(&[path, why.as_bytes()].concat());
    }
    if damaged > 0 {
        let lines = counted(damaged, "line of its journal is", "lines of its journal are");
        let text = format!("run {run}: {lines} damaged and ignored");
        settings.complain(text.as_bytes());
    }
    damaged + unmatched.len() as u64
}

#[derive(Serialize)]
struct Summary {
    dry_run: bool,
    run: u64,
    /// Files and directories that were restored.
    restored: u64,
    /// The directories among them, each with everything in it.
    #[serde(skip)]
    trees: u64,
    /// Restored files whose owner or group could not be restored.
    other_owner: u64,
    /// Files that could not be restored.
    failed: u64,
    /// Damaged lines of the journal.
    damaged_lines: u64,
}

impl Summary {
    fn text(&self) -> String {
        let failed = counted(self.failed, "file", "files");
        let restored = format!("{} restored", files_and_dirs(self.restored, self.trees));
        let mut text = match (self.restored, self.failed) {
            (_, 0) => format!("Run {} undone: {restored}", self.run),
            (0, _) => format!("Run {}: nothing restored, {failed} could not be", self.run),
            (..) => format!("Run {}: {restored}, {} could not be", self.run, count(self.failed)),
        };
        if self.other_owner > 0 {
            let them = count(self.other_owner);
            text.push_str(&format!(", {them} with another owner or group than before"));
        }
        text
    }
}
