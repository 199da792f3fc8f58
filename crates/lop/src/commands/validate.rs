//! `lop validate`: reads remembered files again and compares their contents with the recorded digests.

use std::io::Write;

use catalog::{Loaded, Mark, Rows};
use dupes::{Expected, Validated};
use serde::Serialize;
use walk::{FileId, Tree};

use crate::args::ValidateArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{JsonPath, document};
use crate::output::{problems, stdout};
use crate::paths::possible_paths;
use crate::quantity::{append_counts, counted};
use crate::questions::catalog::open;
use crate::questions::damage_marks::{state_after, with_marker};
use crate::questions::scope::nothing_remembered;
use crate::questions::work::work_on;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &ValidateArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let loaded = load(args, settings)?;
    let (tree, fingerprints) = (&loaded.tree, &loaded.fingerprints);
    let (validated, marked) = work_on(tree, fingerprints, settings, |work| {
        with_marker(settings, |marks| {
            let expected = |file| expected(&loaded, file);
            let found = |file, finding| {
                let mark = state_after(loaded.state(file), finding);
                // Sending fails only if the other thread has panicked.
                let _taken = mark.map(|state| marks.send(Mark::of(tree, file, state)));
            };
            dupes::validate(work, &expected, &found)
        })
    })?;
    let summary = Summary::new(&validated);
    let printed = print(tree, &validated, &summary, settings)?;
    problems::print(&validated.problems, settings);
    if printed {
        settings.summarize(summary.text().as_bytes());
    }
    let is_partial = !(validated.differing.is_empty() && validated.problems.is_empty() && marked);
    Ok(settings.partial_if(is_partial, Exit::Done, &summary.text()))
}

/// Loads the files to check.
fn load(args: &ValidateArgs, settings: &Settings) -> Result<Loaded, CommandError> {
    let catalog = open(settings)?;
    if args.paths.is_empty() {
        return Ok(catalog.load(Rows::All)?);
    }
    let mut below = Vec::new();
    for path in &args.paths {
        let paths = possible_paths(path)?;
        let mut is_known = false;
        for path in &paths {
            is_known |= catalog.remembers(path)?;
        }
        if !is_known {
            return Err(nothing_remembered(path));
        }
        below.extend(paths);
    }
    Ok(catalog.load(Rows::Below(&below))?)
}

/// Returns the expected content of a file. For a damaged or unreadable file, this is the content that was recorded
/// before the damage.
fn expected(loaded: &Loaded, file: FileId) -> Expected {
    match loaded.unreliable(file) {
        Some(doubt) => Expected {
            head: doubt.head,
            digest: doubt.content.and_then(|content| loaded.content(content).0),
        },
        None => Expected::of(&loaded.fingerprints, file),
    }
}

fn print(
    tree: &Tree,
    validated: &Validated,
    summary: &Summary,
    settings: &Settings,
) -> Result<bool, CommandError> {
    let path = |file: &FileId| tree.path(*file);
    stdout::print(|out| {
        if settings.json {
            let paths: Vec<Vec<u8>> = validated.differing.iter().map(path).collect();
            let files = paths.iter().map(|path| JsonPath::new(path)).collect();
            return writeln!(out, "{}", document(&Document { files, summary }));
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
    files: Vec<JsonPath<'a>>,
    summary: &'a Summary,
}

#[derive(Serialize)]
struct Summary {
    matching: u64,
    differing: u64,
    changed: u64,
    gone: u64,
    offline: u64,
    unchecked: u64,
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
            unchecked: validated.unchecked,
            problems: validated.problems.len() as u64,
        }
    }

    fn text(&self) -> String {
        let mut text = format!("{} as scanned", counted(self.matching, "file", "files"));
        let no_digest = if self.unchecked == 1 {
            "not checked: it has no digest"
        } else {
            "not checked: they have no digest"
        };
        let others = [
            (self.differing, "differing"),
            (self.changed, "changed since the scan"),
            (self.gone, "gone"),
            (self.offline, "on a disk that is not mounted"),
            (self.problems, "unreadable"),
            (self.unchecked, no_digest),
        ];
        append_counts(&mut text, others);
        text
    }
}
