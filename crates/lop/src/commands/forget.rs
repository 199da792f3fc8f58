//! `lop forget`: forgets what is remembered below some paths, or of disks that are not mounted.

use std::ffi::OsString;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use catalog::{Rows, Writer};
use serde::Serialize;
use walk::FileId;

use crate::args::ForgetArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::folder::is_below;
use crate::formats::summary_document;
use crate::output;
use crate::quantity::counted;
use crate::remembered::waiting;
use crate::settings::{Settings, Verbosity};
use crate::sources::files;

/// Runs the command.
pub(crate) fn run(args: &ForgetArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let path = settings.catalog()?;
    // A catalog that is not there is not to be made.
    drop(crate::remembered::open(settings)?);
    let writer = Writer::open(&path, |holder| settings.complain(waiting(holder).as_bytes()))?;
    let mut summary = Summary { forgotten: 0, unknown_paths: 0 };
    if args.offline {
        summary.forgotten = forget_offline(&writer, &args.paths)?;
    } else {
        for path in &args.paths {
            let mut files = 0;
            for path in meanings(path)? {
                files += writer.forget_below(&path)?;
            }
            summary.forgotten += files;
            if files == 0 {
                summary.unknown_paths += 1;
                let path = path.as_os_str().as_encoded_bytes();
                settings.complain(&[path, b": nothing is remembered there"].concat());
            }
        }
    }
    output::print(|out| {
        if settings.json {
            writeln!(out, "{}", summary_document(&summary))
        } else if settings.verbosity == Verbosity::Quiet {
            Ok(())
        } else {
            writeln!(out, "{}", summary.text())
        }
    })?;
    if summary.unknown_paths == 0 {
        return Ok(Exit::Done);
    }
    let exit = if summary.forgotten == 0 { Exit::Failed } else { Exit::Partial };
    settings.print_exit_record(exit, &summary.text());
    Ok(exit)
}

/// Forgets the files on disks that are not mounted, below these paths if there are any.
fn forget_offline(writer: &Writer, paths: &[PathBuf]) -> Result<u64, CommandError> {
    let loaded = writer.catalog().load(Rows::All)?;
    let mut below = Vec::new();
    for path in paths {
        below.extend(meanings(path)?);
    }
    let tree = &loaded.tree;
    let is_wanted = |&file: &FileId| {
        let path = || tree.absolute_path(file);
        let is_in = |path: &Vec<u8>| below.iter().any(|dir| dir == path || is_below(dir, path));
        tree.is_offline(file) && (below.is_empty() || is_in(&path()))
    };
    let gone: Vec<FileId> = files(tree).into_iter().filter(is_wanted).collect();
    writer.forget(&loaded, &gone)?;
    Ok(gone.len() as u64)
}

/// Returns the absolute paths that may be meant: where links lead to now, which is how a catalog names what is
/// there, and the path as it is spelt, as there may be a link now where a disk was.
pub(super) fn meanings(path: &Path) -> Result<Vec<Vec<u8>>, CommandError> {
    let absolute = std::path::absolute(path)
        .map_err(|e| CommandError::failed("cannot tell the current directory").because(e))?;
    let spelt = spelt(&absolute);
    let mut meanings = vec![OsString::from(resolved(&absolute)).into_vec()];
    let spelt = OsString::from(spelt).into_vec();
    if !meanings.contains(&spelt) {
        meanings.push(spelt);
    }
    Ok(meanings)
}

/// Returns an absolute path with all links resolved, as far down as there is something.
fn resolved(absolute: &Path) -> PathBuf {
    let there = absolute.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = there else { return spelt(absolute) };
    let rest = absolute.strip_prefix(above).unwrap_or(Path::new(""));
    spelt(&real.join(rest))
}

/// Returns an absolute path without `..`, as it is spelt.
fn spelt(absolute: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
    }
    path
}

#[derive(Serialize)]
struct Summary {
    /// Files that are remembered no more.
    forgotten: u64,
    /// Paths of which nothing was remembered.
    unknown_paths: u64,
}

impl Summary {
    fn text(&self) -> String {
        format!("{} forgotten", counted(self.forgotten, "file", "files"))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{resolved, spelt};

    #[test]
    fn a_path_is_spelt_without_dots() {
        assert_eq!(spelt(Path::new("/a/./b/../c/")), Path::new("/a/c"));
        assert_eq!(spelt(Path::new("/../a")), Path::new("/a"));
    }

    #[test]
    fn what_is_not_there_is_below_what_is() {
        let here = Path::new("/").canonicalize().expect("a root");
        assert_eq!(resolved(Path::new("/no such/x/../y")), here.join("no such/y"));
    }
}
