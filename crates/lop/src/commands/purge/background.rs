//! `lop purge --instant` and `--resume`: moves trees out of the way, and removes them in a background process.

use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU64;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use action::Refusal;
use action::trash::{Claim, MissingTree, Started, TrashRun, TrashedTree, Tree};
use catalog::Catalog;
use clap::ValueEnum;
use purge::{Guard, Operation, Options, Outcome, Problem, Reason, Target};
use runtime::{Interrupted, Progress};
use serde::Serialize;

use super::totals::{Figures, Totals, conclude};
use super::{guard, options, rate};
use crate::args::PurgeArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::formats::document;
use crate::output::{problems, stdout};
use crate::quantity::{append_counts, counted};
use crate::settings::{Patterns, Settings, Verbosity};

/// Line that the background process prints once it no longer depends on its parent.
const READY: &str = "ready";

/// Interval at which the progress of a removal is written to the journal.
const RECORD_INTERVAL: Duration = Duration::from_secs(4);

/// Moves `targets` out of the way, and starts the process that removes them.
///
/// # Errors
///
/// Fails if the journal cannot be written. Trees that were moved before the error are in the journal, and `lop purge
/// --resume` removes them.
pub(super) fn begin(
    targets: &[Target],
    mut missing: Vec<Problem>,
    args: &PurgeArgs,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let catalog = settings.catalog()?;
    let mut trees = Vec::new();
    for target in targets {
        match target.pinned() {
            Some(reason) => missing.push(Problem { path: target.given().to_vec(), reason }),
            None => trees.push(Tree { path: target.path().to_vec(), was: *target.stat() }),
        }
    }
    let begun = TrashRun::begin(&Catalog::runs_dir(&catalog), &trees);
    let Started { run: discard, moved, refused, ended } =
        begun.map_err(|e| advised(e, "nothing was moved"))?;
    let (run, failed) = (discard.run(), (missing.len() + refused.len()) as u64);
    problems::print(&missing, settings);
    problems::print(&refused, settings);
    let is_over = if moved == 0 {
        discard.finish().map_err(explained)?
    } else {
        // Unlocks the journal for the background process.
        drop(discard);
        false
    };
    let rate = rate(args, settings);
    let process = if is_over { None } else { start(run, &catalog, args, rate) };
    if moved > 0 && process.is_none() {
        let text = "cannot start a background process; continue with: lop purge --resume";
        settings.complain(text.as_bytes());
    }
    let summary = Moved { run: (moved > 0).then_some(run), paths: moved, failed, process };
    stdout::summarize(&summary, &summary.text(), settings)?;
    let all_done = failed == 0 && ended.is_ok() && (is_over || process.is_some());
    let exit = match moved {
        _ if all_done => Exit::Done,
        0 => Exit::Failed,
        _ => Exit::Partial,
    };
    ended.map_err(|e| explained(e).with_exit(exit))?;
    settings.print_exit_record(exit, &summary.text());
    Ok(exit)
}

/// The result of `--instant`.
#[derive(Serialize)]
struct Moved {
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<u64>,
    paths: u64,
    failed: u64,
    /// Process id of the background process.
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
}

impl Moved {
    fn text(&self) -> String {
        let moved = counted(self.paths, "path", "paths");
        let mut text = match (self.run, self.process) {
            (Some(run), Some(process)) => {
                format!(
                    "run {run}: {moved} moved out of the way; process {process} is removing them"
                )
            }
            (Some(run), None) => {
                format!("run {run}: {moved} moved out of the way, but not removed yet")
            }
            (None, _) => "nothing was moved".into(),
        };
        append_counts(&mut text, [(self.failed, "could not be moved")]);
        text
    }
}

/// Starts a process that removes the trees moved by a run. Returns the process ID once the process has started to work.
fn start(run: u64, catalog: &Path, args: &PurgeArgs, rate: Option<NonZeroU64>) -> Option<u32> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("lop").arg("--catalog").arg(catalog);
    command.args(["purge", "--background", &run.to_string()]);
    if let Some(rate) = rate {
        command.args(["--rate", &rate.to_string()]);
    }
    if let Some(threads) = args.storage.threads {
        command.args(["--threads", &threads.to_string()]);
    }
    if let Some(io) = args.storage.io.to_possible_value() {
        command.args(["--io", io.get_name()]);
    }
    // The process inherits the idle I/O class but no descriptors. An inherited descriptor could keep a file system
    // busy, or keep a lock of lop's parent process from being released.
    runtime::close_descriptors_on_exec();
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut line = String::new();
    let read = BufReader::new(child.stdout.take()?).read_line(&mut line);
    (read.is_ok() && line.trim_end() == READY).then(|| child.id())
}

