//! `lop watch`: watches directories and scans them after changes, until a signal arrives.

mod announcement;
mod ready;
mod scanner;
mod schedule;

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use catalog::{Catalog, WatchedRoot, has_typed_options};
use watch::{Control, Means, Options, StartError, Watched, Watcher};

use self::announcement::Announcement;
use self::scanner::Scanner;
use self::schedule::Schedule;
use crate::args::WatchArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::interrupt;
use crate::output::status_line::StatusLine;
use crate::paths::resolve;
use crate::quantity::{counted, duration};
use crate::settings::Settings;

/// Interval at which `lop watch` checks whether a signal has arrived and whether a scan is due.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the command. A signal ends it normally.
pub(crate) fn run(args: &WatchArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = settings.catalog()?;
    let known = known_roots(&catalog, args.roots.is_empty())?;
    let roots = roots(&args.roots, &known, settings)?;
    if let Some(dir) = catalog.parent() {
        fsops::create_dir_private(dir)?;
    }
    interrupt::arm().map_err(|e| CommandError::failed("cannot catch signals").because(e))?;
    let own = Catalog::own_paths(&catalog);
    let watcher = Watcher::start(Options { catalog: catalog.clone(), roots, own })?;
    let areas = watcher.watched();
    let (_, with_options) = scannable(&areas, &known);
    let announcement = Announcement { watched: &areas, every: &args.scan_every, with_options };
    announcement.print(settings)?;
    if !areas.iter().any(|area| area.is_root && is_watched(area)) {
        return Err(CommandError::failed("none of the directories can be watched"));
    }
    let scanner = Scanner::new(&catalog)?;
    let control = watcher.control();
    let thread = std::thread::Builder::new().name("watcher".into());
    let thread = thread.spawn(move || watcher.run());
    let thread = thread.map_err(|e| CommandError::failed("cannot start a thread").because(e))?;
    ready::notify();
    let schedule = Schedule::new(args.scan_every.0);
    let mut work = Work { control, thread, scanner, schedule, areas: &areas, catalog, settings };
    work.run();
    work.finish()?;
    interrupt::disarm();
    let is_partial = areas.iter().any(|area| area.is_root && !is_watched(area));
    Ok(settings.partial_if(is_partial, Exit::Done, "some directories cannot be watched"))
}

fn is_watched(area: &Watched) -> bool {
    !matches!(area.means, Means::Unwatched(_))
}

/// Returns the roots in the catalog. If the catalog is missing, returns no roots, or fails if `is_needed` is true.
fn known_roots(catalog: &Path, is_needed: bool) -> Result<Vec<WatchedRoot>, CommandError> {
    match Catalog::open(catalog) {
        Err(catalog::Error::Missing(_)) if !is_needed => Ok(Vec::new()),
        opened => Ok(opened?.watched_roots()?),
    }
}

/// Returns the directories to watch, as paths without links. Leaves out scanned roots that are files or missing.
fn roots(
    typed: &[PathBuf],
    scanned: &[WatchedRoot],
    settings: &Settings,
) -> Result<Vec<PathBuf>, CommandError> {
    let mut roots = Vec::new();
    for path in typed {
        let root = PathBuf::from(OsString::from_vec(resolve(path)?));
        if !root.is_dir() {
            let text = format!("{} is not a directory", path.display());
            return Err(CommandError::usage(text).hint("lop watch watches directories"));
        }
        roots.push(root);
    }
    if typed.is_empty() {
        for root in scanned {
            let path = PathBuf::from(OsString::from_vec(root.path.clone()));
            match path.canonicalize() {
                Ok(real) if real.is_dir() => roots.push(real),
                Ok(_) => {}
                Err(error) => {
                    let reason = fsops::io_text(&error);
                    let text = format!("{} is not watched: {reason}", path.display());
                    settings.complain(text.as_bytes());
                }
            }
        }
        if roots.is_empty() {
            let text = "the catalog contains no directory that lop can watch";
            return Err(CommandError::new(Exit::Catalog, text)
                .hint("scan one: lop scan DIR, or name one: lop watch DIR"));
        }
    }
    roots.sort();
    roots.dedup();
    Ok(roots)
}

