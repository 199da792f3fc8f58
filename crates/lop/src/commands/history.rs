//! `lop history`: the runs that changed files.

use std::io::{self, Write};

use action::{Runs, Summary};
use catalog::Catalog;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::to_json;
use crate::output;
use crate::quantity::{count, counted, size, utc};
use crate::settings::{Settings, Verbosity};

/// Runs the command.
pub(crate) fn run(settings: &Settings) -> Result<Exit, CommandError> {
    let runs = Runs::list(&Catalog::runs(&settings.catalog()?))?;
    let heard = output::print(|out| {
        if settings.json {
            let runs: Vec<Row> = runs.iter().map(Row::from).collect();
            return writeln!(out, "{}", to_json(&Document { runs }));
        }
        runs.iter().try_for_each(|run| write_line(out, run))
    })?;
    if heard && !settings.json && settings.verbosity != Verbosity::Quiet {
        settings.note(&counted(runs.len() as u64, "run", "runs"));
    }
    Ok(Exit::Done)
}

fn write_line(out: &mut impl Write, run: &Summary) -> io::Result<()> {
    let Summary { run: number, kind, started_ms, done, freed, .. } = *run;
    write!(out, "{number:>4}  {}  {:<10}  ", utc(started_ms), kind.word())?;
    write!(out, "{}", counted(done, "file", "files"))?;
    if freed > 0 {
        write!(out, ", {} gained", size(freed))?;
    }
    for (number, what) in
        [(run.failed, "left alone"), (run.undone, "undone"), (run.purged, "purged")]
    {
        if number > 0 {
            write!(out, ", {} {what}", count(number))?;
        }
    }
    writeln!(out, "{}", if run.ended_ms.is_none() { ", cut off" } else { "" })
}

#[derive(Serialize)]
struct Document {
    runs: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    run: u64,
    by: &'static str,
    started_ms: i64,
    ended_ms: Option<i64>,
    files: u64,
    freed_bytes: u64,
    left_alone: u64,
    undone: u64,
    purged: u64,
}

impl From<&Summary> for Row {
    fn from(run: &Summary) -> Row {
        Row {
            run: run.run,
            by: run.kind.word(),
            started_ms: run.started_ms,
            ended_ms: run.ended_ms,
            files: run.done,
            freed_bytes: run.freed,
            left_alone: run.failed,
            undone: run.undone,
            purged: run.purged,
        }
    }
}
