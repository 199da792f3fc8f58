//! `lop undo`: brings back what a run changed.

use std::io::Write;
use std::sync::Arc;

use catalog::Catalog;
use fsops::Watch;
use serde::Serialize;

use crate::args::UndoArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::quantity::{count, counted};
use crate::settings::{Settings, Verbosity};
use crate::{output, refusals};

/// Runs the command.
pub(crate) fn run(args: &UndoArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let watch = Arc::new(Watch::default());
    let monitor = Monitor::begin(&watch, settings)?;
    let runs = refusals::open_runs(&Catalog::runs(&settings.catalog()?), settings)?;
    let (run, undone, ended) = runs.undo(args.run, &watch)?;
    monitor.finish()?;
    refusals::print(&undone.refused, settings);
    let summary = Summary { run, undone: undone.done, left: undone.refused.len() as u64 };
    if settings.json {
        output::print(|out| writeln!(out, "{}", output::summary_document(&summary)))?;
    } else if settings.verbosity != Verbosity::Quiet {
        settings.note(&summary.text());
    }
    ended?;
    if summary.left == 0 {
        return Ok(Exit::Done);
    }
    settings.print_exit_record(Exit::Partial, &summary.text());
    Ok(Exit::Partial)
}

#[derive(Serialize)]
struct Summary {
    run: u64,
    undone: u64,
    left: u64,
}

impl Summary {
    fn text(&self) -> String {
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
        text
    }
}
