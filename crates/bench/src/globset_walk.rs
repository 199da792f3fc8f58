//! A peer for sweeps: a walk of the whole tree that compares each path with all patterns by the
//! crate `globset`, as a program would that does not compile the patterns into an automaton of
//! directories.
//!
//! The patterns are divided into sets, because a single set of all patterns exceeds the limit on
//! the size of a regular expression. The comparison respects case, which is faster.

use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::Failure;

/// Number of patterns in a set.
const SET: usize = 500;

/// Prints the files below `root` that match a line of `patterns`. The patterns are relative to the
/// root.
///
/// # Errors
///
/// The patterns or a directory cannot be read, or a pattern is malformed.
pub fn run(root: &Path, patterns: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(patterns).map_err(|e| Failure::at(patterns, e))?;
    let lines: Vec<&str> = text.lines().collect();
    let sets = lines.chunks(SET).map(set).collect::<Result<Vec<_>, _>>();
    let sets = sets.map_err(|e| Failure::at(patterns, e))?;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut unlisted = vec![PathBuf::new()];
    while let Some(dir) = unlisted.pop() {
        let full = root.join(&dir);
        let at = |e: io::Error| Failure::at(&full, e);
        for entry in fs::read_dir(&full).map_err(at)? {
            let entry = entry.map_err(at)?;
            let path = dir.join(entry.file_name());
            if entry.file_type().map_err(at)?.is_dir() {
                unlisted.push(path);
                continue;
            }
            let candidate = Candidate::new(&path);
            if sets.iter().any(|set| set.is_match_candidate(&candidate)) {
                let line = [full.join(entry.file_name()).as_os_str().as_bytes(), b"\n"].concat();
                out.write_all(&line).map_err(at)?;
            }
        }
    }
    out.flush().map_err(|e| Failure::at(root, e))
}

fn set(patterns: &[&str]) -> Result<GlobSet, globset::Error> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        set.add(GlobBuilder::new(pattern).literal_separator(true).build()?);
    }
    set.build()
}
