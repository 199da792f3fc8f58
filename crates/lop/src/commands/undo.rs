//! `lop undo`: brings back what a run changed.

use std::sync::Arc;

use action::{Reason, Refusal};
use catalog::Catalog;
use fsops::Watch;
use serde::Serialize;

use crate::args::UndoArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::quantity::{count, counted};
use crate::refusals;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &UndoArgs, settings: &Settings) -> Result<Exit, CommandError> {
    // Before signals are caught: Ctrl-C ends the wait for another process at once.
    let catalog = settings.catalog()?;
    let runs = refusals::open_runs(&Catalog::runs(&catalog), settings)?;
    let watch = Arc::new(Watch::default());
    let monitor = Monitor::begin(&watch, settings)?;
    let (run, undone, ended) = runs.undo(args.run, &watch)?;
    let ended = ended.and(monitor.finish().map_err(Into::into));
    let of_others = |refusal: &&Refusal| matches!(refusal.reason, Reason::Owner);
    let other_owner = undone.refused.iter().filter(of_others).count() as u64;
    let left = undone.refused.len() as u64 - other_owner;
    let summary = Summary { run, undone: undone.done, other_owner, left };
    let text = summary.text(catalog.exists());
    let exit = refusals::conclude(&summary, &text, &undone.refused, ended, settings)?;
    if undone.damaged == 0 {
        return Ok(exit);
    }
    let lines = counted(undone.damaged, "line", "lines");
    let text = format!(
        "{lines} of the journal of run {run} damaged; nothing was done about the files in question"
    );
    settings.complain(text.as_bytes());
    settings.print_exit_record(Exit::Partial, &text);
    Ok(Exit::Partial)
}

#[derive(Serialize)]
struct Summary {
    run: u64,
    /// Files that are back.
    undone: u64,
    /// Of these, those with another owner or group than they had.
    other_owner: u64,
    /// Files that could not be brought back.
    left: u64,
}

impl Summary {
    fn text(&self, catalog: bool) -> String {
        let files = counted(self.undone, "file is", "files are");
        let what = match (self.undone, self.other_owner) {
            (0, _) => "no file was brought back".into(),
            (1, 0) => format!("{files} what it was"),
            (_, 0) => format!("{files} what they were"),
            (_, other) => {
                format!("{files} back, {} with another owner or group", count(other))
            }
        };
        let mut text = format!("run {}: {what}", self.run);
        if self.left > 0 {
            text.push_str(&format!(", {} could not be brought back", count(self.left)));
        }
        if catalog && self.undone > 0 {
            let them = if self.undone == 1 { "it" } else { "them" };
            text.push_str(&format!("; the next scan has {them} in the catalog again"));
        }
        text
    }
}
