//! `lop refresh`: removes deleted files from the catalog.

use catalog::Rows;
use dupes::State;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::stdout;
use crate::quantity::{append_counts, count, counted};
use crate::questions::catalog::open_existing;
use crate::questions::live::Live;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(settings: &Settings) -> Result<Exit, CommandError> {
    let writer = open_existing(settings)?;
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
    stdout::print_summary_or_text(&summary, &summary.text(), settings)?;
    if summary.offline > 0 {
        settings.hint(
            "to forget disks that are no longer used: lop forget PATH, or lop forget --offline",
        );
    }
    Ok(settings.partial_if(summary.problems > 0, Exit::Done, &summary.text()))
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
        let others = [
            (self.offline, "on a disk that is not mounted"),
            (self.changed, "changed since the scan"),
            (self.problems, "could not be examined"),
        ];
        append_counts(&mut text, others);
        text
    }
}
