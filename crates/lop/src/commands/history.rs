//! `lop history`: lists the runs that changed files, or the result of one run for each file.

mod run;

use std::cell::Cell;
use std::io::{self, Write};

use action::run::{RunSummary, Runs};
use action::trash::TrashSummary;
use catalog::Catalog;
use serde::Serialize;

use crate::acting::conclusion;
use crate::args::HistoryArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::document_with;
use crate::output::stdout;
use crate::quantity::{append_counts, counted, local_time};
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &HistoryArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let folder = Catalog::runs_dir(&settings.catalog()?);
    if let Some(run) = args.run {
        return run::show(&folder, run, settings);
    }
    let first_that_may_run = Runs::first_that_may_run(&folder)?;
    let files = Runs::list(&folder)?.into_iter().map(|run| run.map(Run::Files));
    let trees = TrashSummary::list(&folder)?.into_iter().map(|run| run.map(Run::Trees));
    let unreadable = Cell::new(0);
    let mut runs = conclusion::readable(files.chain(trees), &unreadable, settings);
    runs.sort_by_key(Run::number);
    let printed = stdout::print(|out| {
        if settings.json {
            let runs: Vec<Row> = runs.iter().map(Row::from).collect();
            return writeln!(out, "{}", document_with("runs", &runs));
        }
        runs.iter()
            .try_for_each(|run| write_line(out, run, run.may_run(first_that_may_run), settings))
    })?;
    if printed {
        settings.summarize(counted(runs.len() as u64, "run", "runs").as_bytes());
    }
    Ok(conclusion::with_unreadable(Exit::Done, unreadable.get(), settings))
}

/// A run that acted on files, or a run that moved trees out of the way.
enum Run {
    Files(RunSummary),
    Trees(TrashSummary),
}

impl Run {
    fn number(&self) -> u64 {
        match self {
            Run::Files(run) => run.run,
            Run::Trees(run) => run.run,
        }
    }

    /// Returns whether the run may still be changing files.
    fn may_run(&self, first: u64) -> bool {
        matches!(self, Run::Files(run) if run.may_run(first))
    }

    fn started_ms(&self) -> i64 {
        match self {
            Run::Files(run) => run.started_ms,
            Run::Trees(run) => run.started_ms,
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Run::Files(run) => run.kind.word(),
            Run::Trees(_) => "purge",
        }
    }
}

fn write_line(
    out: &mut impl Write,
    run: &Run,
    may_run: bool,
    settings: &Settings,
) -> io::Result<()> {
    write!(out, "{:>4}  {}  {:<10}  ", run.number(), local_time(run.started_ms()), run.word())?;
    match run {
        Run::Files(run) => writeln!(out, "{}", run.result(may_run)),
        Run::Trees(run) => {
            write!(out, "{}", of_trees(run))?;
            // For an unfinished run, the line shows the location of its trees, so that the user can inspect them.
            let left = if run.ended_ms.is_none() { &run.staging_dirs[..] } else { &[] };
            for store in left {
                write!(out, " ")?;
                out.write_all(&settings.stdout.names.show_line(store))?;
            }
            writeln!(out)
        }
    }
}

fn of_trees(run: &TrashSummary) -> String {
    let mut text = counted(run.trees.len() as u64, "path", "paths");
    if run.entries > 0 {
        text.push_str(&format!(", {}", counted(run.entries, "entry gone", "entries gone")));
    }
    append_counts(&mut text, [(run.failed, "could not be removed")]);
    if run.ended_ms.is_some() {
        return text;
    }
    match run.process {
        Some(process) => text.push_str(&format!(", process {process} is removing them:")),
        None => text.push_str(", not finished ('lop purge --resume' continues):"),
    }
    text
}

#[derive(Serialize)]
struct Row {
    run: u64,
    action: &'static str,
    started_ms: i64,
    ended_ms: Option<i64>,
    #[serde(flatten)]
    done: Done,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Done {
    Files { done: u64, freed_bytes: u64, already: u64, failed: u64, restored: u64, purged: u64 },
    Trees { paths: u64, entries: u64, failed: u64, process: Option<u32> },
}

impl From<&Run> for Row {
    fn from(run: &Run) -> Row {
        let (ended_ms, done) = match run {
            Run::Files(run) => {
                let &RunSummary { done, already, failed, purged, .. } = run;
                let (freed_bytes, restored) = (run.freed, run.undone);
                let files = Done::Files { done, freed_bytes, already, failed, restored, purged };
                (run.ended_ms, files)
            }
            Run::Trees(run) => {
                let &TrashSummary { entries, failed, process, .. } = run;
                let paths = run.trees.len() as u64;
                (run.ended_ms, Done::Trees { paths, entries, failed, process })
            }
        };
        let (run, action, started_ms) = (run.number(), run.word(), run.started_ms());
        Row { run, action, started_ms, ended_ms, done }
    }
}
