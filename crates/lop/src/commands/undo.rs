//! `lop undo`: brings back what a run changed.

use std::sync::Arc;

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
    let summary = Summary { run, undone: undone.done, left: undone.refused.len() as u64 };
    refusals::conclude(&summary, &summary.text(catalog.exists()), &undone.refused, ended, settings)
}

#[derive(Serialize)]
struct Summary {
    run: u64,
    undone: u64,
    left: u64,
}

impl Summary {
    fn text(&self, catalog: bool) -> String {
        let files = counted(self.undone, "file is", "files are");
        let mut text = format!("run {}: {files} what they were", self.run);
        if self.undone == 1 {
            text = format!("run {}: {files} what it was", self.run);
        }
        if self.left > 0 {
            text.push_str(&format!(
                ", {} could not be brought back as they were",
                count(self.left)
            ));
        }
        if catalog && self.undone > 0 {
            let them = if self.undone == 1 { "it" } else { "them" };
            text.push_str(&format!("; the next scan has {them} in the catalog again"));
        }
        text
    }
}
