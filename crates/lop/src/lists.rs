//! Files named in a list instead of found by a walk.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use runtime::Progress;
use walk::{Filter, Tree};

use crate::error::CommandError;
use crate::interrupt;

/// Takes the files of a list, which may be standard input.
pub(crate) fn find(
    list: &Path,
    end: u8,
    filter: &Filter,
    progress: &Progress,
) -> Result<Tree, CommandError> {
    let mut failure = None;
    let paths = lines(list, end)?.map_while(|line| line.map_err(|e| failure = Some(e)).ok());
    let tree = walk::from_list(paths, filter, progress)?;
    match failure {
        // Half a list would pass for the whole.
        Some(e) => Err(unreadable(list, e)),
        None => Ok(tree),
    }
}

/// Returns the paths of a list, which may be standard input.
pub(crate) fn paths(list: &Path, end: u8) -> Result<Vec<PathBuf>, CommandError> {
    let paths: io::Result<Vec<PathBuf>> = lines(list, end)?.collect();
    paths.map_err(|e| unreadable(list, e))
}

fn lines(list: &Path, end: u8) -> Result<impl Iterator<Item = io::Result<PathBuf>>, CommandError> {
    let from: Box<dyn Read> = if list == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let open = interrupt::default_during(|| File::open(list));
        Box::new(open.map_err(|e| unreadable(list, e))?)
    };
    let lines = BufReader::with_capacity(64 * 1024, Patient(from)).split(end);
    let path = |line: Vec<u8>| PathBuf::from(OsString::from_vec(line));
    Ok(lines
        .filter(|line| line.as_ref().map_or(true, |line| !line.is_empty()))
        .map(move |line| line.map(path)))
}

fn unreadable(list: &Path, error: io::Error) -> CommandError {
    CommandError::failed(format!("cannot read the list {}", list.display())).because(error)
}

/// Reads from what may be a pipe whose writer takes its time, so that Ctrl-C ends the wait.
struct Patient<R>(R);

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        interrupt::default_during(|| self.0.read(buffer))
    }
}
