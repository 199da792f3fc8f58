//! `lop purge --instant` and `--resume`: trees that were moved out of the way, and the process that removes
//! them.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use action::{Begun, Discard, Left, Missing, Refusal, Taken, Tree};
use catalog::Catalog;
use clap::ValueEnum;
use purge::{Deed, Guard, Options, Outcome, Problem, Reason, Target};
use runtime::{Interrupted, Progress};
use serde::Serialize;

use super::totals::{Figures, Totals, conclude};
use super::{guard, options};
use crate::args::PurgeArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::formats::document;
use crate::output::problems;
use crate::output::stdout;
use crate::quantity::{count, counted};
use crate::settings::Patterns;
use crate::settings::{Settings, Verbosity};

/// What the process in the background says when it is on its own.
const READY: &str = "ready";

/// How often the journal is told how far a removal is.
const TOLD_EVERY: Duration = Duration::from_secs(4);

/// Moves `targets` out of the way, and starts the process that removes them.
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
    let begun = Discard::begin(&Catalog::runs(&catalog), &trees);
    let Begun { discard, moved, refused, ended } =
        begun.map_err(|e| advised(e, "nothing was moved"))?;
    let (run, failed) = (discard.run(), (missing.len() + refused.len()) as u64);
    problems::print(&missing, settings);
    problems::print(&refused, settings);
    let is_over = if moved == 0 {
        discard.end().map_err(explained)?
    } else {
        // The other process is to have it.
        drop(discard);
        false
    };
    let process = if is_over { None } else { start(run, &catalog, args) };
    if moved > 0 && process.is_none() {
        let text = "cannot start a process in the background; 'lop purge --resume' goes on";
        settings.complain(text.as_bytes());
    }
    let summary = Moved { run: (moved > 0).then_some(run), paths: moved, failed, process };
    if settings.json {
        stdout::print_summary(&summary)?;
    } else if settings.verbosity != Verbosity::Quiet {
        settings.note(&summary.text());
    }
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

/// What `--instant` came to.
#[derive(Serialize)]
struct Moved {
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<u64>,
    paths: u64,
    failed: u64,
    /// The process in the background.
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
}

impl Moved {
    fn text(&self) -> String {
        let moved = counted(self.paths, "path", "paths");
        let mut text = match (self.run, self.process) {
            (Some(run), Some(process)) => {
                format!(
                    "run {run}: {moved} moved out of the way; process {process} removes what was there"
                )
            }
            (Some(run), None) => {
                format!("run {run}: {moved} moved out of the way, and still there")
            }
            (None, _) => "nothing was moved".into(),
        };
        if self.failed > 0 {
            text.push_str(&format!(", {} could not be moved", count(self.failed)));
        }
        text
    }
}

/// Starts the process that removes what a run moved; returns its number when it is at it.
fn start(run: u64, catalog: &Path, args: &PurgeArgs) -> Option<u32> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("lop").arg("--catalog").arg(catalog);
    command.args(["purge", "--background", &run.to_string()]);
    if let Some(rate) = args.rate {
        command.args(["--rate", &rate.to_string()]);
    }
    if let Some(threads) = args.threads {
        command.args(["--threads", &threads.to_string()]);
    }
    if let Some(io) = args.io.to_possible_value() {
        command.args(["--io", io.get_name()]);
    }
    // The idle class goes on to it, and nothing that is open here: no file system is kept busy by it but those
    // of the trees, and no lock is kept that somebody holds around this command.
    runtime::close_descriptors_on_exec();
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().ok()?;
    let mut said = String::new();
    let heard = BufReader::new(child.stdout.take()?).read_line(&mut said);
    (heard.is_ok() && said.trim_end() == READY).then(|| child.id())
}

/// Is the process in the background: leaves the terminal and removes what a run moved.
pub(super) fn run(run: u64, args: &PurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    rustix::process::setsid()
        .map_err(|e| CommandError::failed("cannot leave the terminal").because(e))?;
    let taken = Discard::take(&Catalog::runs(&settings.catalog()?), run).map_err(explained)?;
    stdout::print(|out| writeln!(out, "{READY}"))?;
    // Somebody else may be at it already, or done with it.
    let Taken::Ours(discard) = taken else { return Ok(Exit::Done) };
    let (options, progress) = (removal(args, settings), Arc::new(Progress::default()));
    let monitor = Monitor::begin(&progress, settings)?;
    let Removed { outcome, refused, unmoved, ended } =
        remove(*discard, &options, settings, &progress)?;
    ended.and(monitor.finish())?;
    let all_gone = outcome.failed == 0 && refused.is_empty() && unmoved == 0;
    Ok(if all_gone { Exit::Done } else { Exit::Partial })
}

