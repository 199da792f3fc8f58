//! Determines which files a running or stopped search has not compared yet.

use std::collections::HashMap;

use content::{Fingerprints, Head};
use runtime::Progress;
use walk::{FileId, Tree};

use crate::classes::{Classes, classes, names_of_inodes};
use crate::groups::copy_to_all_names;

/// The files of a tree that share their size with another inode.
#[derive(Debug)]
pub struct Candidates {
    classes: Classes,
}

impl Candidates {
    /// Finds the candidates of a tree.
    pub fn new(tree: &Tree, progress: &Progress) -> Candidates {
        Candidates { classes: classes(tree, false, 1, progress) }
    }

    /// Returns, for each file, whether it still has to be compared with others of its size. Copies
    /// what is known about the first name of an inode to its other names.
    ///
    /// A running search may add to `fingerprints` at the same time. All information that it adds is
    /// correct, so a later call can only return fewer pending files.
    pub fn pending(
        &self,
        tree: &Tree,
        fingerprints: &Fingerprints,
        progress: &Progress,
    ) -> Vec<bool> {
        let mut pending = vec![false; tree.files().len()];
        for class in self.classes.iter() {
            let inodes: Vec<&[FileId]> = names_of_inodes(tree, progress, class).collect();
            for names in &inodes {
                // The first name, which the search uses, is not modified.
                copy_to_all_names(fingerprints, names);
            }
            mark(fingerprints, &inodes, &mut pending);
        }
        pending
    }
}

/// Marks the files of a class that have no content yet. If all heads of the class are known, files
/// with a unique head are skipped.
fn mark(fingerprints: &Fingerprints, inodes: &[&[FileId]], pending: &mut [bool]) {
    let mut heads: HashMap<Head, u32> = HashMap::new();
    let mut all_read = true;
    let there = || inodes.iter().filter(|names| !fingerprints.dropped(names[0].0));
    for names in there() {
        match fingerprints.head(names[0].0) {
            Some(head) => *heads.entry(head).or_default() += 1,
            None => all_read = false,
        }
    }
    for names in there().filter(|names| fingerprints.content(names[0].0).is_none()) {
        let head = fingerprints.head(names[0].0);
        let is_alone = head.is_some_and(|head| heads.get(&head) == Some(&1));
        if !(all_read && is_alone) {
            for name in *names {
                pending[name.0 as usize] = true;
            }
        }
    }
}