/// The main function of the background process: detaches from the terminal and removes the trees that a run moved.
///
/// # Errors
///
/// Fails if the process cannot detach from the terminal, or if the journal cannot be read or written. Trees that were
/// not removed stay in the journal.
pub(super) fn run(run: u64, args: &PurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    rustix::process::setsid()
        .map_err(|e| CommandError::failed("cannot leave the terminal").because(e))?;
    let taken =
        TrashRun::claim(&Catalog::runs_dir(&settings.catalog()?), run).map_err(explained)?;
    stdout::print(|out| writeln!(out, "{READY}"))?;
    // Another process may be removing the trees, or may have removed them already.
    let Claim::Claimed(discard) = taken else { return Ok(Exit::Done) };
    let (options, progress) = (removal(args, settings), Arc::new(Progress::default()));
    let monitor = Monitor::begin(&progress, settings)?;
    let Removed { outcome, refused, unmoved, ended } =
        remove(*discard, &options, settings, &progress)?;
    ended.and(monitor.finish())?;
    let all_gone = outcome.failed == 0 && refused.is_empty() && unmoved == 0;
    Ok(if all_gone { Exit::Done } else { Exit::Partial })
}

/// Continues every unfinished run that no other process is working on.
///
/// # Errors
///
/// Fails if the list of runs cannot be read, or on an interrupt. Trees that were not removed stay in the journal.
pub(super) fn resume(args: &PurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let folder = Catalog::runs_dir(&settings.catalog()?);
    let runs = TrashRun::unfinished(&folder).map_err(explained)?;
    let (options, progress) = (removal(args, settings), Arc::new(Progress::default()));
    let (start, monitor) = (Instant::now(), Monitor::begin(&progress, settings)?);
    let (mut outcome, mut unknown, mut ended, mut any) = (Outcome::default(), 0, Ok(()), false);
    let mut to_user = 0;
    for run in runs {
        let discard = match TrashRun::claim(&folder, run) {
            Ok(Claim::Claimed(discard)) => discard,
            Ok(Claim::Over) => continue,
            Ok(Claim::Busy(process)) => {
                let process =
                    process.map_or("another process".into(), |id| format!("process {id}"));
                settings.complain(format!("run {run}: {process} is working on it").as_bytes());
                any = true;
                continue;
            }
            Err(error) => {
                // An error in one run does not affect the other runs.
                settings.report(&explained(error));
                unknown += 1;
                continue;
            }
        };
        any = true;
        let removed = remove(*discard, &options, settings, &progress)?;
        problems::print(&removed.refused, settings);
        outcome.add(removed.outcome);
        to_user += removed.unmoved + removed.refused.len() as u64;
        ended = removed.ended;
        if ended.is_err() {
            break;
        }
    }
    let ended = ended.and(monitor.finish());
    if !any && unknown == 0 && settings.verbosity != Verbosity::Quiet {
        settings.note("nothing to resume");
    }
    let mut totals = Totals::new(&outcome, false, Vec::new(), start.elapsed());
    totals.failed += unknown + to_user;
    totals.to_user = to_user;
    if args.stats {
        settings.note(&document(&Figures::new(&totals, &outcome, &options)));
    }
    totals.print_document(settings)?;
    conclude(&totals, &outcome, ended, settings)
}

fn removal(args: &PurgeArgs, settings: &Settings) -> Options {
    let all = Patterns::default();
    Options { operation: Operation::Remove, ..options(args, &all, &guard(settings), settings) }
}

/// The result of removing a run's trees.
struct Removed {
    outcome: Outcome,
    /// Trees whose state could not be determined.
    refused: Vec<Refusal>,
    /// Trees that were not moved.
    unmoved: u64,
    ended: Result<(), Interrupted>,
}

