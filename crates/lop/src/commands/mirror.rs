//! `lop mirror`: makes one tree like another.

mod account;

use std::io::{self, Write};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use fsops::{Interrupted, Watch};
use mirror::{Change, Options, Outcome, Refusal, Roots};
use purge::Throttle;
use walk::{FilterError, Globs};

use self::account::{Account, Figures, Line, conclude};
use crate::args::MirrorArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::to_json;
use crate::monitor::Monitor;
use crate::output;
use crate::settings::{Settings, Verbosity, Workers};

/// How long it is counted ahead what there is to mirror, for a line of progress that says how long it will
/// take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Runs the command.
pub(crate) fn run(args: &MirrorArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let base = args.link_dest.as_deref();
    let roots = Roots::check(&args.source, &args.destination, base, args.dry_run);
    let roots = roots.map_err(refused)?;
    let options = options(args)?;
    let watch = Arc::new(Watch::default());
    if settings.progress
        && let Some(all) = mirror::survey(&roots, &options, Instant::now() + PATIENCE)
    {
        watch.files_total.store(all.names, Relaxed);
        watch.bytes_total.store(all.bytes, Relaxed);
    }
    let start = Instant::now();
    let lists = args.itemize || args.dry_run && settings.verbosity != Verbosity::Quiet;
    let (outcome, ended) = if settings.json {
        listed_as_json(lists, &roots, &options, &watch, settings, (args, start))?
    } else {
        listed(lists, &roots, &options, &watch, settings)?
    };
    let account = Account::new(&outcome, args, start.elapsed());
    if args.stats {
        settings.note(&to_json(&Figures::new(&account, &options)));
    }
    conclude(&account, &outcome, ended, settings)
}

type Ended = (Outcome, Result<(), Interrupted>);

/// Mirrors, and lists changes one a line.
fn listed(
    lists: bool,
    roots: &Roots,
    options: &Options,
    watch: &Arc<Watch>,
    settings: &Settings,
) -> Result<Ended, CommandError> {
    let monitor = Monitor::begin(watch, settings)?;
    let mut ended = None;
    output::print(|out| {
        let lines = Lines::new(out);
        let tell = |change: &Change| {
            lines.write(&account::line(change, settings.stdout.names));
        };
        ended = Some(mirror::mirror(roots, options, watch, lists.then_some(&tell)));
        lines.end()
    })?;
    finish(ended, monitor)
}

/// Mirrors, and prints one document with the changes, if they are wanted, and the summary.
fn listed_as_json(
    lists: bool,
    roots: &Roots,
    options: &Options,
    watch: &Arc<Watch>,
    settings: &Settings,
    (args, start): (&MirrorArgs, Instant),
) -> Result<Ended, CommandError> {
    let monitor = Monitor::begin(watch, settings)?;
    let mut ended = None;
    output::print(|out| {
        let lines = Lines::new(out);
        lines.write(if lists { b"{\"changes\":[" } else { b"{" });
        let first = Mutex::new(true);
        let tell = |change: &Change| {
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            let comma = if std::mem::take(&mut *first) { "\n" } else { ",\n" };
            lines.write(format!("{comma}{}", to_json(&Line::of(change))).as_bytes());
        };
        let (outcome, end) = mirror::mirror(roots, options, watch, lists.then_some(&tell));
        let summary = to_json(&Account::new(&outcome, args, start.elapsed()));
        let before = if lists { "\n],\n" } else { "" };
        lines.write(format!("{before}\"summary\":{summary}}}\n").as_bytes());
        ended = Some((outcome, end));
        lines.end()
    })?;
    finish(ended, monitor)
}

fn finish(ended: Option<Ended>, monitor: Monitor) -> Result<Ended, CommandError> {
    let seen = monitor.finish();
    let (outcome, end) = ended.ok_or_else(|| CommandError::failed("nothing was done"))?;
    Ok((outcome, end.and(seen)))
}

/// What several threads print to. If it cannot be written, as nobody reads it any more, the work goes on:
/// half a mirror is worth less than an unread list.
struct Lines<'o> {
    out: Mutex<(&'o mut (dyn Write + Send), io::Result<()>)>,
}

impl<'o> Lines<'o> {
    fn new(out: &'o mut (dyn Write + Send)) -> Lines<'o> {
        Lines { out: Mutex::new((out, Ok(()))) }
    }

    fn write(&self, bytes: &[u8]) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if out.1.is_ok() {
            out.1 = out.0.write_all(bytes);
        }
    }

    fn end(self) -> io::Result<()> {
        self.out.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

fn refused(refusal: Refusal) -> CommandError {
    use std::error::Error;
    let text = refusal.to_string();
    match refusal {
        Refusal::Open { source, .. } | Refusal::Create { source, .. } => {
            CommandError::failed(text).because(source)
        }
        other => {
            debug_assert!(other.source().is_none());
            CommandError::new(Exit::Refused, format!("{text}; nothing was changed"))
        }
    }
}

fn options(args: &MirrorArgs) -> Result<Options, CommandError> {
    let bad = |e: FilterError| CommandError::usage(e.to_string());
    let workers = Workers::new(args.threads, args.io.into());
    Ok(Options {
        dry_run: args.dry_run,
        delete: args.delete,
        max_delete: args.max_delete,
        checksum: args.checksum,
        verify: args.verify,
        fsync: args.fsync,
        one_file_system: args.one_file_system,
        include: Globs::new(&args.include).map_err(bad)?,
        exclude: Globs::new(&args.exclude).map_err(bad)?,
        bandwidth: Arc::new(Throttle::new(args.bwlimit)),
        threads: workers.compare.threads,
        lanes: workers.compare.lanes,
        open_dirs: workers.walk_dirs.min(64),
    })
}
