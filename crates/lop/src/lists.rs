//! Files named in a list instead of found by a walk.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use fsops::Watch;
use walk::{Filter, Tree};

use crate::error::CommandError;
use crate::interrupt;

/// Takes the files of a list, which may be standard input.
pub(crate) fn find(
    list: &Path,
    end: u8,
    filter: &Filter,
    watch: &Watch,
) -> Result<Tree, CommandError> {
    let unreadable = |e: io::Error| {
        CommandError::failed(format!("cannot read the list {}", list.display())).because(e)
    };
    let from: Box<dyn Read> = if list == Path::new("-") {
        Box::new(io::stdin())
    } else {
        let open = interrupt::default_during(|| File::open(list));
        Box::new(open.map_err(unreadable)?)
    };
    let mut failure = None;
    let paths = BufReader::with_capacity(64 * 1024, Patient(from))
        .split(end)
        .map_while(|line| line.map_err(|e| failure = Some(e)).ok())
        .filter(|line| !line.is_empty())
        .map(|line| PathBuf::from(OsString::from_vec(line)));
    let tree = walk::from_list(paths, filter, watch)?;
    match failure {
        // Half a list would pass for the whole.
        Some(e) => Err(unreadable(e)),
        None => Ok(tree),
    }
}

/// Reads from what may be a pipe whose writer takes its time, so that Ctrl-C ends the wait.
struct Patient<R>(R);

impl<R: Read> Read for Patient<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        interrupt::default_during(|| self.0.read(buffer))
    }
}
