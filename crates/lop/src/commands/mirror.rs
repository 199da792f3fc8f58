//! `lop mirror`: makes one directory tree match another, on this host or between two hosts.

mod catalog_hints;
mod change;
mod listing;
mod problems;
mod remote;
mod server;
mod summary;
mod totals;

use std::cell::Cell;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use mirror::{Options, Outcome, Refusal, Removal, Roots, Source};
use runtime::{Progress, Throttle};

use self::listing::{Consents, Work, listed, listed_as_json};
use self::remote::{Host, TreeArg};
use self::summary::conclude;
use self::totals::{Figures, Totals};
use crate::args::MirrorArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::formats::document;
use crate::output::stdout::Lines;
use crate::prompt::confirm::{CONFIRM_ABOVE, NEVER_CONFIRM_UP_TO, Question, can_ask};
use crate::protected::Protected;
use crate::quantity::{counted, size};
use crate::settings::{Configured, Patterns, Resources, Settings, Verbosity};

pub(super) use self::server::run as serve;

/// Advice if a file is given instead of a directory.
const NEEDS_DIRECTORY: &str = "mirror needs a directory; for one file use cp";

/// One run of the command.
struct Run<'r> {
    args: &'r MirrorArgs,
    settings: &'r Settings,
    patterns: Patterns,
    options: Options,
    /// The number of bytes to copy per second, if it is limited.
    bandwidth: Option<NonZeroU64>,
    progress: Arc<Progress>,
    /// True if each change is listed.
    lists: bool,
    /// True if the user can be asked for confirmation before a large removal.
    asks: bool,
}

/// Runs the command.
pub(crate) fn run(args: &MirrorArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let (source, destination) = (TreeArg::of(&args.source), TreeArg::of(&args.destination));
    let patterns = Patterns::new(&args.include, &args.exclude, args.ignore_case)?;
    let patterns = patterns.below(&[source.top(), destination.top()]);
    if args.delete {
        patterns.refuse_ambiguous("nothing was changed")?;
    }
    if let TreeArg::Local(destination) = &destination {
        Protected::configured(settings)?.check(destination)?;
    }
    let bandwidth = bandwidth(args, settings);
    let run = Run {
        args,
        settings,
        options: options(args, &patterns, bandwidth, settings),
        bandwidth,
        patterns,
        progress: Arc::new(Progress::default()),
        lists: args.itemize || args.dry_run && settings.verbosity != Verbosity::Quiet,
        asks: args.delete && !args.dry_run && can_ask(args.yes),
    };
    match (source, destination) {
        (TreeArg::Local(source), TreeArg::Local(destination)) => {
            run.mirror_here(&source, &destination)
        }
        (TreeArg::Local(source), TreeArg::Remote(host)) => run.push(&source, &host),
        (TreeArg::Remote(host), TreeArg::Local(destination)) => run.pull(&host, &destination),
        (TreeArg::Remote(_), TreeArg::Remote(_)) => {
            Err(CommandError::usage("SRC or DST must be on this host"))
        }
    }
}

