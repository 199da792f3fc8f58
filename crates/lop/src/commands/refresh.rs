//! `lop refresh`: removes files from the catalog that no longer exist.

use std::io::Write;

use catalog::{Rows, Writer};
use dupes::State;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::summary_document;
use crate::output::stdout;
use crate::quantity::{count, counted};
use crate::questions::catalog::open;
use crate::questions::catalog::waiting;
use crate::questions::live::Live;
use crate::settings::{Settings, Verbosity};

/// Runs the command.
pub(crate) fn run(settings: &Settings) -> Result<Exit, CommandError> {
    let path = settings.catalog()?;
    // This fails if there is no catalog; opening it for writing would create one.
    drop(open(settings)?);
    let writer = Writer::open(&path, |holder| settings.complain(waiting(holder).as_bytes()))?;
    let live = Live::check(writer.catalog().load(Rows::All)?, settings)?;
    let gone = live.in_state(State::Gone);
    if !gone.is_empty() {
        writer.forget(&live.loaded, &gone)?;
    }
    let summary = Summary {
        files: live.loaded.tree.files().len() as u64,
        gone: gone.len() as u64,
        offline: live.in_state(State::Offline).len() as u64,
        changed: live.in_state(State::Changed).len() as u64,
        problems: live.in_state(State::Unknown).len() as u64,
    };
    stdout::print(|out| {
        if settings.json {
            writeln!(out, "{}", summary_document(&summary))
        } else if settings.verbosity == Verbosity::Quiet {
            Ok(())
        } else {
            writeln!(out, "{}", summary.text())
        }
    })?;
    if summary.offline > 0 {
        settings.hint(
            "to forget disks that are no longer used: lop forget PATH, or lop forget --offline",
        );
    }
    if summary.problems == 0 {
        return Ok(Exit::Done);
    }
    settings.print_exit_record(Exit::Partial, &summary.text());
    Ok(Exit::Partial)
}

#[derive(Serialize)]
struct Summary {
    files: u64,
    gone: u64,
    offline: u64,
    changed: u64,
    problems: u64,
}

impl Summary {
    fn text(&self) -> String {
        let mut text = format!(
            "{} checked, {} gone and forgotten",
            counted(self.files, "file", "files"),
            count(self.gone)
        );
        for (number, what) in [
            (self.offline, "on a disk that is not mounted"),
            (self.changed, "changed since the scan"),
            (self.problems, "could not be examined"),
        ] {
            if number > 0 {
                text.push_str(&format!(", {} {what}", count(number)));
            }
        }
        text
    }
}
