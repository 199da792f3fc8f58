//! Remembers which files have only one name, and so have no further name below a root.
//!
//! Most files have only one name. If the watcher examined such a file at each of
//! its events, this would take most of the watcher's time. When the link count of a file changes, the
//! kernel sends an event, and the watcher examines the file again.

use std::collections::HashSet;

/// Maximum number of files in a set.
const MAX_FILES: usize = 8192;

/// Files with one name and files with several names, by the keys of their handles.
#[derive(Debug, Default)]
pub(super) struct Links {
    single: HashSet<Box<[u8]>>,
    /// Files with several names whose link count changed recently. The second set is older.
    several: [HashSet<Box<[u8]>>; 2],
}

impl Links {
    /// Returns whether the watcher knows that a file has only one name.
    pub(super) fn is_single(&self, file: &[u8]) -> bool {
        self.single.contains(file)
    }

    /// Notes that a file has one name.
    pub(super) fn add_single(&mut self, file: &[u8]) {
        if self.single.len() >= MAX_FILES {
            self.single.clear();
        }
        self.single.insert(file.into());
    }

    /// Notes the creation of a name. If the file is new, this is its only name. If the name is a further link, the
    /// kernel reports the new link count right before the name.
    pub(super) fn created(&mut self, file: &[u8]) {
        if !self.several.iter().any(|files| files.contains(file)) {
            self.add_single(file);
        }
    }

    /// Notes a new link count.
    pub(super) fn changed(&mut self, file: &[u8], links: u32) {
        self.single.remove(file);
        if links > 1 {
            if self.several[0].len() >= MAX_FILES {
                self.several[1] = std::mem::take(&mut self.several[0]);
            }
            self.several[0].insert(file.into());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Links, MAX_FILES};

    #[test]
    fn new_file_has_one_name_until_it_is_linked() {
        let mut links = Links::default();
        assert!(!links.is_single(b"a"));
        links.created(b"a");
        assert!(links.is_single(b"a"));
        links.changed(b"a", 2);
        links.created(b"a");
        assert!(!links.is_single(b"a"));
        links.changed(b"a", 1);
        assert!(!links.is_single(b"a"), "it is examined again");
    }

    #[test]
    fn memory_is_bounded() {
        let mut links = Links::default();
        for number in 0..5 * MAX_FILES {
            let file = number.to_ne_bytes();
            links.add_single(&file);
            links.changed(&file, 2);
            links.created(&file);
            assert!(!links.is_single(&file));
            links.add_single(&file);
        }
        assert!(links.single.len() <= MAX_FILES);
        assert!(links.several.iter().all(|files| files.len() <= MAX_FILES));
    }
}
