//! `lop file`: the duplicates of single files.

use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use catalog::{Catalog, Entry};
use dupes::State;
use fsops::Stat;
use serde::Serialize;

use crate::args::FileArgs;
use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::formats::{JsonListed, Listed, to_json};
use crate::look::Looker;
use crate::output;
use crate::quantity::{counted, size};
use crate::remembered::{mark, open};
use crate::settings::Settings;

/// What is known of one file.
struct Answer {
    file: Listed,
    others: Vec<Listed>,
}

/// Runs the command.
pub(crate) fn run(args: &FileArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = open(settings)?;
    let (mut answers, mut unanswered) = (Vec::new(), 0);
    for path in &args.paths {
        match answer(&catalog, path)? {
            Ok(answer) => answers.push(answer),
            Err(reason) => {
                unanswered += 1;
                let path = path.as_os_str().as_bytes();
                settings.complain(&[path, b": ", reason.as_bytes()].concat());
            }
        }
    }
    output::print(|out| {
        if settings.json {
            return writeln!(out, "{}", to_json(&document(&answers)));
        }
        answers.iter().try_for_each(|answer| write_text(out, answer, settings))
    })?;
    if unanswered == 0 {
        return Ok(Exit::Done);
    }
    let files = counted(unanswered, "file", "files");
    settings.print_exit_record(Exit::Partial, &format!("{files} could not be answered for"));
    Ok(Exit::Partial)
}

/// Returns what the catalog knows of a file, or why there is no answer.
fn answer(catalog: &Catalog, path: &Path) -> Result<Result<Answer, String>, CommandError> {
    let now = match Stat::of_path(path) {
        Ok(now) if now.kind == fsops::Kind::File => now,
        Ok(_) => return Ok(Err("not a regular file".into())),
        Err(e) => return Ok(Err(io_text(&e))),
    };
    let name = path.file_name().unwrap_or_default();
    let dir = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = match dir.canonicalize() {
        Ok(dir) => dir.into_os_string().into_vec(),
        Err(e) => return Ok(Err(io_text(&e))),
    };
    let Some(entry) = catalog.file(&dir, name.as_bytes())? else {
        return Ok(Err("not in the catalog; scan it first".into()));
    };
    if !entry.is(&now) {
        return Ok(Err("changed since the scan; scan it again".into()));
    }
    let others = others(catalog, &entry)?;
    let linked = |other: &Entry| (other.volume, other.inode) == (entry.volume, entry.inode);
    let same = others.iter().filter(|(other, state)| *state == State::Same && !linked(other));
    let mut inodes: Vec<_> = same.map(|(other, _)| (other.volume, other.inode)).collect();
    inodes.sort_unstable();
    inodes.dedup();
    let others = others.iter().map(|(other, state)| {
        let link = *state == State::Same && linked(other);
        let state = if link { Some("a hard link to it") } else { mark(*state) };
        listed(other, other.path.clone(), None, state)
    });
    let path = path.as_os_str().as_bytes().to_vec();
    let file = listed(&entry, path, Some(inodes.len() as u64), None);
    Ok(Ok(Answer { file, others: others.collect() }))
}

fn others(catalog: &Catalog, entry: &Entry) -> Result<Vec<(Entry, State)>, CommandError> {
    let Some(content) = entry.content else { return Ok(Vec::new()) };
    let mut others = catalog.files_with(content)?;
    others.retain(|other| other.path != entry.path);
    let mut looker = Looker::default();
    let state = |other: Entry| {
        let state = looker.state(&other);
        (other, state)
    };
    Ok(others.into_iter().map(state).collect())
}

fn listed(
    entry: &Entry,
    path: Vec<u8>,
    duplicates: Option<u64>,
    state: Option<&'static str>,
) -> Listed {
    Listed { path, size: entry.size, duplicates, digest: entry.digest, state }
}

fn write_text(out: &mut impl Write, answer: &Answer, settings: &Settings) -> io::Result<()> {
    let names = settings.stdout.names;
    let (start, end) = settings.stdout.bold();
    let duplicates = answer.file.duplicates.unwrap_or(0);
    let heading = match duplicates {
        0 => "no duplicates".into(),
        n => counted(n, "duplicate", "duplicates"),
    };
    for part in [start, &names.show_line(&answer.file.path), end] {
        out.write_all(part)?;
    }
    writeln!(out, ": {heading}, {}", size(answer.file.size))?;
    for other in &answer.others {
        write!(out, "  ")?;
        out.write_all(&names.show_line(&other.path))?;
        match other.state {
            Some(state) => writeln!(out, "  ({state})")?,
            None => writeln!(out)?,
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Document<'a> {
    files: Vec<JsonAnswer<'a>>,
}

#[derive(Serialize)]
struct JsonAnswer<'a> {
    #[serde(flatten)]
    file: JsonListed<'a>,
    others: Vec<JsonListed<'a>>,
}

fn document(answers: &[Answer]) -> Document<'_> {
    let files = answers.iter().map(|answer| JsonAnswer {
        file: JsonListed::from(&answer.file),
        others: answer.others.iter().map(JsonListed::from).collect(),
    });
    Document { files: files.collect() }
}
