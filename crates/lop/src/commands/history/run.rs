//! `lop history RUN`: lists the result of a run for each file.

use std::io::{self, Write};
use std::path::Path;

use action::Error;
use action::journal::{FileAction, FileActions, FileState};
use action::plan::Kind;
use action::run::{RunSummary, Runs};
use action::trash::TrashSummary;
use runtime::quantity::counted;
use serde::Serialize;

use super::{Row, Run, write_line};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{JsonList, JsonPath, to_json};
use crate::output::stdout;
use crate::settings::Settings;

/// Shows a run and its files.
///
/// # Errors
///
/// Fails if the run does not exist or its journal cannot be read.
pub(super) fn show(folder: &Path, run: u64, settings: &Settings) -> Result<Exit, CommandError> {
    let first_that_may_run = Runs::first_that_may_run(folder)?;
    match Runs::actions(folder, run) {
        Ok((summary, deeds)) => {
            let may_run = summary.may_run(first_that_may_run);
            of_files(summary, deeds, may_run, settings)
        }
        Err(Error::NoRun(_)) => {
            let mut trees = TrashSummary::list(folder)?.into_iter();
            let is_it = |found: &Result<TrashSummary, Error>| {
                found.as_ref().is_ok_and(|found| found.run == run)
            };
            let found = trees.find(is_it).unwrap_or(Err(Error::NoRun(run)))?;
            of_trees(found, settings)
        }
        Err(error) => Err(error.into()),
    }
}

fn of_files(
    summary: RunSummary,
    deeds: FileActions,
    may_run: bool,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let (mut failed, unrecorded) = (None, summary.unrecorded);
    let run = Run::Files(summary);
    let mut deeds =
        deeds.map_while(|file_action| file_action.map_err(|error| failed = Some(error)).ok());
    stdout::print(|out| {
        if settings.json {
            let mut list = JsonList::new(out, "files");
            deeds.try_for_each(|file_action| list.item(&JsonFileAction::from(&file_action)))?;
            return list.finish(&to_json(&Row::from(&run)));
        }
        write_line(out, &run, may_run, settings)?;
        deeds
            .try_for_each(|file_action| write_file_action(out, &file_action, may_run, settings))?;
        if unrecorded > 0 {
            let files = counted(unrecorded, "other file", "other files");
            writeln!(out, "  {:<12}  {files}, which failed the first checks", "left alone")?;
        }
        Ok(())
    })?;
    failed.map_or(Ok(Exit::Done), |error| Err(error.into()))
}

fn of_trees(found: TrashSummary, settings: &Settings) -> Result<Exit, CommandError> {
    let trees = found.trees.clone();
    let run = Run::Trees(found);
    stdout::print(|out| {
        if settings.json {
            let mut list = JsonList::new(out, "files");
            trees.iter().try_for_each(|path| list.item(&JsonPath::new(path)))?;
            return list.finish(&to_json(&Row::from(&run)));
        }
        write_line(out, &run, false, settings)?;
        let names = settings.stdout.names;
        trees
            .iter()
            .try_for_each(|path| out.write_all(&[b"  ", &*names.show_line(path), b"\n"].concat()))
    })?;
    Ok(Exit::Done)
}

fn write_file_action(
    out: &mut impl Write,
    file_action: &FileAction,
    may_run: bool,
    settings: &Settings,
) -> io::Result<()> {
    let names = settings.stdout.names;
    write!(out, "  {:<12}  ", word(file_action, may_run))?;
    out.write_all(&names.show_line(&file_action.path))?;
    if let FileState::LeftAlone(why) = &file_action.state {
        return out.write_all(&[b"  (", &*names.show_text(why.as_bytes()), b")\n"].concat());
    }
    if let Some(kept) = &file_action.kept {
        out.write_all(&[b"  (kept: ", &*names.show_line(&kept.path), b")\n"].concat())?;
    }
    if let Some(rule) = &file_action.rule {
        out.write_all(&[b"  (rule: ", &*names.show_line(rule.as_bytes()), b")\n"].concat())?;
    }
    Ok(())
}

/// Returns the result for a file in one or two words. `may_run` tells whether the run may still be in progress.
fn word(file_action: &FileAction, may_run: bool) -> &'static str {
    match (&file_action.state, file_action.kind) {
        (FileState::CutOff, _) if may_run => "in progress",
        (FileState::CutOff, _) => "interrupted",
        (FileState::Already, _) => "already done",
        (FileState::LeftAlone(_), _) => "left alone",
        (FileState::Restored, _) => "restored",
        (FileState::Purged, _) => "purged",
        (FileState::Done, Kind::Delete) => "deleted",
        (FileState::Done, Kind::Hardlink) => "hard linked",
        (FileState::Done, Kind::Reflink) => "reflinked",
        (FileState::Done, Kind::Symlink) => "symlinked",
        (FileState::Done, Kind::Quarantine) => "quarantined",
        (FileState::Done, Kind::Separate) => "separated",
        (FileState::Done, Kind::Sweep) => "swept",
    }
}

#[derive(Serialize)]
struct JsonFileAction<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<JsonPath<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<&'a str>,
    /// Number of files in a directory tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<u64>,
    size: u64,
}

impl<'a> From<&'a FileAction> for JsonFileAction<'a> {
    fn from(file_action: &'a FileAction) -> JsonFileAction<'a> {
        let (state, why) = match &file_action.state {
            FileState::CutOff => ("cut-off", None),
            FileState::Done => ("done", None),
            FileState::Already => ("already", None),
            FileState::LeftAlone(why) => ("failed", Some(why.as_str())),
            FileState::Restored => ("restored", None),
            FileState::Purged => ("purged", None),
        };
        let kept = file_action.kept.as_ref().map(|kept| JsonPath::new(&kept.path));
        let (path, rule) = (JsonPath::new(&file_action.path), file_action.rule.as_deref());
        let files = file_action.files;
        let size = files.map_or(file_action.was.size, |_| file_action.allocated);
        JsonFileAction { path, state, why, kept, rule, files, size }
    }
}
