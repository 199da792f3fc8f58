//! `lop history RUN`: what a run did with each file.

use std::io::{self, Write};
use std::path::Path;

use action::{Deed, Deeds, Discarded, Error, Kind, Runs, State, Summary};
use serde::Serialize;

use super::{Row, Run, write_line};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::{JsonPath, to_json};
use crate::output;
use crate::settings::Settings;

/// Shows a run and its files.
pub(super) fn show(folder: &Path, run: u64, settings: &Settings) -> Result<Exit, CommandError> {
    match Runs::deeds(folder, run) {
        Ok((summary, deeds)) => of_files(summary, deeds, settings),
        Err(Error::NoRun(_)) => {
            let mut trees = Discarded::list(folder)?.into_iter();
            let is_it = |found: &Result<Discarded, Error>| {
                found.as_ref().is_ok_and(|found| found.run == run)
            };
            let found = trees.find(is_it).unwrap_or(Err(Error::NoRun(run)))?;
            of_trees(found, settings)
        }
        Err(error) => Err(error.into()),
    }
}

fn of_files(summary: Summary, deeds: Deeds, settings: &Settings) -> Result<Exit, CommandError> {
    let run = Run::Files(summary);
    let mut failed = None;
    output::print(|out| {
        begin(out, &run, settings)?;
        for (number, deed) in deeds.enumerate() {
            match deed {
                Ok(deed) if settings.json => {
                    let before = if number == 0 { "\n" } else { ",\n" };
                    write!(out, "{before}{}", to_json(&JsonDeed::from(&deed)))?;
                }
                Ok(deed) => write_deed(out, &deed, settings)?,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        if settings.json { writeln!(out, "\n]}}") } else { Ok(()) }
    })?;
    failed.map_or(Ok(Exit::Done), |error| Err(error.into()))
}

fn of_trees(found: Discarded, settings: &Settings) -> Result<Exit, CommandError> {
    let trees = found.trees.clone();
    let run = Run::Trees(found);
    output::print(|out| {
        begin(out, &run, settings)?;
        if settings.json {
            let files: Vec<String> =
                trees.iter().map(|path| to_json(&JsonPath::new(path))).collect();
            return writeln!(out, "\n{}\n]}}", files.join(",\n"));
        }
        for path in &trees {
            out.write_all(&[b"  ", &*settings.stdout.names.show_line(path), b"\n"].concat())?;
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

fn begin(out: &mut impl Write, run: &Run, settings: &Settings) -> io::Result<()> {
    if settings.json {
        return write!(out, "{{\"run\":{},\"files\":[", to_json(&Row::from(run)));
    }
    write_line(out, run, settings)
}

fn write_deed(out: &mut impl Write, deed: &Deed, settings: &Settings) -> io::Result<()> {
    let names = settings.stdout.names;
    write!(out, "  {:<12}  ", word(deed))?;
    out.write_all(&names.show_line(&deed.path))?;
    if let State::LeftAlone(why) = &deed.state {
        out.write_all(&[b"  (", &*names.show(why.as_bytes()), b")\n"].concat())
    } else {
        out.write_all(&[b"  (kept: ", &*names.show_line(&deed.kept), b")\n"].concat())
    }
}

/// Returns what became of a file, in a word or two.
fn word(deed: &Deed) -> &'static str {
    match (&deed.state, deed.kind) {
        (State::CutOff, _) => "cut off",
        (State::Already, _) => "already done",
        (State::LeftAlone(_), _) => "left alone",
        (State::Restored, _) => "restored",
        (State::Purged, _) => "purged",
        (State::Done, Kind::Delete) => "deleted",
        (State::Done, Kind::Hardlink) => "hard linked",
        (State::Done, Kind::Reflink) => "reflinked",
        (State::Done, Kind::Symlink) => "symlinked",
        (State::Done, Kind::Quarantine) => "quarantined",
        (State::Done, Kind::Separate) => "separated",
    }
}

#[derive(Serialize)]
struct JsonDeed<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    kept: JsonPath<'a>,
    size: u64,
}

impl<'a> From<&'a Deed> for JsonDeed<'a> {
    fn from(deed: &'a Deed) -> JsonDeed<'a> {
        let (state, why) = match &deed.state {
            State::CutOff => ("cut-off", None),
            State::Done => ("done", None),
            State::Already => ("already", None),
            State::LeftAlone(why) => ("left-alone", Some(why.as_str())),
            State::Restored => ("restored", None),
            State::Purged => ("purged", None),
        };
        let (path, kept) = (JsonPath::new(&deed.path), JsonPath::new(&deed.kept));
        JsonDeed { path, state, why, kept, size: deed.was.size }
    }
}
