//! `lop validate`: reads remembered files again and compares them with what is remembered.

use std::io::Write;
use std::sync::Arc;

use catalog::Rows;
use dupes::Validated;
use fsops::Watch;
use serde::Serialize;
use walk::{FileId, Problem, Tree};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::{JsonPath, to_json};
use crate::monitor::Monitor;
use crate::quantity::{count, counted};
use crate::remembered::open;
use crate::settings::{Settings, Verbosity, Workers};
use crate::{output, problems};

/// Runs the command.
pub(crate) fn run(settings: &Settings) -> Result<Exit, CommandError> {
    let loaded = open(settings)?.load(Rows::All)?;
    let watch = Arc::new(Watch::default());
    let monitor = Monitor::begin(&watch, settings)?;
    let options = Workers::new(None, device::Io::Auto).compare;
    let (tree, facts) = (&loaded.tree, &loaded.facts);
    let work = dupes::Work::new(tree, facts, &options, &watch);
    let validated = dupes::validate(&work)?;
    monitor.finish()?;
    let summary = Summary::new(&validated);
    let heard = print(tree, &validated, &summary, settings)?;
    let all: Vec<&Problem> = validated.problems.iter().collect();
    problems::print(&all, settings);
    if heard && !settings.json && settings.verbosity != Verbosity::Quiet {
        settings.note(&summary.text());
    }
    if validated.differing.is_empty() && all.is_empty() {
        return Ok(Exit::Done);
    }
    settings.print_exit_record(Exit::Partial, &summary.text());
    Ok(Exit::Partial)
}

fn print(
    tree: &Tree,
    validated: &Validated,
    summary: &Summary,
    settings: &Settings,
) -> Result<bool, CommandError> {
    let path = |file: &FileId| tree.path(*file);
    output::print(|out| {
        if settings.json {
            let paths: Vec<Vec<u8>> = validated.differing.iter().map(path).collect();
            let differing = paths.iter().map(|path| JsonPath::new(path)).collect();
            return writeln!(out, "{}", to_json(&Document { differing, summary }));
        }
        for file in &validated.differing {
            out.write_all(&settings.stdout.names.show_line(&path(file)))?;
            writeln!(
                out,
                ": differs from what was scanned, though its size and times are the same"
            )?;
        }
        Ok(())
    })
}

#[derive(Serialize)]
struct Document<'a> {
    differing: Vec<JsonPath<'a>>,
    summary: &'a Summary,
}

#[derive(Serialize)]
struct Summary {
    matching: u64,
    differing: u64,
    changed: u64,
    gone: u64,
    offline: u64,
    not_compared: u64,
    problems: u64,
}

impl Summary {
    fn new(validated: &Validated) -> Summary {
        Summary {
            matching: validated.matching,
            differing: validated.differing.len() as u64,
            changed: validated.changed.len() as u64,
            gone: validated.gone.len() as u64,
            offline: validated.offline,
            not_compared: validated.unknown,
            problems: validated.problems.len() as u64,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} as scanned", counted(self.matching, "file", "files"));
        for (number, what) in [
            (self.differing, "differing"),
            (self.changed, "changed since the scan"),
            (self.gone, "gone"),
            (self.offline, "on a disk that is not mounted"),
            (self.not_compared, "never read"),
            (self.problems, "unreadable"),
        ] {
            if number > 0 {
                text.push_str(&format!(", {} {what}", count(number)));
            }
        }
        text
    }
}
