//! `lop purge`: removes directory trees permanently.

mod background;
mod estimate;
mod listing;
mod totals;

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Instant, SystemTime};

use device::Threads;
use purge::{Guard, Operation, Options, Outcome, Problem, Reason, Selection, Target, Tell};
use runtime::{Interrupted, Progress, Throttle, epoch};
use walk::TopDir;

use self::estimate::Estimate;
use self::listing::listed;
use self::totals::{Figures, Totals, conclude};
use crate::args::PurgeArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::formats::document;
use crate::paths::path_list;
use crate::prompt::confirm::can_ask;
use crate::protected::Protected;
use crate::quantity::counted;
use crate::settings::{Configured, Patterns, Resources, Settings, Verbosity};

/// The outcome of a removal, and whether the removal was interrupted.
type Ended = (Outcome, Result<(), Interrupted>);

/// Runs the command.
pub(crate) fn run(args: &PurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    if args.idle {
        runtime::set_idle_io_class()
            .map_err(|e| CommandError::failed("cannot set the idle I/O class").because(e))?;
    }
    if let Some(run) = args.background {
        return background::run(run, args, settings);
    }
    if args.resume {
        return background::resume(args, settings);
    }
    let paths = match &args.files_from {
        Some(list) => path_list::read(list, args.null)?,
        None => args.paths.clone(),
    };
    let (targets, guard, missing) = targets(&paths, settings)?;
    let patterns = Patterns::new(&args.include, &args.exclude, args.ignore_case)?;
    for path in paths.iter().filter(|_| !patterns.include.is_empty()) {
        patterns.below(&[TopDir::new(path)]).refuse_ambiguous("nothing was removed")?;
    }
    if let Some(Configured { value, place }) = configured_rate(args, settings) {
        let entries = counted(value.get(), "entry", "entries");
        settings.note_configured(&format!("removing at most {entries} per second"), place);
    }
    let options = options(args, &patterns, &guard, settings);
    let progress = Arc::new(Progress::default());
    let asks = !args.dry_run && can_ask(args.yes);
    let counts = settings.shows_progress() && !args.instant;
    if !args.dry_run && (asks || counts) {
        let estimate = Estimate::count(&targets, &options, settings)?;
        progress
            .removed_total
            .store(if estimate.is_complete { estimate.entries } else { 0 }, Relaxed);
        if asks && !estimate.is_confirmed(&paths, &patterns, settings)? {
            return Err(CommandError::new(Exit::Refused, "nothing was removed"));
        }
    }
    if args.instant {
        return background::begin(&targets, missing, args, settings);
    }
    remove(&targets, missing, options, &patterns, &progress, args, settings)
}

/// Removes the trees and reports the result. With `--dry-run`, only reports what would be removed. `missing` contains a
/// problem for each path that could not be examined.
fn remove(
    targets: &[Target],
    missing: Vec<Problem>,
    mut options: Options,
    patterns: &Patterns,
    progress: &Arc<Progress>,
    args: &PurgeArgs,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let is_verbose = settings.verbosity == Verbosity::Verbose;
    let lists = args.dry_run && (settings.json || is_verbose);
    options.operation = if args.dry_run { Operation::Weigh } else { Operation::Remove };
    if lists {
        // With a single thread, all names in a directory are listed together, followed by the directory itself.
        options.threads = Threads { first: 1, grows: false };
    }
    let start = Instant::now();
    let no_progress = settings.without_progress();
    let monitor = Monitor::begin(progress, if lists { &no_progress } else { settings })?;
    let work = |tell: Option<Tell<'_>>| {
        let (mut outcome, ended) = purge::purge(targets, &options, progress, tell);
        outcome.failed += missing.len() as u64;
        outcome.problems.extend(missing);
        (outcome, ended)
    };
    let totals = |(outcome, ended): &Ended| {
        let unmatched = if ended.is_ok() { patterns.unmatched() } else { Vec::new() };
        Totals::new(outcome, args.dry_run, unmatched, start.elapsed())
    };
    let ((outcome, ended), totals) = if lists {
        listed(progress, settings, |tell| work(Some(tell)), totals)?
    } else {
        let ended = work(None);
        let totals = totals(&ended);
        totals.print_document(settings)?;
        (ended, totals)
    };
    // A listing also stops if its pipe is closed. Because it removes nothing, only a signal counts as an interrupt.
    let ended = if lists { monitor.finish() } else { ended.and(monitor.finish()) };
    if args.stats {
        settings.note(&document(&Figures::new(&totals, &outcome, &options)));
    }
    if ended.is_ok() {
        patterns.report_unmatched(settings);
    }
    conclude(&totals, &outcome, ended, settings)
}

/// Checks all paths before anything is removed.
///
/// # Errors
///
/// Fails if one of the paths must not be removed.
fn targets(
    paths: &[PathBuf],
    settings: &Settings,
) -> Result<(Vec<Target>, Guard, Vec<Problem>), CommandError> {
    let (mut guard, protected) = (guard(settings), Protected::configured(settings)?);
    let (mut targets, mut missing, mut refused) = (Vec::new(), Vec::new(), 0);
    for path in paths {
        let given = path.as_os_str().as_encoded_bytes();
        match guard.check(path) {
            Ok(target) => match protected.objection(target.path()) {
                None => targets.push(target),
                Some(why) => {
                    refused += 1;
                    settings.complain(&[given, b": ", why.as_bytes()].concat());
                }
            },
            Err(purge::Refusal::Failed(source)) => {
                let reason = Reason::Failed { op: fsops::Op::Open, source };
                missing.push(Problem { path: given.to_vec(), reason });
            }
            Err(refusal) => {
                refused += 1;
                settings.complain(&[given, b": ", refusal.to_string().as_bytes()].concat());
            }
        }
    }
    if refused > 0 {
        let text = format!("{} refused; nothing was removed", counted(refused, "path", "paths"));
        return Err(CommandError::new(Exit::Refused, text));
    }
    Ok((targets, guard, missing))
}

pub(super) fn guard(settings: &Settings) -> Guard {
    let here = std::env::current_dir().ok();
    Guard::new(here.as_deref(), &settings.own_paths())
}

/// Returns options for an estimate. A caller that removes the trees has to change `operation`.
fn options(args: &PurgeArgs, patterns: &Patterns, guard: &Guard, settings: &Settings) -> Options {
    let now = SystemTime::now();
    let before_ns = args.older_than.map(|age| now.checked_sub(age).map_or(0, epoch::ns));
    let selection = Selection {
        include: patterns.include.clone(),
        exclude: patterns.exclude.clone(),
        before_ns,
        ..Selection::default()
    };
    let resources = Resources::of(&args.storage);
    Options {
        operation: Operation::Count,
        selection,
        keep_root: args.keep_root,
        adds_permissions: false,
        cross_mounts: args.cross_mounts,
        guarded: guard.keys(),
        threads: resources.threads,
        open_dirs: resources.tree_dirs(),
        disks: resources.disks,
        throttle: Arc::new(Throttle::new(rate(args, settings).filter(|_| !args.dry_run))),
    }
}

/// Returns the number of entries to remove per second, if it is limited.
fn rate(args: &PurgeArgs, settings: &Settings) -> Option<NonZeroU64> {
    args.rate.or(configured_rate(args, settings).map(|rate| rate.value))
}

/// Returns the limit of the configuration, unless `--rate` replaces it.
fn configured_rate<'s>(
    args: &PurgeArgs,
    settings: &'s Settings,
) -> Option<&'s Configured<NonZeroU64>> {
    settings.config().rates.purge.as_ref().filter(|_| args.rate.is_none())
}
