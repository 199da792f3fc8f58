//! The changed entries of one directory.

use std::collections::HashMap;

use super::ENTRY_BYTES;
use crate::answer::Entries;

/// Maximum number of names of a directory. If more names have changed, a scan lists the whole directory.
const MAX_NAMES: usize = 1024;

/// Maximum length of all names of a directory.
const MAX_NAME_BYTES: usize = 32 << 10;

/// The changed entries of a directory: by name, or only the numbers of the last changes.
#[derive(Debug, Default)]
pub(super) struct DirNote {
    names: HashMap<Box<[u8]>, Change>,
    /// The length of all names.
    name_bytes: usize,
    /// The last changes of the entries whose names the watcher has forgotten.
    unnamed: Option<Change>,
    /// A number that is not larger than the number of any change.
    oldest: Option<u64>,
    last: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Change {
    /// The number of the last change.
    number: u64,
    /// The number of the last change that may have replaced the entry with a different directory, or 0.
    dir_number: u64,
}

impl Change {
    fn at(number: u64, is_dir: bool) -> Change {
        Change { number, dir_number: if is_dir { number } else { 0 } }
    }

    fn add(&mut self, other: Change) {
        self.number = self.number.max(other.number);
        self.dir_number = self.dir_number.max(other.dir_number);
    }
}

impl DirNote {
    /// Returns the number of the last change, or `None` if there are no changes.
    pub(super) fn last(&self) -> Option<u64> {
        self.last
    }

    /// Returns a number that is not larger than the number of any change, or `None` if there are no changes.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.oldest
    }

    /// Returns the estimated memory of the names.
    pub(super) fn bytes(&self) -> usize {
        self.name_bytes + self.names.len() * ENTRY_BYTES
    }

    /// Notes a change of a name. Returns the number of its previous change, and by how much the
    /// memory has grown.
    pub(super) fn change(
        &mut self,
        name: &[u8],
        number: u64,
        is_dir: bool,
    ) -> (Option<u64>, isize) {
        self.last = Some(number);
        self.oldest.get_or_insert(number);
        let change = Change::at(number, is_dir);
        if let Some(unnamed) = &mut self.unnamed {
            let before = unnamed.number;
            unnamed.add(change);
            return (Some(before), 0);
        }
        if let Some(known) = self.names.get_mut(name) {
            let before = known.number;
            known.add(change);
            return (Some(before), 0);
        }
        let before = self.bytes();
        self.names.insert(name.into(), change);
        self.name_bytes += name.len();
        if self.names.len() > MAX_NAMES || self.name_bytes > MAX_NAME_BYTES {
            self.collapse();
        }
        (None, self.bytes().cast_signed() - before.cast_signed())
    }

    /// Forgets the names, and keeps the numbers of the last changes. Returns how much memory this frees.
    pub(super) fn collapse(&mut self) -> usize {
        let freed = self.bytes();
        for change in std::mem::take(&mut self.names).into_values() {
            self.unnamed.get_or_insert_default().add(change);
        }
        self.name_bytes = 0;
        freed
    }

    /// Forgets the changes up to a number. Returns how much memory this frees.
    pub(super) fn discard(&mut self, until: u64) -> usize {
        let before = self.bytes();
        self.names.retain(|_, change| change.number > until);
        self.names.shrink_to_fit();
        self.name_bytes = self.names.keys().map(|name| name.len()).sum();
        self.unnamed = self.unnamed.filter(|change| change.number > until);
        let numbers = self.names.values().chain(&self.unnamed).map(|change| change.number);
        self.oldest = numbers.min();
        self.last = self.last.filter(|_| self.oldest.is_some());
        before - self.bytes()
    }

    /// Returns the number of entries that have changed after a number. All entries without remembered names count as
    /// one.
    pub(super) fn count_above(&self, number: u64) -> u64 {
        let changes = self.names.values().chain(&self.unnamed);
        changes.filter(|change| change.number > number).count() as u64
    }

    /// Returns the entries that have changed after a number, or `None` if no entry has.
    pub(super) fn entries(&self, since: u64) -> Option<Entries> {
        if let Some(unnamed) = self.unnamed {
            let has_dir = unnamed.dir_number > since;
            let entries = if has_dir { Entries::Tree } else { Entries::All };
            return (unnamed.number > since).then_some(entries);
        }
        let names = self.names.iter().filter(|(_, change)| change.number > since);
        let mut names: Vec<(Vec<u8>, bool)> =
            names.map(|(name, change)| (name.to_vec(), change.dir_number > since)).collect();
        names.sort_unstable();
        (!names.is_empty()).then_some(Entries::Names(names))
    }
}
