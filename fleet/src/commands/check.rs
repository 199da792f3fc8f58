//! `lop-fleet check`: compares the files of all exports with their manifests.

use std::error::Error;
use std::fmt::Write;

use export::Fleet;
use runtime::Progress;
use runtime::quantity::{counted, size};
use serde::Serialize;

use crate::Exit;
use crate::args::CheckArgs;
use crate::output::{Output, complain};

/// Runs the command.
pub(crate) fn run(args: &CheckArgs, output: Output) -> Result<Exit, Box<dyn Error>> {
    let all = Fleet::all(&args.dir)?;
    let mut summary = Summary::default();
    let mut problems = all.problems;
    for export in all.exports {
        match export.verify(&Progress::default()) {
            Ok(bytes) => {
                summary.bytes += bytes;
                summary.complete += 1;
            }
            Err(error) => problems.push(error),
        }
    }
    for problem in &problems {
        complain(problem);
    }
    summary.damaged = problems.len() as u64;
    output.print(&summary, summary.text().as_bytes())?;
    Ok(match (summary.complete, summary.damaged) {
        (_, 0) => Exit::Done,
        (0, _) => Exit::Failed,
        _ => Exit::Partial,
    })
}

#[derive(Default, Serialize)]
struct Summary {
    /// Exports whose files agree with the manifest.
    complete: u64,
    /// Exports that are damaged or incomplete.
    damaged: u64,
    /// Bytes that were read.
    bytes: u64,
}

impl Summary {
    fn text(&self) -> String {
        let complete = counted(self.complete, "export is", "exports are");
        let mut text = format!("{complete} complete, {}", size(self.bytes));
        if self.damaged > 0 {
            let damaged = counted(self.damaged, "export is", "exports are");
            // Writing to a string cannot fail.
            let _ = write!(text, "; {damaged} damaged or incomplete");
        }
        text.push('\n');
        text
    }
}
