//! Tracks which files remain once all redundant directories found so far are deleted.

use std::ops::Range;

use super::index::{FolderIndex, NONE};

/// The remaining files, as a union-find structure over occurrences.
pub(super) struct Remaining {
    /// For each occurrence, the occurrence itself if its file remains. Otherwise, a later
    /// occurrence: the next one whose file remains, or one before it.
    next: Vec<u32>,
    /// The occurrence of each file.
    occurrence_of: Vec<u32>,
    /// For each directory, true if it is redundant or below a redundant directory.
    redundant: Vec<bool>,
}

impl Remaining {
    pub(super) fn new(index: &FolderIndex) -> Remaining {
        let occurrences = u32::try_from(index.occurrence_count()).unwrap_or(NONE);
        let mut occurrence_of = vec![NONE; index.files.len()];
        for occurrence in 0..occurrences {
            occurrence_of[index.file_at(occurrence) as usize] = occurrence;
        }
        let redundant = vec![false; index.dirs.len()];
        Remaining { next: (0..=occurrences).collect(), occurrence_of, redundant }
    }

    /// Returns whether a directory is redundant or below a redundant one.
    pub(super) fn is_redundant(&self, dir_number: u32) -> bool {
        self.redundant[dir_number as usize]
    }

    /// Returns whether a file is below a redundant directory.
    pub(super) fn is_removed(&self, file_number: u32) -> bool {
        let occurrence = self.occurrence_of[file_number as usize];
        occurrence != NONE && self.next[occurrence as usize] != occurrence
    }

    /// Marks a directory and everything below it as removed.
    pub(super) fn remove(&mut self, index: &FolderIndex, dir_number: u32) {
        let dir = &index.dirs[dir_number as usize];
        self.redundant[dir_number as usize..dir.end as usize].fill(true);
        for file_number in dir.files.clone() {
            let occurrence = self.occurrence_of[file_number as usize];
            if occurrence != NONE && self.next[occurrence as usize] == occurrence {
                self.next[occurrence as usize] = occurrence + 1;
            }
        }
    }

    /// Returns the number of the first remaining file of a content at or after a file number.
    pub(super) fn first_from(&mut self, index: &FolderIndex, content: u32, at: u32) -> Option<u32> {
        let occurrence = self.skip(index.occurrence_from(content, at));
        (occurrence < index.occurrences(content).end).then(|| index.file_at(occurrence))
    }

    /// Returns whether a file of a content remains in a range of file numbers.
    pub(super) fn has(&mut self, index: &FolderIndex, content: u32, within: &Range<u32>) -> bool {
        self.first_from(index, content, within.start).is_some_and(|found| found < within.end)
    }

    /// Returns the first occurrence at or after `occurrence` whose file remains. Compresses the
    /// path to it.
    fn skip(&mut self, occurrence: u32) -> u32 {
        let mut end = occurrence;
        while self.next[end as usize] != end {
            end = self.next[end as usize];
        }
        let mut at = occurrence;
        while at != end {
            at = std::mem::replace(&mut self.next[at as usize], end);
        }
        end
    }
}
