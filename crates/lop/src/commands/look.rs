//! `lop look`: shows the catalog on a terminal, where the user moves through it, decides about duplicates, and starts
//! runs.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::Duration;

use catalog::Catalog;
use look::{End, Options};
use signal_hook::low_level::emulate_default_handler;

use crate::args::LookArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::memory;
use crate::paths::possible_paths;
use crate::quantity::local_time;
use crate::questions::catalog::{open, unreadable};
use crate::questions::scope::nothing_remembered;
use crate::settings::{Settings, is_dumb_terminal};

/// Time to wait for another process without a message.
const SILENCE: Duration = Duration::from_millis(500);

/// Runs the command.
pub(crate) fn run(args: &LookArgs, settings: &Settings) -> Result<Exit, CommandError> {
    check_terminal(settings)?;
    let catalog = open_patiently(settings)?;
    let dir = args.dir.as_deref().map(|dir| find(dir, &catalog)).transpose()?;
    let program = std::env::current_exe()
        .map_err(|e| CommandError::failed("cannot find the program itself").because(e))?;
    let end = look::run(Options {
        catalog,
        dir,
        program,
        temp_dir: memory::folder(),
        input: duplicate(io::stdin())?,
        output: duplicate(io::stdout())?,
        has_colors: settings.stdout.color,
        local_time,
    })?;
    Ok(match end {
        End::Quit => Exit::Done,
        End::Signal(signal) => {
            // This call ends the process, unless a debugger prevents it.
            let _refused = emulate_default_handler(signal);
            Exit::Interrupted
        }
        End::HungUp => Exit::Interrupted,
    })
}

fn check_terminal(settings: &Settings) -> Result<(), CommandError> {
    let instead = "use 'lop space', 'lop report' and 'lop dedupe' in scripts and pipes";
    if settings.json {
        return Err(CommandError::usage("lop look has no JSON output").hint(instead));
    }
    if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
        let text = "lop look needs a terminal as standard input and standard output";
        return Err(CommandError::usage(text).hint(instead));
    }
    if is_dumb_terminal() {
        let text = "this terminal cannot move its cursor (TERM is not set, or is 'dumb')";
        return Err(CommandError::usage(text).hint("set TERM, or use 'lop space' and 'lop report'"));
    }
    Ok(())
}

/// Opens the catalog. If another process is changing it, prints a message and waits. Without the message, lop would
/// seem to hang.
fn open_patiently(settings: &Settings) -> Result<Catalog, CommandError> {
    match Catalog::open_within(&settings.catalog()?, SILENCE) {
        Err(error) if error.is_busy() => {
            settings.complain(b"waiting for another process that is changing the catalog");
            open(settings)
        }
        opened => opened.map_err(unreadable),
    }
}

/// Returns the path of a directory in the catalog. The directory may be on a disk that is not mounted.
fn find(dir: &Path, catalog: &Catalog) -> Result<Vec<u8>, CommandError> {
    if dir.exists() && !dir.is_dir() {
        let text = format!("{}: not a directory", dir.display());
        return Err(CommandError::new(Exit::Catalog, text));
    }
    let roots = catalog.roots()?;
    for path in possible_paths(dir)? {
        if roots.contains(&path) || catalog.remembers(&path)? {
            return Ok(path);
        }
    }
    Err(nothing_remembered(dir))
}

fn duplicate(stream: impl AsFd) -> Result<File, CommandError> {
    let duplicate = stream.as_fd().try_clone_to_owned();
    duplicate
        .map(File::from)
        .map_err(|e| CommandError::failed("cannot use the terminal").because(e))
}

impl From<look::Error> for CommandError {
    fn from(error: look::Error) -> CommandError {
        let text = error.to_string();
        match error {
            look::Error::Catalog(error) => error.into(),
            look::Error::Terminal(source) | look::Error::Work(source) => {
                CommandError::failed(text).because(source)
            }
            _ => CommandError::failed(text),
        }
    }
}
