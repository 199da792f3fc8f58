//! `lop purge`: removes trees for good.

mod account;
mod background;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use catalog::Catalog;
use device::Threads;
use fsops::Watch;
use purge::{Deed, Guard, Options, Problem, Reason, Selection, Target, Throttle};
use walk::Top;

use self::account::{Account, Figures, conclude};
use crate::args::PurgeArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::to_json;
use crate::monitor::Monitor;
use crate::patterns::Patterns;
use crate::quantity::{count, counted};
use crate::settings::{Settings, Workers};

/// More entries than this are not removed without a question on a terminal.
const MANY: u64 = 1000;

/// How long entries are counted ahead: whoever waits for a removal of hours does not mind, and one of
/// seconds needs no forecast.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the command.
pub(crate) fn run(args: &PurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    if args.idle {
        fsops::idle_io_class()
            .map_err(|e| CommandError::failed("cannot set the idle I/O class").because(e))?;
    }
    if let Some(run) = args.background {
        return background::run(run, args, settings);
    }
    if args.resume {
        return background::resume(args, settings);
    }
    let (targets, guard, missing) = targets(args, settings)?;
    let patterns = Patterns::new(&args.include, &args.exclude, args.ignore_case)?;
    for path in &args.paths {
        patterns.below(&[Top::new(path)]).refuse_twofold("nothing was removed")?;
    }
    let mut options = options(args, &patterns, &guard);
    let watch = Arc::new(Watch::default());
    let asks =
        !args.dry_run && !args.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    let counts = settings.progress && !args.instant;
    if !args.dry_run && (asks || counts) {
        let ahead = count_ahead(&targets, &options, settings)?;
        watch.files_total.store(if ahead.whole { ahead.entries } else { 0 }, Relaxed);
        let is_small = ahead.whole && ahead.entries <= MANY;
        if asks && !is_small && !confirmed(args, &ahead, settings)? {
            return Err(CommandError::new(Exit::Refused, "nothing was removed"));
        }
    }
    if args.instant {
        return background::begin(&targets, missing, args, settings);
    }
    options.deed = if args.dry_run { Deed::Weigh } else { Deed::Remove };
    let start = Instant::now();
    let monitor = Monitor::begin(&watch, settings)?;
    let (mut outcome, ended) = purge::purge(&targets, &options, &watch, None);
    let ended = ended.and(monitor.finish());
    outcome.failed += missing.len() as u64;
    outcome.problems.extend(missing);
    let unmatched = if ended.is_ok() { patterns.unmatched() } else { Vec::new() };
    let account = Account::new(&outcome, args.dry_run, unmatched, start.elapsed());
    if args.stats {
        settings.note(&to_json(&Figures::new(&account, &outcome, &options)));
    }
    if ended.is_ok() {
        patterns.tell_unmatched(settings);
    }
    conclude(&account, &outcome, ended, settings)
}

/// Looks at all that was named, before anything is removed.
///
/// # Errors
///
/// One of them must not be removed.
fn targets(
    args: &PurgeArgs,
    settings: &Settings,
) -> Result<(Vec<Target>, Guard, Vec<Problem>), CommandError> {
    let mut guard = guard(settings);
    let (mut targets, mut missing, mut refused) = (Vec::new(), Vec::new(), 0);
    for path in &args.paths {
        let given = path.as_os_str().as_encoded_bytes();
        match guard.check(path) {
            Ok(target) => targets.push(target),
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

fn guard(settings: &Settings) -> Guard {
    let own = |path: PathBuf| [Catalog::files(&path), vec![Catalog::runs(&path)]].concat();
    let catalog = settings.catalog().map(own);
    let here = std::env::current_dir().ok();
    // Without a place for a catalog there is none to keep.
    Guard::new(here.as_deref(), &catalog.unwrap_or_default())
}

/// Returns how to count ahead; what is done instead is for the caller to set.
fn options(args: &PurgeArgs, patterns: &Patterns, guard: &Guard) -> Options {
    let now = SystemTime::now();
    let before_ns = args.older_than.map(|age| {
        let since = now.checked_sub(age).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    });
    let selection = Selection {
        include: patterns.include.clone(),
        exclude: patterns.exclude.clone(),
        before_ns,
        ..Selection::default()
    };
    let workers = Workers::new(args.threads, args.io.into());
    let Threads { first, grows } = workers.compare.threads;
    Options {
        deed: Deed::Count,
        selection,
        keep_root: args.keep_root,
        cross_mounts: args.cross_mounts,
        guarded: guard.keys(),
        threads: Threads { first, grows },
        lanes: workers.compare.lanes,
        open_dirs: workers.walk_dirs.min(64),
        throttle: Arc::new(Throttle::new(args.rate.filter(|_| !args.dry_run))),
    }
}

/// What was counted before anything is removed.
struct Ahead {
    entries: u64,
    /// There was time enough for all of it.
    whole: bool,
}

fn count_ahead(
    targets: &[Target],
    options: &Options,
    settings: &Settings,
) -> Result<Ahead, CommandError> {
    let watch = Arc::new(Watch::default());
    let monitor = Monitor::begin(&watch, settings)?;
    let bell = Arc::clone(&watch);
    // Where no thread can be started it takes as long as it takes.
    let _unstarted = std::thread::Builder::new().spawn(move || {
        std::thread::sleep(PATIENCE);
        bell.stop();
    });
    let throttle = Arc::default();
    let options = Options { deed: Deed::Count, throttle, ..options.clone() };
    let (outcome, ended) = purge::purge(targets, &options, &watch, None);
    monitor.finish()?;
    Ok(Ahead { entries: outcome.files + outcome.dirs, whole: ended.is_ok() })
}

fn confirmed(args: &PurgeArgs, ahead: &Ahead, settings: &Settings) -> Result<bool, CommandError> {
    let (least, number) = (if ahead.whole { "" } else { "more than " }, count(ahead.entries));
    let shown = settings.stderr.names.show_line(args.paths[0].as_os_str().as_encoded_bytes());
    let more = match args.paths.len() {
        1 => String::new(),
        paths => format!(" and {} more", count(paths as u64 - 1)),
    };
    let mut stderr = io::stderr().lock();
    let question = [
        format!("Remove {least}{number} entries: ").as_bytes(),
        &shown,
        format!("{more}? [y/N] ").as_bytes(),
    ]
    .concat();
    let _unseen = stderr.write_all(&question).and_then(|()| stderr.flush());
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|e| CommandError::failed("cannot read the answer").because(e))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
