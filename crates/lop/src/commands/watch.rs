//! `lop watch`: watches directories and scans them after changes, until a signal arrives.

mod announcement;
mod ready;
mod roots;
mod scanner;
mod schedule;
mod work;

use std::path::PathBuf;
use std::time::Instant;

use catalog::Catalog;
use watch::{Options, StartError, Watcher};

use self::announcement::Announcement;
use self::roots::{WatchedRoots, is_watched, known_roots};
use self::scanner::Scanner;
use self::schedule::Schedule;
use self::work::Work;
use crate::args::WatchArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::interrupt;
use crate::settings::Settings;

/// Runs the command. A signal ends it normally.
pub(crate) fn run(args: &WatchArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = settings.catalog()?;
    let known = known_roots(&catalog, args.roots.is_empty(), settings)?;
    let roots = roots::roots(&args.roots, &known)?;
    if let Some(dir) = catalog.parent() {
        fsops::create_dir_private(dir)?;
    }
    interrupt::arm().map_err(|e| CommandError::failed("cannot catch signals").because(e))?;
    let own = Catalog::own_paths(&catalog);
    let watcher = Watcher::start(Options { catalog: catalog.clone(), roots: roots.clone(), own })?;
    let control = watcher.control();
    let areas = control.watched();
    let divided = WatchedRoots::new(&roots, &areas, &known);
    Announcement { areas: &areas, every: &args.scan_every, roots: divided }.print(settings)?;
    // The watcher takes a missing root as soon as it is back.
    let may_be_watched = |root: &PathBuf| is_watched(root, &areas) || !root.exists();
    if !roots.iter().any(may_be_watched) {
        return Err(CommandError::failed("none of the directories can be watched"));
    }
    let scanner = Scanner::new(&catalog)?;
    let thread = std::thread::Builder::new().name("watcher".into());
    let thread = thread.spawn(move || watcher.run());
    let thread = thread.map_err(|e| CommandError::failed("cannot start a thread").because(e))?;
    ready::notify();
    let (schedule, check_at) = (Schedule::new(args.scan_every.0), Instant::now());
    let mut work =
        Work { control, thread, scanner, schedule, roots, areas, check_at, catalog, settings };
    let is_complete = work.run();
    work.finish()?;
    interrupt::disarm();
    Ok(settings.partial_if(!is_complete, Exit::Done, "some directories could not be watched"))
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
