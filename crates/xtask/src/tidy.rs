//! Rules that no lint checks. Each module returns complaints, one per line.
//!
//! | module | rule |
//! |---|---|
//! | `sources` | a file opens with its purpose, is short and is finished |
//! | `orphans` | no source file is forgotten |
//! | `layers`, `rings` | crates depend downwards only; modules of a crate do not import each other in a circle |
//! | `words`, `prose` | no retired word, no sentence without a subject, on `lexer` |
//! | `architecture`, `glossary` | the two pages are short, and name only what exists |

mod architecture;
mod glossary;
mod layers;
mod lexer;
mod orphans;
mod prose;
mod rings;
mod sources;
mod words;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The sources of lop-fleet, which forms a separate workspace.
const FLEET: [&str; 2] = ["fleet/src", "fleet/tests"];

/// The sources of the fuzzers, which form a separate workspace.
const FUZZERS: [&str; 2] = ["fuzz/src", "fuzz/fuzz_targets"];

/// Returns all complaints.
pub(crate) fn run(root: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in ["crates"].iter().chain(&FLEET) {
        list(&root.join(folder), &mut files)?;
    }
    files.sort();
    let mut complaints = sources::check(root, &files)?;
    complaints.extend(orphans::check(root, &files)?);
    complaints.extend(layers::check(root)?);
    complaints.extend(rings::check(root, &files)?);
    complaints.extend(architecture::check(root, &files)?);
    for folder in FUZZERS {
        list(&root.join(folder), &mut files)?;
    }
    complaints.extend(words::check(root, &files)?);
    complaints.extend(prose::check(root, &files)?);
    complaints.extend(glossary::check(root)?);
    Ok(complaints)
}

/// Adds the files below a folder.
fn list(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            list(&entry.path(), files)?;
        } else {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// Returns a path in the form that complaints show.
fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
