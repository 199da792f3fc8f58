//! `lop` without a command: shows what is in the catalog, and what one can do next.
//!
//! Reads only a few rows of the catalog, so it answers at once for millions of files.

use std::io::{self, Write};

use action::run::{RunSummary, Runs};
use catalog::{Catalog, GroupTotals, LastScan};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::names::Names;
use crate::output::scan_summary::found_text;
use crate::output::stdout;
use crate::quantity::{counted, local_time};
use crate::settings::Settings;

/// Number of scanned paths to show.
const MAX_ROOTS: usize = 3;

/// Commands for a user who has no catalog yet. None of them changes the user's files.
const FIRST: [(&str, &str); 5] = [
    ("lop scan ~", "find the duplicates in your home folder"),
    ("lop scan --no-catalog DIR", "find duplicates without remembering them"),
    ("lop sweep --rules droppings DIR", "list junk such as .DS_Store"),
    ("lop mirror --dry-run SRC DST", "list what a mirror would copy"),
    ("lop purge --dry-run DIR", "count what a removal would free"),
];

/// Commands for a user who has a catalog. None of them changes the user's files, unless the user confirms it.
const NEXT: [(&str, &str); 6] = [
    ("lop report", "list the duplicates, those that waste most first"),
    ("lop space", "show large folders, and how much they have grown"),
    ("lop uniques DIR", "list the files that exist only in DIR"),
    ("lop look", "look through all of these, decide, apply and undo"),
    ("lop serve --open", "review duplicates in a browser"),
    ("lop dedupe --by hardlink", "show what hard links free; --apply creates them"),
];

/// Runs the command.
pub(crate) fn run(settings: &Settings) -> Result<Exit, CommandError> {
    if settings.json {
        return Err(CommandError::usage("a command is missing").hint("see 'lop help'"));
    }
    let found = match settings.catalog().map(|path| Catalog::open(&path).map(|open| (path, open))) {
        Ok(Ok((path, catalog))) => Some((path, catalog)),
        Ok(Err(catalog::Error::Missing(_))) | Err(_) => None,
        Ok(Err(e)) => return Err(e.into()),
    };
    let Some((path, catalog)) = found else {
        stdout::print(write_first)?;
        return Ok(Exit::Done);
    };
    // An unreadable journal is reported by the commands that need it.
    let folder = Catalog::runs_dir(&path);
    let first_that_may_run = Runs::first_that_may_run(&folder).unwrap_or_default();
    let runs = Runs::list(&folder).unwrap_or_default();
    let state = State {
        scans: catalog.last_scans()?,
        groups: catalog.group_totals()?,
        first_that_may_run,
        last_run: runs.into_iter().flatten().next_back().filter(RunSummary::can_be_undone),
    };
    stdout::print(|out| state.write(out, settings.stdout.names))?;
    Ok(Exit::Done)
}

fn write_first(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "lop finds duplicate files, and mirrors, cleans and removes huge trees.")?;
    writeln!(out, "It has not scanned anything yet. These commands change none of your files:\n")?;
    write_commands(out, &FIRST)
}

fn write_commands(out: &mut impl Write, commands: &[(&str, &str)]) -> io::Result<()> {
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, purpose) in commands {
        writeln!(out, "  {command:<width$}  {purpose}")?;
    }
    writeln!(out, "\n'lop help' lists all commands, and 'lop help COMMAND' explains one.")
}

/// The contents of the catalog and of the journals that the command shows.
struct State {
    /// Newest first.
    scans: Vec<LastScan>,
    groups: GroupTotals,
    first_that_may_run: u64,
    /// The last run, if it can be undone.
    last_run: Option<RunSummary>,
}

impl State {
    fn write(&self, out: &mut impl Write, names: Names) -> io::Result<()> {
        let mut title = "Scanned";
        for scan in self.scans.iter().take(MAX_ROOTS) {
            write!(out, "{title:<10}{}  ", local_time(scan.finished_ms))?;
            out.write_all(&names.show_line(&scan.root))?;
            writeln!(
                out,
                "{}",
                if scan.is_complete { "" } else { "  (interrupted: scan it again)" }
            )?;
            title = "";
        }
        let more = self.scans.len().saturating_sub(MAX_ROOTS) as u64;
        if more > 0 {
            let paths = counted(more, "more path", "more paths");
            writeln!(out, "{:10}{paths}; 'lop status' lists all", "")?;
        }
        let GroupTotals { groups, redundant, reclaimable } = self.groups;
        let text = found_text(groups, redundant, reclaimable);
        writeln!(out, "{:<10}{text}", "Found")?;
        if let Some(run) = &self.last_run {
            let files = counted(run.still_changed(), "file", "files");
            let (number, kind) = (run.run, run.kind.word());
            let rest = if run.may_run(self.first_that_may_run) {
                "may still be running"
            } else {
                "'lop undo' reverts it"
            };
            writeln!(out, "{:<10}run {number} ({kind}, {files}); {rest}", "Changed")?;
        }
        writeln!(out, "\nThese commands change none of your files by themselves:\n")?;
        write_commands(out, &NEXT)
    }
}
