//! Rules that no lint knows: how files open, how long they are, that none is forgotten, which crate
//! may use which, and that ARCHITECTURE.md speaks of what exists.

mod architecture;
mod layers;
mod orphans;
mod sources;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Returns a complaint about everything that is not as it should be.
pub(crate) fn run(root: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    list(&root.join("crates"), &mut files)?;
    files.sort();
    let mut complaints = sources::check(root, &files)?;
    complaints.extend(orphans::check(root, &files)?);
    complaints.extend(layers::check(root)?);
    complaints.extend(architecture::check(root, &files)?);
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

/// Returns a path as it is written in a complaint.
fn shown(root: &Path, path: &Path) -> String {
    path.strip_prefix(root).unwrap_or(path).display().to_string()
}