/// Returns the watched roots that `lop watch` scans, and those whose last scan had typed options. The user has to repeat
/// these scans.
fn scannable<'s>(
    watched: &[Watched],
    scanned: &'s [WatchedRoot],
) -> (Vec<PathBuf>, Vec<&'s WatchedRoot>) {
    let (mut plain, mut with_options) = (Vec::new(), Vec::new());
    for area in watched.iter().filter(|area| area.is_root && is_watched(area)) {
        let last = scanned.iter().find(|root| root.path == area.path);
        match last.filter(|root| has_typed_options(&root.options)) {
            Some(root) => with_options.push(root),
            None => plain.push(PathBuf::from(OsString::from_vec(area.path.clone()))),
        }
    }
    (plain, with_options)
}

/// The running watcher and its scans.
struct Work<'s> {
    control: Control,
    thread: JoinHandle<io::Result<()>>,
    scanner: Scanner,
    schedule: Schedule,
    areas: &'s [Watched],
    catalog: PathBuf,
    settings: &'s Settings,
}

impl Work<'_> {
    /// Starts a scan whenever one is due, until a signal arrives or the watcher ends.
    fn run(&mut self) {
        let mut line = StatusLine::new(self.settings);
        while interrupt::caught().is_none() && !self.thread.is_finished() {
            let now = Instant::now();
            if let Some(ended) = self.scanner.poll() {
                self.schedule.ended(ended.is_ok(), self.scanner.took(), now);
                if let Err(reason) = ended {
                    line.clear();
                    self.complain(&reason, now);
                }
            }
            let status = self.control.status();
            let due = self.schedule.due(&status);
            if !self.scanner.is_running() && due.is_some_and(|due| due <= now) {
                // The scan writes its own messages.
                line.clear();
                self.start_scan(now);
            }
            line.show(|| self.text(&status, due, now));
            std::thread::sleep(CHECK_INTERVAL);
        }
        line.clear();
    }

    /// Starts a scan of the directories whose last scan had no typed options.
    fn start_scan(&mut self, now: Instant) {
        let is_full = self.schedule.started(now);
        let known = match known_roots(&self.catalog, false) {
            Ok(known) => known,
            Err(error) => return self.fail(&error.text(), now),
        };
        let (roots, _) = scannable(self.areas, &known);
        if roots.is_empty() {
            return self.schedule.ended(true, Duration::ZERO, now);
        }
        if let Err(error) = self.scanner.start(&roots, is_full) {
            self.fail(&fsops::io_text(&error), now);
        }
    }

    /// Reports that a scan could not be started.
    fn fail(&mut self, reason: &str, now: Instant) {
        self.schedule.ended(false, Duration::ZERO, now);
        self.complain(reason, now);
    }

    fn complain(&self, reason: &str, now: Instant) {
        let next = self.schedule.retry_at().map(|at| at.saturating_duration_since(now));
        let next = next
            .map_or_else(String::new, |left| format!("; lop tries again in {}", duration(left)));
        self.settings.complain(format!("the scan failed: {reason}{next}").as_bytes());
    }

    /// Returns the text of the status line.
    fn text(&self, status: &watch::Status, due: Option<Instant>, now: Instant) -> String {
        let watch::Counts { entries, dirs } = status.counts;
        let mut text = "no changes".to_owned();
        if entries > 0 {
            let entries = counted(entries, "entry", "entries");
            let dirs = counted(dirs, "directory", "directories");
            text = format!("{entries} in {dirs} changed since the last scan");
        }
        if self.scanner.is_running() {
            text.push_str("; scanning");
        } else if let Some(due) = due {
            let left = due.saturating_duration_since(now);
            text.push_str(&format!("; next scan in {}", crate::quantity::clock(left)));
        }
        text
    }

    /// Stops the watcher, and the scan if one is running.
    fn finish(mut self) -> Result<(), CommandError> {
        self.scanner.stop();
        self.control.stop();
        let ended = self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        ended.map_err(|e| CommandError::failed("the watcher failed").because(e))
    }
}

impl From<StartError> for CommandError {
    fn from(error: StartError) -> CommandError {
        let text = error.to_string();
        match error {
            StartError::Running(process) => {
                let process = process.map_or_else(String::new, |id| format!(" (process {id})"));
                let text = format!("another lop watch{process} uses this catalog");
                CommandError::failed(text)
                    .hint("stop it first, or use another catalog with --catalog FILE")
            }
            StartError::Socket(error) => CommandError::from(error)
                .hint("lop watch creates a socket beside the catalog; choose a directory that you can write to"),
            StartError::System(source) => CommandError::failed(text).because(source),
        }
    }
}