/// Removes the remaining trees of a run, and records the result.
fn remove(
    discard: TrashRun,
    options: &Options,
    settings: &Settings,
    progress: &Progress,
) -> Result<Removed, CommandError> {
    let missing = discard.find_missing().map_err(explained)?;
    for missing in &missing {
        settings.complain(&missing_text(missing));
    }
    let unmoved = missing.iter().filter(|missing| missing.is_at_path).count() as u64;
    let (left, refused) = discard.remaining().map_err(explained)?;
    let guard = guard(settings);
    let (mut outcome, ended) = recording_progress(&discard, progress, || {
        remove_trees(&discard, left, &guard, options, progress)
    });
    let failed = outcome.failed + refused.len() as u64;
    let noted = discard.note_progress(outcome.files + outcome.dirs, Some(failed));
    // Even after an interrupt, all trees may have been removed, so `finish` is always called.
    if let Err(error) = noted.and_then(|()| discard.finish()) {
        // The error does not prevent the result of the removal from being reported.
        settings.report(&explained(error));
        outcome.failed += 1;
    }
    Ok(Removed { outcome, refused, unmoved, ended })
}

/// Returns the message about a tree that was not found in the trash.
fn missing_text(missing: &MissingTree) -> Vec<u8> {
    let MissingTree { path, store, is_at_path } = missing;
    if *is_at_path {
        [path, &b": was not moved and is still there; purge it again"[..]].concat()
    } else {
        [path, &b": nothing is left of it; "[..], store, b" is gone"].concat()
    }
}

/// Runs `work` and records its progress in the journal every few seconds.
fn recording_progress<T>(discard: &TrashRun, progress: &Progress, work: impl FnOnce() -> T) -> T {
    let before = progress.removed_done.load(Relaxed);
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let record = move || {
            while is_done.recv_timeout(RECORD_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                // If this fails, the next record includes the progress made so far.
                let _noted =
                    discard.note_progress(progress.removed_done.load(Relaxed) - before, None);
            }
        };
        // If the thread cannot be started, progress is recorded only at the end.
        let _unstarted = thread::Builder::new().spawn_scoped(scope, record);
        let result = work();
        drop(done);
        result
    })
}

fn remove_trees(
    discard: &TrashRun,
    left: Vec<TrashedTree>,
    guard: &Guard,
    options: &Options,
    progress: &Progress,
) -> (Outcome, Result<(), Interrupted>) {
    let (mut outcome, mut ended) = (Outcome::default(), Ok(()));
    for tree in left {
        let parent = tree.dir.open_below_same_mount(b".").map_err(purge::Refusal::Failed);
        let target = parent.and_then(|parent| guard.check_in(Arc::new(parent), &tree.at, &tree.at));
        let mut of_tree = Outcome::default();
        match target {
            Ok(target) => (of_tree, ended) = purge::purge(&[target], options, progress, None),
            Err(refusal) => {
                of_tree.failed = 1;
                of_tree.problems.push(Problem { path: tree.at.clone(), reason: refusal.into() });
            }
        }
        if ended.is_ok() {
            return_stores(discard, &tree, &mut of_tree);
        }
        outcome.add(of_tree);
        if ended.is_err() {
            break;
        }
    }
    (outcome, ended)
}

/// Moves a tree back to its original path if only files in quarantine are left in it. Files in quarantine are not
/// removed, and can be restored only if the tree is at its original path.
fn return_stores(discard: &TrashRun, tree: &TrashedTree, outcome: &mut Outcome) {
    let Outcome { ref problems, failed, .. } = *outcome;
    let all_are_stores = failed > 0
        && failed == problems.len() as u64
        && problems.iter().all(|problem| matches!(problem.reason, Reason::Store));
    // If the original path is in use again, the tree stays in the trash and in the journal.
    if all_are_stores && discard.move_back(tree).is_ok() {
        for problem in &mut outcome.problems {
            problem.path = [&tree.path, &problem.path[tree.at.len()..]].concat();
        }
    }
}

/// Adds a hint about `--resume` to a journal error.
fn explained(error: action::Error) -> CommandError {
    advised(
        error,
        "the trees that were moved are in the journal; 'lop purge --resume' removes them",
    )
}

fn advised(error: action::Error, hint: &str) -> CommandError {
    match error {
        action::Error::File(error) => CommandError::from(error).hint(hint),
        other => other.into(),
    }
}
