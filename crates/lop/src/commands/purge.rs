//! `lop purge`: removes trees for good.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use catalog::Catalog;
use device::Threads;
use fsops::{Interrupted, Watch};
use purge::{Deed, Guard, Options, Outcome, Problem, Reason, Selection, Target};
use serde::Serialize;
use walk::{FilterError, Globs};

use crate::args::PurgeArgs;
use crate::devices::Device;
use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::formats::to_json;
use crate::monitor::Monitor;
use crate::output;
use crate::quantity::{count, counted, duration, size};
use crate::refusals::SHOWN;
use crate::settings::{Settings, Verbosity, Workers};
use crate::stats::peak_memory_bytes;

/// More entries than this are not removed without a question on a terminal.
const MANY: u64 = 1000;

/// How long entries are counted ahead: whoever waits for a removal of hours does not mind, and one of
/// seconds needs no forecast.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the command.
pub(crate) fn run(args: &PurgeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let (targets, guard, missing) = targets(args, settings)?;
    let mut options = options(args, &guard)?;
    if args.idle {
        fsops::idle_io_class()
            .map_err(|e| CommandError::failed("cannot set the idle I/O class").because(e))?;
    }
    let watch = Arc::new(Watch::default());
    let asks =
        !args.dry_run && !args.yes && io::stdin().is_terminal() && io::stderr().is_terminal();
    if !args.dry_run && (asks || settings.progress) {
        let ahead = count_ahead(&targets, &options, settings)?;
        watch.files_total.store(if ahead.whole { ahead.entries } else { 0 }, Relaxed);
        if asks && ahead.entries > MANY && !confirmed(args, &ahead, settings)? {
            return Err(CommandError::new(Exit::Refused, "nothing was removed"));
        }
    }
    options.deed = if args.dry_run { Deed::Weigh } else { Deed::Remove };
    let start = Instant::now();
    let monitor = Monitor::begin(&watch, settings)?;
    let (mut outcome, ended) = purge::purge(&targets, &options, &watch);
    let ended = ended.and(monitor.finish());
    outcome.failed += missing.len() as u64;
    outcome.problems.extend(missing);
    let account = Account::new(&outcome, args.dry_run, start.elapsed());
    if args.stats {
        settings.note(&to_json(&Figures::new(&account, &outcome, &options)));
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
    let own = |path: PathBuf| [Catalog::files(&path), vec![Catalog::runs(&path)]].concat();
    let catalog = settings.catalog().map(own);
    let here = std::env::current_dir().ok();
    // Without a place for a catalog there is none to keep.
    let guard = Guard::new(here.as_deref(), &catalog.unwrap_or_default());
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

/// Returns how to count ahead; what is done instead is for the caller to set.
fn options(args: &PurgeArgs, guard: &Guard) -> Result<Options, CommandError> {
    let bad = |e: FilterError| CommandError::usage(e.to_string());
    let now = SystemTime::now();
    let before_ns = args.older_than.map(|age| {
        let since = now.checked_sub(age).and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    });
    let selection = Selection {
        include: Globs::new(&args.include).map_err(bad)?,
        exclude: Globs::new(&args.exclude).map_err(bad)?,
        before_ns,
    };
    let workers = Workers::new(args.threads, args.io.into());
    let Threads { first, grows } = workers.compare.threads;
    Ok(Options {
        deed: Deed::Count,
        selection,
        keep_root: args.keep_root,
        cross_mounts: args.cross_mounts,
        guarded: guard.keys(),
        threads: Threads { first, grows },
        lanes: workers.compare.lanes,
        open_dirs: workers.walk_dirs.min(64),
        rate: args.rate.filter(|_| !args.dry_run),
    })
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
    let options = Options { deed: Deed::Count, rate: None, ..options.clone() };
    let (outcome, ended) = purge::purge(targets, &options, &watch);
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

/// What a run did, or would do.
#[derive(Serialize)]
struct Account {
    dry_run: bool,
    files: u64,
    dirs: u64,
    kept: u64,
    failed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    freed_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    linked_elsewhere: Option<u64>,
    seconds: f64,
}

impl Account {
    fn new(outcome: &Outcome, dry_run: bool, took: Duration) -> Account {
        let Outcome { files, dirs, kept, failed, freed, linked, .. } = *outcome;
        let weighed = |amount: u64| dry_run.then_some(amount);
        let seconds = (took.as_secs_f64() * 1e3).round() / 1e3;
        let (freed_bytes, linked_elsewhere) = (weighed(freed), weighed(linked));
        Account { dry_run, files, dirs, kept, failed, freed_bytes, linked_elsewhere, seconds }
    }

    fn text(&self) -> String {
        let what = format!(
            "{} in {}",
            counted(self.files, "file", "files"),
            counted(self.dirs, "directory", "directories")
        );
        let mut text = if let Some(freed) = self.freed_bytes {
            format!("{what} would go, {} free by that", size(freed))
        } else {
            let took = duration(Duration::from_secs_f64(self.seconds));
            format!("{what} removed in {took}")
        };
        let linked = self.linked_elsewhere.unwrap_or(0);
        let parts = [
            (linked, "names of files that have others elsewhere"),
            (self.kept, "left as they were not selected"),
            (self.failed, "could not be removed"),
        ];
        for (number, what) in parts {
            if number > 0 {
                text.push_str(&format!(", {} {what}", count(number)));
            }
        }
        text
    }
}

/// What `--stats` prints.
#[derive(Serialize)]
struct Figures<'a> {
    #[serde(flatten)]
    account: &'a Account,
    subvolumes: u64,
    sweeps: u64,
    threads: usize,
    peak_memory_bytes: u64,
    spilled_bytes: u64,
    devices: Vec<Device>,
}

impl<'a> Figures<'a> {
    fn new(account: &'a Account, outcome: &Outcome, options: &Options) -> Figures<'a> {
        Figures {
            account,
            subvolumes: outcome.subvolumes,
            sweeps: outcome.sweeps,
            threads: outcome.threads,
            peak_memory_bytes: peak_memory_bytes(),
            spilled_bytes: fsops::memory::spilled().most,
            devices: options.lanes.conclusions().into_iter().map(Device::from).collect(),
        }
    }
}

fn conclude(
    account: &Account,
    outcome: &Outcome,
    ended: Result<(), Interrupted>,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    print(outcome, settings);
    let text = account.text();
    if settings.json {
        output::print(|out| writeln!(out, "{}", output::summary_document(account)))?;
    } else if settings.verbosity != Verbosity::Quiet {
        settings.note(&text);
    }
    ended?;
    if outcome.failed == 0 {
        return Ok(Exit::Done);
    }
    let exit = if outcome.files + outcome.dirs == 0 { Exit::Failed } else { Exit::Partial };
    settings.print_exit_record(exit, &text);
    Ok(exit)
}

/// Prints what could not be removed as `lop: PATH: reason`.
fn print(outcome: &Outcome, settings: &Settings) {
    let all = settings.verbosity == Verbosity::Verbose;
    let shown = if all { outcome.problems.len() } else { SHOWN.min(outcome.problems.len()) };
    for problem in &outcome.problems[..shown] {
        let reason = match &problem.reason {
            Reason::Failed { op, source } => format!("cannot {}: {}", op.verb(), io_text(source)),
            other => other.to_string(),
        };
        settings.complain(&[&problem.path[..], b": ", reason.as_bytes()].concat());
    }
    let rest = outcome.failed - shown as u64;
    if rest > 0 {
        let hint = if all { "" } else { " (-v shows more)" };
        settings.complain(format!("… and {} more{hint}", count(rest)).as_bytes());
    }
}
