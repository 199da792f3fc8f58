//! Numbers and names of runs, of their journals, and of entries in staging directories.
//!
//! Runs that act on files and runs that trash trees share one sequence of numbers. Only runs that
//! act on files hold the lock of the folder, because removing trees can take hours and must not
//! block other runs. A run therefore takes a number by creating its journal, and gives the number
//! up if a run of the other kind has taken it too.

use std::ffi::CString;
use std::hash::{BuildHasher, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use fsops::{Context, Dir, DirBuffer, Op, Stat, check_private, remove_file};

use crate::error::Error;
use crate::journal::log::Journal;

/// The suffix of the journals of runs that act on files, after the number.
pub(crate) const FILES_SUFFIX: &str = ".jsonl";

/// The suffix of the journals of runs that trash trees.
pub(crate) const TREES_SUFFIX: &str = ".purge.jsonl";

/// Returns the path of a run's journal.
pub(crate) fn journal_path(folder: &Path, run: u64, suffix: &str) -> PathBuf {
    folder.join(format!("{run}{suffix}"))
}

/// Returns the numbers of all runs of a kind in ascending order. The list is empty if the folder
/// does not exist.
pub(crate) fn run_numbers(folder: &Path, suffix: &str) -> Result<Vec<u64>, Error> {
    let dir = match Dir::open(folder) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        dir => dir.context(Op::Open, || folder)?,
    };
    check_private(&dir).context(Op::Open, || folder)?;
    let mut numbers = Vec::new();
    let listed = dir.for_each(&mut DirBuffer::default(), |item| {
        let name = item.name.to_str().ok().and_then(|name| name.strip_suffix(suffix));
        numbers.extend(name.and_then(parse_number).filter(|&number| number < u64::MAX));
    });
    listed.context(Op::List, || folder)?;
    numbers.sort_unstable();
    Ok(numbers)
}

/// Creates the journal of a new run. Returns the run number and the journal.
pub(crate) fn create_next_journal(folder: &Path, suffix: &str) -> Result<(u64, Journal), Error> {
    let other = if suffix == FILES_SUFFIX { TREES_SUFFIX } else { FILES_SUFFIX };
    loop {
        let last =
            |suffix| Ok::<_, Error>(run_numbers(folder, suffix)?.last().copied().unwrap_or(0));
        let run = last(FILES_SUFFIX)?.max(last(TREES_SUFFIX)?) + 1;
        let journal = match Journal::create(journal_path(folder, run, suffix)) {
            Err(Error::File(e)) if e.source.kind() == ErrorKind::AlreadyExists => continue,
            journal => journal?,
        };
        // If two runs create journals with the same number, each looks for the other journal after
        // creating its own. At least one of them finds the other journal and gives up the number.
        if Stat::of_path(&journal_path(folder, run, other)).is_err() {
            return Ok((run, journal));
        }
        remove_file(&journal_path(folder, run, suffix))?;
    }
}

/// Returns an ID for a run that is unique across journal folders, because runs of different folders
/// share the `.lop-quarantine-UID` directories.
pub(crate) fn new_run_id(started_ms: i64) -> String {
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    format!("{started_ms}-{random:016x}")
}

/// Returns the name of entry `n` in a staging directory.
pub(crate) fn staged_name(n: u64) -> CString {
    CString::new(n.to_string()).unwrap_or_default()
}

/// Parses a number without sign or leading zeros, as [`staged_name`] writes it.
pub(crate) fn parse_number(text: &str) -> Option<u64> {
    text.parse().ok().filter(|n: &u64| n.to_string() == text)
}
