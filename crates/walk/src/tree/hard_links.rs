//! Counts the second and further names of files. The walk notes only names of inodes with more than one
//! link, so files with one name take no memory here.

use std::collections::HashSet;

use fsops::{FileKey, Stat};

use crate::tree::Tree;

/// A name of a file with several hard links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LinkedName {
    key: FileKey,
    size: u64,
    /// Offset of the name in its block of names.
    name: u32,
}

/// The names of files with several hard links in one block of names.
#[derive(Debug, Default)]
pub(crate) struct LinkedNames(Vec<LinkedName>);

impl LinkedNames {
    /// Notes a name, given by its offset, if its file has several.
    pub(crate) fn note(&mut self, name: u32, stat: &Stat) {
        if stat.links > 1 {
            self.0.push(LinkedName { key: stat.key(), size: stat.size, name });
        }
    }

    /// Removes names, given by their offsets.
    pub(crate) fn forget(&mut self, names: &HashSet<u32>) {
        self.0.retain(|linked| !names.contains(&linked.name));
    }

    pub(crate) fn append(&mut self, other: &mut LinkedNames) {
        self.0.append(&mut other.0);
    }

    /// Counts the names of each file beyond the first.
    pub(crate) fn count_further(mut self) -> FurtherNames {
        self.0.sort_unstable();
        let mut further = FurtherNames::default();
        for same in self.0.chunk_by(|a, b| a.key == b.key) {
            for linked in &same[1..] {
                further.count += 1;
                further.bytes = further.bytes.saturating_add(linked.size);
            }
        }
        further
    }
}

/// Names of files beyond the first name of each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FurtherNames {
    /// Number of names.
    pub count: u64,
    /// Total size of their files in bytes.
    pub bytes: u64,
}

impl Tree {
    /// Returns how many of the names that the walk found belong to a file that it also found under
    /// another name.
    pub fn further_names(&self) -> FurtherNames {
        self.further_names
    }
}
