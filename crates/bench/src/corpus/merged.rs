//! Checks a tree in which duplicates were replaced by hard links.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use blake3::Hasher;

use super::content::Content;
use super::plan::Plan;
use crate::Failure;

/// The state of a tree after its duplicates were merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merged {
    /// The number of missing names.
    pub(crate) gone: u64,
    /// The number of sets of identical files that were not merged into one file.
    pub(crate) several: u64,
}

/// Looks up every name and reads every file. Every planned content must still exist.
pub(super) fn merged(plan: &Plan, root: &Path) -> Result<Merged, Failure> {
    let mut files: HashMap<&Content, HashSet<u64>> = HashMap::new();
    let (mut gone, mut buffer) = (0, Vec::new());
    for name in &plan.names {
        let content = &plan.inodes[name.inode as usize];
        let path = root.join(&plan.dirs()[name.dir as usize]).join(&*name.text);
        let inode = match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                gone += 1;
                continue;
            }
            found => found.map_err(|e| Failure::at(&path, e))?.ino(),
        };
        if files.entry(content).or_default().insert(inode) {
            let mut found = Hasher::new();
            let read = File::open(&path).and_then(|file| found.update_reader(file).map(|_| ()));
            read.map_err(|e| Failure::at(&path, e))?;
            if found.finalize() != content.digest(&mut buffer) {
                return Err(Failure::at(&path, "holds other bytes than planned"));
            }
        }
    }
    if let Some(lost) = plan.inodes.iter().find(|content| !files.contains_key(content)) {
        return Err(Failure::at(root, format!("a content of {} bytes is gone", lost.size)));
    }
    // Empty files are identical, but they need not be merged.
    let several = files.iter().filter(|(content, files)| content.size > 0 && files.len() > 1);
    Ok(Merged { gone, several: several.count() as u64 })
}
