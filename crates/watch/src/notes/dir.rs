//! The changed entries of one directory.

use super::NAME_BYTES;
use crate::answer::Entries;

/// Maximum number of names of a directory. If more names have changed, a scan lists the whole directory.
const MAX_NAMES: usize = 1024;

/// Maximum length of all names of a directory.
const MAX_NAME_BYTES: usize = 32 << 10;

/// The changed entries of a directory: by name, or only the numbers of the last changes. Numbers are not zero, so zero
/// means that a change does not exist.
#[derive(Debug, Default)]
pub(super) struct DirNote {
    /// The changes by name, sorted. Most directories have very few of them.
    names: Vec<(Box<[u8]>, Change)>,
    /// The length of all names.
    name_bytes: usize,
    /// The last changes of the entries whose names the watcher has forgotten.
    unnamed: Change,
    /// A number that is not larger than the number of any change.
    oldest: u64,
    last: u64,
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
        Some(self.last).filter(|number| *number > 0)
    }

    /// Returns a number that is not larger than the number of any change, or `None` if there are no changes.
    pub(super) fn oldest(&self) -> Option<u64> {
        Some(self.oldest).filter(|number| *number > 0)
    }

    /// Returns the estimated memory of the names.
    pub(super) fn bytes(&self) -> usize {
        self.name_bytes + self.names.len() * NAME_BYTES
    }

    /// Notes a change of a name. Returns the number of its previous change, and by how much the
    /// memory has grown.
    pub(super) fn change(
        &mut self,
        name: &[u8],
        number: u64,
        is_dir: bool,
    ) -> (Option<u64>, isize) {
        self.last = number;
        self.oldest = if self.oldest == 0 { number } else { self.oldest };
        let change = Change::at(number, is_dir);
        if self.unnamed.number > 0 {
            let before = self.unnamed.number;
            self.unnamed.add(change);
            return (Some(before), 0);
        }
        let at = match self.names.binary_search_by(|(known, _)| (**known).cmp(name)) {
            Ok(at) => {
                let known = &mut self.names[at].1;
                let before = known.number;
                known.add(change);
                return (Some(before), 0);
            }
            Err(at) => at,
        };
        let before = self.bytes();
        if self.names.len() == self.names.capacity() {
            // The first name takes the space of one name, not of four.
            self.names.reserve_exact(self.names.len().max(1));
        }
        self.names.insert(at, (name.into(), change));
        self.name_bytes += name.len();
        if self.names.len() > MAX_NAMES || self.name_bytes > MAX_NAME_BYTES {
            self.collapse();
        }
        (None, self.bytes().cast_signed() - before.cast_signed())
    }

    /// Forgets the names, and keeps the numbers of the last changes. Returns how much memory this frees.
    pub(super) fn collapse(&mut self) -> usize {
        let freed = self.bytes();
        for (_, change) in std::mem::take(&mut self.names) {
            self.unnamed.add(change);
        }
        self.name_bytes = 0;
        freed
    }

    /// Forgets the changes up to a number. Returns how much memory this frees.
    pub(super) fn discard(&mut self, until: u64) -> usize {
        let before = self.bytes();
        self.names.retain(|(_, change)| change.number > until);
        self.names.shrink_to_fit();
        self.name_bytes = self.names.iter().map(|(name, _)| name.len()).sum();
        if self.unnamed.number <= until {
            self.unnamed = Change::default();
        }
        self.oldest = self.numbers().min().unwrap_or(0);
        self.last = if self.oldest == 0 { 0 } else { self.last };
        before - self.bytes()
    }

    /// Returns the number of entries that have changed after a number. All entries without remembered names count as
    /// one.
    pub(super) fn count_above(&self, number: u64) -> u64 {
        self.numbers().filter(|change| *change > number).count() as u64
    }

    /// Returns the numbers of all changes.
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let changes = self.names.iter().map(|(_, change)| change).chain([&self.unnamed]);
        changes.map(|change| change.number).filter(|number| *number > 0)
    }

    /// Returns the entries that have changed after a number, or `None` if no entry has.
    pub(super) fn entries(&self, since: u64) -> Option<Entries> {
        if self.unnamed.number > 0 {
            let has_dir = self.unnamed.dir_number > since;
            let entries = if has_dir { Entries::Tree } else { Entries::All };
            return (self.unnamed.number > since).then_some(entries);
        }
        let names = self.names.iter().filter(|(_, change)| change.number > since);
        let mut names: Vec<(Vec<u8>, bool)> =
            names.map(|(name, change)| (name.to_vec(), change.dir_number > since)).collect();
        // The list becomes part of an answer, which may contain very many lists.
        names.shrink_to_fit();
        (!names.is_empty()).then_some(Entries::Names(names))
    }
}