impl Run<'_> {
    fn mirror_here(&self, source: &Path, destination: &Path) -> Result<Exit, CommandError> {
        let Run { args, progress, .. } = self;
        let base = args.link_dest.as_deref();
        self.refuse_empty(&Source::open(source).map_err(refused)?)?;
        let roots = Roots::check(source, destination, base, args.dry_run).map_err(refused)?;
        if args.delete {
            roots.check_deletion().map_err(refused)?;
        }
        let options = self.with_memory(roots.source().map(Source::absolute), roots.destination());
        self.carry_out(roots.source(), &mut |user| {
            let (outcome, ended) = mirror::mirror(&roots, &options, progress, user);
            (outcome, ended.map_err(CommandError::from))
        })
    }

    fn push(&self, source: &Path, host: &Host) -> Result<Exit, CommandError> {
        let progress = &self.progress;
        let source = Source::open(source).map_err(refused)?;
        self.refuse_empty(&source)?;
        let options = self.with_memory(Some(source.absolute()), None);
        let open = self.open(wire::Role::Receive, host, None);
        let (mut connection, place) = host.connect(self.args, &open)?;
        let not_into = place.map_or(Ok(None), |place| source.check_place(&place));
        let not_into = not_into.map_err(refused)?;
        self.carry_out(Some(&source), &mut |user| {
            let (incoming, out) = connection.talk();
            let (outcome, ended) =
                mirror::push(&source, not_into, &options, progress, user, incoming, out);
            (outcome, ended.map_err(|broken| connection.lost(&broken)))
        })
    }

    fn pull(&self, host: &Host, destination: &Path) -> Result<Exit, CommandError> {
        let Run { args, progress, .. } = self;
        let base = args.link_dest.as_deref();
        let roots = Roots::for_remote_source(destination, base, args.dry_run).map_err(refused)?;
        let options = self.with_memory(None, roots.destination());
        let open = self.open(wire::Role::Send, host, roots.place());
        let (mut connection, _) = host.connect(self.args, &open).inspect_err(|_| roots.undo())?;
        self.carry_out(None, &mut |user| {
            let (incoming, out) = connection.talk();
            let (outcome, ended) = mirror::receive(&roots, &options, progress, user, incoming, out);
            (outcome, ended.map_err(|broken| connection.lost(&broken)))
        })
    }

    /// Returns the request that is sent to the other host.
    fn open(&self, role: wire::Role, host: &Host, place: Option<wire::HostDirId>) -> wire::Open {
        use std::os::unix::ffi::OsStrExt;
        let args = self.args;
        wire::Open {
            role,
            path: host.path.clone(),
            dry_run: args.dry_run,
            delete: args.delete,
            max_delete: args.max_delete,
            allow_empty: args.allow_empty_source,
            asks: self.asks,
            checksum: args.checksum,
            verify: args.verify,
            fsync: args.fsync,
            one_file_system: args.one_file_system,
            include: self.patterns.include.readings(),
            exclude: self.patterns.exclude.readings(),
            ignore_case: args.ignore_case,
            link_dest: args.link_dest.as_ref().map(|path| path.as_os_str().as_bytes().to_vec()),
            bandwidth: self.bandwidth.map(NonZeroU64::get),
            reuse: args.reuse && !args.dry_run,
            lists: self.lists,
            place,
        }
    }

    /// Returns the options. With `--reuse`, the options include hints from the catalog about the trees on this host.
    fn with_memory(&self, source: Option<&Path>, destination: Option<&Path>) -> Options {
        let mut options = self.options.clone();
        // A dry run copies nothing, so it does not need hints.
        if self.args.reuse && !self.args.dry_run {
            options.content_hints =
                Some(catalog_hints::remembered(self.settings, source, destination));
        }
        options
    }

    /// Counts the entries to mirror, so that the progress line can show the remaining time.
    fn estimate(&self, source: &Source, is_done: &AtomicBool) {
        mirror::estimate(source, &self.options, &self.progress, &|| is_done.load(Relaxed));
    }

    /// Refuses a source without files, because mirroring it with `--delete` would empty the destination.
    fn refuse_empty(&self, source: &Source) -> Result<(), CommandError> {
        if !self.args.delete || self.args.allow_empty_source {
            return Ok(());
        }
        source.check_not_empty().map_err(refused)
    }

    /// Asks for confirmation before a large removal. Also asks if a pattern matched nothing, because it may be
    /// mistyped.
    fn confirm_removal(&self, removal: &Removal) -> Result<bool, CommandError> {
        let Removal { entries, names, some, source, unchanged } = removal;
        let unmatched = self.patterns.unmatched();
        // The removal would affect more than half of the destination.
        let is_much = *entries > NEVER_CONFIRM_UP_TO.max(*unchanged);
        if *entries <= CONFIRM_ABOVE.min(*source) && !is_much && unmatched.is_empty() {
            return Ok(true);
        }
        let unmatched_text =
            unmatched.into_iter().map(|option| format!("{option} matched nothing; "));
        let about = format!(
            "{}{} of {} that SRC does not have would be removed (SRC has {}):",
            unmatched_text.collect::<String>(),
            counted(*entries, "entry", "entries"),
            self.args.destination.display(),
            counted(*source, "entry", "entries")
        );
        let paths = some.iter().map(Vec::as_slice).collect();
        Question { about, paths, of: *names, prompt: "Remove them?" }.ask(self.settings)
    }

    /// Runs `work` and reports the result. If the source is on this host, another thread estimates the amount of work.
    fn carry_out(&self, source: Option<&Source>, work: Work<'_>) -> Result<Exit, CommandError> {
        let is_done = AtomicBool::new(false);
        thread::scope(|scope| {
            if let Some(source) = source.filter(|_| self.settings.shows_progress()) {
                // Without this thread, only the estimate is missing.
                let _unstarted =
                    runtime::spawn_with_own_descriptors(scope, || self.estimate(source, &is_done));
            }
            let carried_out = self.carry_out_alone(&mut |user| {
                let ended = work(user);
                is_done.store(true, Relaxed);
                ended
            });
            is_done.store(true, Relaxed);
            carried_out
        })
    }

    fn carry_out_alone(&self, work: Work<'_>) -> Result<Exit, CommandError> {
        let Run { args, settings, options, patterns, progress, lists, .. } = self;
        let start = Instant::now();
        let monitor = Monitor::begin(progress, settings)?;
        let answer = Cell::new(Ok(()));
        let consent = |removal: &Removal, out: &Lines<'_>| {
            out.flush();
            let _no_line = monitor.hold();
            self.confirm_removal(removal).unwrap_or_else(|error| {
                answer.set(Err(error));
                false
            })
        };
        let consent: Option<Consents<'_>> = if self.asks { Some(&consent) } else { None };
        let totals = |outcome: &Outcome, complete| {
            Totals::new(outcome, complete, args, patterns, start.elapsed())
        };
        let (outcome, ended) = if settings.json {
            listed_as_json(*lists, consent, &totals, work)?
        } else {
            listed(*lists, consent, settings, work)?
        };
        let seen = monitor.finish();
        // Ctrl-C also breaks the connection. The interrupt takes precedence over the connection error.
        let ended = seen.map_err(CommandError::from).and(ended);
        let ended = ended.and(answer.into_inner());
        let totals = totals(&outcome, ended.is_ok());
        if args.stats {
            settings.note(&document(&Figures::new(&totals, options)));
        }
        if ended.is_ok() {
            patterns.report_unmatched(settings);
        }
        conclude(&totals, &outcome, args, ended, settings)
    }
}

