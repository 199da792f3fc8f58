//! Lists of paths, from a file or from standard input (`-`).

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use runtime::Progress;
use walk::{Filter, Tree};

use crate::error::CommandError;
use crate::monitor::interrupt;

/// Reads a list of paths and returns the tree of the listed files. Each path ends with a newline, or with NUL if
/// `null` is set.
///
/// # Errors
///
/// Fails if the list cannot be read to its end, because a partial list must not be mistaken for the whole list. Also
/// fails on an interrupt.
pub(crate) fn find_files(
    list: &Path,
    null: bool,
    filter: &Filter,
    progress: &Progress,
) -> Result<Tree, CommandError> {
    let mut failure = None;
    let paths = lines(list, null)?.map_while(|line| line.map_err(|e| failure = Some(e)).ok());
    let tree = walk::from_list(paths, filter, progress)?;
    match failure {
        Some(e) => Err(unreadable(list, e)),
        None => Ok(tree),
    }
}

/// Reads a list of paths. Each path ends with a newline, or with NUL if `null` is set.
///
/// # Errors
///
/// Fails if the list cannot be read to its end.
pub(crate) fn read(list: &Path, null: bool) -> Result<Vec<PathBuf>, CommandError> {
    let paths: io::Result<Vec<PathBuf>> = lines(list, null)?.collect();
    paths.map_err(|e| unreadable(list, e))
}

fn lines(
    list: &Path,
    null: bool,
) -> Result<impl Iterator<Item = io::Result<PathBuf>>, CommandError> {
    let from: Box<dyn Read> = if list == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let open = interrupt::default_during(|| File::open(list));
        Box::new(open.map_err(|e| unreadable(list, e))?)
    };
    let end = if null { 0 } else { b'\n' };
    let lines = BufReader::with_capacity(64 * 1024, Interruptible(from)).split(end);
    let path = |line: Vec<u8>| PathBuf::from(OsString::from_vec(line));
    Ok(lines
        .filter(|line| line.as_ref().map_or(true, |line| !line.is_empty()))
        .map(move |line| line.map(path)))
}

fn unreadable(list: &Path, error: io::Error) -> CommandError {
    CommandError::failed(format!("cannot read the list {}", list.display())).because(error)
}

/// A reader that Ctrl-C can interrupt while it waits. The list may be a pipe with a slow writer.
struct Interruptible<R>(R);

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        interrupt::default_during(|| self.0.read(buffer))
    }
}
