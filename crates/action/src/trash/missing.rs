//! Finds trees of a run that are no longer in their staging directory.
//!
//! A power failure can revert the rename of a tree, the creation of its staging directory, or both,
//! while the journal on another disk survives. Without this check, such a run would never end.
//!
//! A missing staging directory alone proves nothing, because its file system may not be mounted. It
//! counts as gone only if the directory that contained `.lop-quarantine-UID` is the one in the
//! journal. A tree counts as not moved only if the tree itself is at its path. Both are identified
//! by inode number and birth time.

use std::io::{self, ErrorKind};

use fsops::Stat;
use walk::PathOpener;

use crate::error::Error;
use crate::staging::dir::{open_staging, parent_of_outer};
use crate::trash::journal::{TrashRecord, TreeRecord};
use crate::trash::run::{MAX_OPEN_DIRS, TrashRun};

/// A tree that is not in its staging directory.
#[derive(Debug)]
pub struct MissingTree {
    /// The former path of the tree.
    pub path: Vec<u8>,
    /// The staging directory that the tree was or would have been moved to.
    pub store: Vec<u8>,
    /// Whether the tree is at its former path. If not, its staging directory is gone with all
    /// contents.
    pub is_at_path: bool,
}

impl TrashRun {
    /// Finds trees that are not in their staging directory because they are at their former paths
    /// or because the staging directory is gone. Marks these trees as settled in the journal.
    /// Ignores trees that were removed from an existing staging directory.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read or written. Only the journal may have changed.
    pub fn find_missing(&self) -> Result<Vec<MissingTree>, Error> {
        let (replay, mut reach) = (self.replay()?, PathOpener::new(MAX_OPEN_DIRS));
        let mut missing = Vec::new();
        for tree in replay.trees.values().filter(|tree| !tree.is_settled) {
            let Some(staging_path) = replay.staging_dirs.get(&tree.store) else { continue };
            let Some(is_at_path) = locate_tree(tree, staging_path, &mut reach) else { continue };
            let n = tree.n;
            self.journal.append_record(&if is_at_path {
                TrashRecord::Not { n }
            } else {
                TrashRecord::Gone { n }
            })?;
            let (path, store) = (tree.path.0.clone(), staging_path.clone());
            missing.push(MissingTree { path, store, is_at_path });
        }
        Ok(missing)
    }
}

/// Returns true if a tree is at its path, and false if it is gone with its staging directory.
/// Returns `None` if neither is certain.
fn locate_tree(tree: &TreeRecord, staging_path: &[u8], reach: &mut PathOpener) -> Option<bool> {
    let has_staging_dir = match open_staging(tree.store, staging_path, reach) {
        Ok(staging) => match staging.dir.stat_child(&staging.name_of(tree.n)) {
            Err(e) if e.kind() == ErrorKind::NotFound => true,
            _ => return None,
        },
        Err(e) if e.kind() == ErrorKind::NotFound => false,
        Err(_) => return None,
    };
    match reach.stat(&tree.path.0) {
        Ok(stat) if tree.is.is_of(&stat) => return Some(true),
        Err(e) if !is_nothing_there(&e) => return None,
        _ => {}
    }
    (!has_staging_dir && is_mounted(tree, staging_path, reach)).then_some(false)
}

/// Returns whether an error means that a path does not exist. This includes an ancestor that is not
/// a directory.
fn is_nothing_there(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Returns whether the directory in which `.lop-quarantine-UID` was created exists.
fn is_mounted(tree: &TreeRecord, staging_path: &[u8], reach: &mut PathOpener) -> bool {
    let stat: io::Result<Stat> =
        reach.dir(parent_of_outer(staging_path)).and_then(|dir| dir.stat());
    tree.store_in.zip(stat.ok()).is_some_and(|(mark, stat)| mark.is_of(&stat))
}
