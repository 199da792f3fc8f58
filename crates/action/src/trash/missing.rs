//! Trees of a run that are not in their store any more.
//!
//! A power failure can take back the rename of a tree, the directory that it was renamed into, or both, while the
//! journal on another disk is safe. Without a further look, such a run would never end.
//!
//! A store that is not found proves nothing by itself, as its file system may not be mounted. That a store is gone
//! is only believed if the directory above it is the one that the journal noted; that a tree was not moved, if the
//! tree itself is at its path. Both are known by inode number and time of birth.

use std::io::{self, ErrorKind};

use fsops::Stat;
use walk::Reach;

use crate::error::Error;
use crate::staging::dir::{open_staging, parent_of_store};
use crate::trash::journal::{StagingRecord, TrashRecord, TreeRecord};
use crate::trash::run::{OPEN_DIRS, TrashRun};

/// A tree that is not in its store.
#[derive(Debug)]
pub struct MissingTree {
    /// Where it was.
    pub path: Vec<u8>,
    /// The directory that it was moved to, or was to be.
    pub store: Vec<u8>,
    /// Whether it is at its path. Otherwise its store is gone, with all that was in it.
    pub is_at_path: bool,
}

impl TrashRun {
    /// Finds trees that are at their paths and not in their store, or whose store is gone, and notes it: the run
    /// has nothing more to do with them. One that is in no store because it was removed is not among them.
    ///
    /// # Errors
    ///
    /// That the journal cannot be read or written. Nothing but the journal was changed.
    pub fn find_missing(&self) -> Result<Vec<MissingTree>, Error> {
        let (replay, mut reach) = (self.replay()?, Reach::new(OPEN_DIRS));
        let mut missing = Vec::new();
        for tree in replay.trees.values().filter(|tree| !tree.over) {
            let Some(store) = replay.store_of(tree) else { continue };
            let Some(is_at_path) = look_for(tree, store, &mut reach) else { continue };
            let n = tree.n;
            self.journal.note(&if is_at_path {
                TrashRecord::Not { n }
            } else {
                TrashRecord::Gone { n }
            })?;
            missing.push(MissingTree {
                path: tree.path.0.clone(),
                store: store.path.clone(),
                is_at_path,
            });
        }
        Ok(missing)
    }
}

/// Returns whether a tree is at its path, if that or the loss of its store is certain.
fn look_for(tree: &TreeRecord, store: &StagingRecord, reach: &mut Reach) -> Option<bool> {
    let has_store = match open_staging(store.number, &store.path, reach) {
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
    (!has_store && is_mounted(tree, store, reach)).then_some(false)
}

/// Returns whether an error is that nothing is at a path, of which another entry may have a part by now.
fn is_nothing_there(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Returns whether the directory that a store was made in is there.
fn is_mounted(tree: &TreeRecord, store: &StagingRecord, reach: &mut Reach) -> bool {
    let stat: io::Result<Stat> = reach.dir(parent_of_store(&store.path)).and_then(|dir| dir.stat());
    tree.store_in.zip(stat.ok()).is_some_and(|(mark, stat)| mark.is_of(&stat))
}