fn refused(refusal: Refusal) -> CommandError {
    let (text, on_purpose) = (refusal.to_string(), refusal.is_on_purpose());
    match refusal {
        Refusal::Empty { .. } | Refusal::OnlyDirs { .. } => {
            CommandError::new(Exit::Refused, format!("{text}; nothing was changed"))
                .hint("to empty DST anyway, use --allow-empty-source")
        }
        Refusal::Unmarked { source, .. } => CommandError::new(
            Exit::Refused,
            format!("{text} (nothing was changed)"),
        )
        .because(source)
        .hint("free space in DST or get permission to write there, or mirror without --delete"),
        Refusal::Open { path, source } if source.kind() == io::ErrorKind::NotADirectory => {
            CommandError::failed(format!("{}: {NEEDS_DIRECTORY}", path.display()))
        }
        Refusal::Open { source, .. }
        | Refusal::Base { source, .. }
        | Refusal::Create { source, .. } => CommandError::failed(text).because(source),
        _ if on_purpose => CommandError::new(Exit::Refused, format!("{text}; nothing was changed")),
        _ => CommandError::failed(text),
    }
}

/// Returns the number of bytes to copy per second: the value of `--bwlimit`, or else that of the configuration.
fn bandwidth(args: &MirrorArgs, settings: &Settings) -> Option<NonZeroU64> {
    if args.bwlimit.is_some() {
        return args.bwlimit;
    }
    let Configured { value, place } = settings.config().rates.mirror.as_ref()?;
    settings.note_configured(&format!("copying at most {}/s", size(value.get())), place);
    Some(*value)
}

fn options(
    args: &MirrorArgs,
    patterns: &Patterns,
    bandwidth: Option<NonZeroU64>,
    settings: &Settings,
) -> Options {
    let resources = Resources::new(args.threads, args.io.into());
    Options {
        dry_run: args.dry_run,
        delete: args.delete,
        max_delete: args.max_delete,
        allow_empty: args.allow_empty_source,
        checksum: args.checksum,
        verify: args.verify,
        fsync: args.fsync,
        one_file_system: args.one_file_system,
        include: patterns.include.clone(),
        exclude: patterns.exclude.clone(),
        bandwidth: Arc::new(Throttle::new(bandwidth)),
        own: settings.own(),
        content_hints: None,
        threads: resources.threads,
        open_dirs: resources.tree_dirs(),
        disks: resources.disks,
    }
}

/// Returns a path received from the other host as a `PathBuf`.
fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    // An empty path refers to the directory in which a remote shell starts.
    let bytes = if bytes.is_empty() { b"." } else { bytes };
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}