/// Goes on with every run that no process is at.
pub(super) fn resume(args: &PurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let folder = Catalog::runs(&settings.catalog()?);
    let runs = Discard::unfinished(&folder).map_err(explained)?;
    let (options, progress) = (removal(args, settings), Arc::new(Progress::default()));
    let (start, monitor) = (Instant::now(), Monitor::begin(&progress, settings)?);
    let (mut outcome, mut unknown, mut ended, mut any) = (Outcome::default(), 0, Ok(()), false);
    let mut to_user = 0;
    for run in runs {
        let discard = match Discard::take(&folder, run) {
            Ok(Taken::Ours(discard)) => discard,
            Ok(Taken::Over) => continue,
            Ok(Taken::Busy(process)) => {
                let process =
                    process.map_or("another process".into(), |id| format!("process {id}"));
                settings.complain(format!("run {run}: {process} is at it").as_bytes());
                any = true;
                continue;
            }
            Err(error) => {
                // The others are none the worse for it.
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
    Options { deed: Deed::Remove, ..options(args, &all, &guard(settings)) }
}

/// The result of removing a run's trees.
struct Removed {
    outcome: Outcome,
    /// Trees of which nothing can be told.
    refused: Vec<Refusal>,
    /// Trees that are where they were.
    unmoved: u64,
    ended: Result<(), Interrupted>,
}

/// Removes what is left of a run, and notes what came of it.
fn remove(
    discard: Discard,
    options: &Options,
    settings: &Settings,
    progress: &Progress,
) -> Result<Removed, CommandError> {
    let missing = discard.settle().map_err(explained)?;
    for missing in &missing {
        settings.complain(&told(missing));
    }
    let unmoved = missing.iter().filter(|missing| missing.is_at_path).count() as u64;
    let (left, refused) = discard.left().map_err(explained)?;
    let guard = guard(settings);
    let (mut outcome, ended) =
        telling(&discard, progress, || remove_trees(&discard, left, &guard, options, progress));
    let failed = outcome.failed + refused.len() as u64;
    let noted = discard.note(outcome.files + outcome.dirs, Some(failed));
    // Stopped or not: it may be all gone.
    if let Err(error) = noted.and_then(|()| discard.end()) {
        // What was removed is told all the same.
        settings.report(&explained(error));
        outcome.failed += 1;
    }
    Ok(Removed { outcome, refused, unmoved, ended })
}

/// Returns what is said of a tree that is not in its store.
fn told(missing: &Missing) -> Vec<u8> {
    let Missing { path, store, is_at_path } = missing;
    if *is_at_path {
        [path, &b": is where it was and was not moved; purge it again"[..]].concat()
    } else {
        [path, &b": nothing is left of it; "[..], store, b" is gone"].concat()
    }
}

/// Does work, and notes in the journal every few seconds how far it is.
fn telling<T>(discard: &Discard, progress: &Progress, work: impl FnOnce() -> T) -> T {
    let before = progress.removed_done.load(Relaxed);
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let tell = move || {
            while is_done.recv_timeout(TOLD_EVERY) == Err(RecvTimeoutError::Timeout) {
                // What cannot be noted now is noted with what comes next.
                let _noted = discard.note(progress.removed_done.load(Relaxed) - before, None);
            }
        };
        // Where no thread can be started it is told at the end.
        let _unstarted = thread::Builder::new().spawn_scoped(scope, tell);
        let result = work();
        drop(done);
        result
    })
}

fn remove_trees(
    discard: &Discard,
    left: Vec<Left>,
    guard: &Guard,
    options: &Options,
    progress: &Progress,
) -> (Outcome, Result<(), Interrupted>) {
    let (mut outcome, mut ended) = (Outcome::default(), Ok(()));
    for tree in left {
        let parent = tree.dir.open_below_within(b".").map_err(purge::Refusal::Failed);
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

/// Gives a tree back of which nothing is left but files in quarantine: these are not removed, and can be
/// brought back only from where they were.
fn return_stores(discard: &Discard, tree: &Left, outcome: &mut Outcome) {
    let Outcome { ref problems, failed, .. } = *outcome;
    let all_are_stores = failed > 0
        && failed == problems.len() as u64
        && problems.iter().all(|problem| matches!(problem.reason, Reason::Store));
    // If its name is taken meanwhile it stays, and known.
    if all_are_stores && discard.give_back(tree).is_ok() {
        for problem in &mut outcome.problems {
            problem.path = [&tree.path, &problem.path[tree.at.len()..]].concat();
        }
    }
}

/// Returns an error of the journal with advice for this command.
fn explained(error: action::Error) -> CommandError {
    advised(error, "what was moved is in the journal; 'lop purge --resume' removes it")
}

fn advised(error: action::Error, hint: &str) -> CommandError {
    match error {
        action::Error::File(error) => CommandError::from(error).hint(hint),
        other => other.into(),
    }
}
