//! `lop ls`: the files of a directory, each with the number of its duplicates.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use catalog::{Catalog, Entry};
use dupes::State;
use fsops::{Dir, DirBuffer, Kind, Stat};
use serde::Serialize;

use crate::args::LsArgs;
use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::formats::{JsonListed, Listed, to_json};
use crate::look::state_of;
use crate::output;
use crate::quantity::{counted, size};
use crate::remembered::{Sharers, Waiting, open};
use crate::settings::{Settings, Verbosity};
use crate::unknown::{Standing, Unknown};

/// Runs the command.
pub(crate) fn run(args: &LsArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = open(settings)?;
    let unlisted = |e| CommandError::failed(args.dir.display().to_string()).because(e);
    let absolute = args.dir.canonicalize().map_err(unlisted)?;
    let mut waiting = vec![(args.dir.clone(), absolute)];
    let mut lister = Lister {
        catalog: &catalog,
        files: Vec::new(),
        standings: Vec::new(),
        sharers: Sharers::default(),
        waiting: Waiting::new(&catalog)?,
        failed: 0,
    };
    while let Some((dir, absolute)) = waiting.pop() {
        let below = match lister.list(&dir, &absolute)? {
            Ok(below) => below,
            Err(e) if dir == args.dir => return Err(unlisted(e)),
            Err(e) => {
                lister.failed += 1;
                let path = dir.as_os_str().as_bytes();
                settings.complain(&[path, b": cannot list: ", io_text(&e).as_bytes()].concat());
                continue;
            }
        };
        if args.recursive {
            let below = below.iter().rev().map(|name| (dir.join(name), absolute.join(name)));
            waiting.extend(below);
        }
    }
    output::print(|out| {
        if settings.json {
            let files = lister.files.iter().map(JsonListed::from).collect();
            return writeln!(out, "{}", to_json(&Document { files }));
        }
        lister.files.iter().try_for_each(|file| write_text(out, file, settings))
    })?;
    Ok(lister.conclude(settings))
}

#[derive(Serialize)]
struct Document<'a> {
    files: Vec<JsonListed<'a>>,
}

struct Lister<'a> {
    catalog: &'a Catalog,
    files: Vec<Listed>,
    /// What is known of those files that are not empty.
    standings: Vec<Standing>,
    sharers: Sharers,
    waiting: Waiting,
    failed: u64,
}

impl Lister<'_> {
    /// Lists a directory, or says why it cannot; returns the names of the directories in it.
    fn list(
        &mut self,
        path: &Path,
        absolute: &Path,
    ) -> Result<std::io::Result<Vec<OsString>>, CommandError> {
        let (dir, live) = match Dir::open(path).and_then(|dir| read(&dir).map(|live| (dir, live))) {
            Ok(found) => found,
            Err(e) => return Ok(Err(e)),
        };
        let remembered =
            self.catalog.files_in(absolute.as_os_str().as_bytes())?.unwrap_or_default();
        let mut remembered: BTreeMap<Vec<u8>, Entry> =
            remembered.into_iter().map(|entry| (entry.name().to_vec(), entry)).collect();
        let mut below = Vec::new();
        for (name, kind) in live {
            let file_name = OsStr::from_bytes(name.to_bytes());
            match kind {
                Kind::Dir => below.push(file_name.to_owned()),
                Kind::File => {
                    let Ok(now) = dir.stat_child(&name) else { continue };
                    let entry = remembered.remove(name.to_bytes());
                    let file = self.listed(path.join(file_name), &now, entry.as_ref())?;
                    self.files.push(file);
                }
                _ => {}
            }
        }
        Ok(Ok(below))
    }

    fn listed(
        &mut self,
        path: PathBuf,
        now: &Stat,
        entry: Option<&Entry>,
    ) -> Result<Listed, CommandError> {
        let mut standing = entry.map_or(Standing::Missing, |entry| {
            Standing::Is(if entry.is(now) { state_of(entry.state) } else { State::Changed })
        });
        let same = entry.filter(|_| standing.is_known());
        let sharers = same.map(|entry| self.sharers.of(self.catalog, entry)).transpose()?;
        let none = sharers.filter(|sharers| sharers.duplicates == 0);
        if none.is_some_and(|sharers| sharers.changed) {
            standing = Standing::CopiesChanged;
        } else if none.is_some()
            && self.waiting.has(now.size, self.catalog, &mut self.sharers.looker)?
        {
            standing = Standing::Is(State::Pending);
        }
        let duplicates = sharers.filter(|_| standing.is_known()).map(|sharers| sharers.duplicates);
        // Empty files are left out of a scan unless asked for.
        let is_left_out = standing == Standing::Missing && now.size == 0;
        if !is_left_out {
            self.standings.push(standing);
        }
        Ok(Listed {
            path: path.into_os_string().into_vec(),
            size: now.size,
            duplicates,
            digest: same.and_then(|entry| entry.digest),
            state: if is_left_out { Some("empty") } else { standing.mark() },
        })
    }

    /// Says of how many files nothing is known, and returns how the run ends.
    fn conclude(&self, settings: &Settings) -> Exit {
        let unknown = Unknown::of(self.standings.iter().copied());
        let unlisted = (self.failed > 0).then(|| {
            format!("{} could not be listed", counted(self.failed, "directory", "directories"))
        });
        if !settings.json && settings.verbosity != Verbosity::Quiet {
            unknown.lines().iter().for_each(|line| settings.note(line));
        }
        let exit = match unknown.exit(self.standings.len() as u64, Exit::Done) {
            Exit::Done if unlisted.is_some() => Exit::Partial,
            exit => exit,
        };
        let why: Vec<String> = unknown.lines().into_iter().chain(unlisted).collect();
        settings.print_exit_record(exit, &why.join("; "));
        exit
    }
}

/// Returns the names in a directory, sorted.
fn read(dir: &Dir) -> std::io::Result<Vec<(CString, Kind)>> {
    let mut names = Vec::new();
    dir.for_each(&mut DirBuffer::default(), |item| names.push((item.name.to_owned(), item.kind)))?;
    for (name, kind) in &mut names {
        if *kind == Kind::Unknown {
            *kind = dir.stat_child(name).map_or(Kind::Unknown, |stat| stat.kind);
        }
    }
    names.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    Ok(names)
}

fn write_text(out: &mut impl Write, file: &Listed, settings: &Settings) -> std::io::Result<()> {
    let duplicates = file.duplicates.map_or("?".into(), |n| n.to_string());
    write!(out, "{duplicates:>6}  {:>9}  ", size(file.size))?;
    out.write_all(&settings.stdout.names.show_line(&file.path))?;
    match file.state {
        Some(state) => writeln!(out, "  ({state})"),
        None => writeln!(out),
    }
}
