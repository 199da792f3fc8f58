//! The status change times that lop's own changes gave to inodes.
//!
//! A link, a rename and a removed name change the status of an inode, and so does whoever writes to the file. Size and
//! modification time can be kept by an edit; the status change time cannot. So a catalog may take over a status change
//! time only if lop itself caused it: it was seen right after a change of lop, and right before that change the inode had
//! the time that was known. [`Statuses`] has the first and the last of such a chain of times for each inode, and no time
//! for an inode whose chain has a gap.
//!
//! What happens within one tick of the kernel's clock (10 ms at most) after lop's change gets the same time, unless the
//! kernel gives finer ones to files that were looked at (Linux 6.13).

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use fsops::{FileKey, Stat};

/// How the status change time of an inode became what it is by changes of lop alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// What it was before the first of them, nanoseconds since the epoch; nothing if lop made the file.
    pub before_ns: Option<i64>,
    /// What it was after the last of them, nanoseconds since the epoch.
    pub after_ns: i64,
}

/// The status change times that lop's changes gave, by inode.
#[derive(Debug, Default)]
pub struct Statuses(HashMap<FileKey, Option<Status>>);

impl Statuses {
    /// Returns what is known of an inode; nothing if lop did not change it, or others may have done so meanwhile.
    pub fn of(&self, key: FileKey) -> Option<Status> {
        self.0.get(&key).copied().flatten()
    }

    /// Notes a change of lop: a file right before it and right after it. If that is not known, or is another file by
    /// then, nothing is known of the first.
    pub(crate) fn note(&mut self, before: &Stat, after: Option<Stat>) {
        let key = before.key();
        match after.filter(|after| after.same_content(before)) {
            Some(Stat { ctime_ns: after_ns, .. }) => {
                self.link(key, Status { before_ns: Some(before.ctime_ns), after_ns });
            }
            None => self.doubt(key),
        }
    }

    /// Notes a file that lop made, as it is now.
    pub(crate) fn note_made(&mut self, file: &Stat) {
        // The number may have been that of another file.
        self.0.insert(file.key(), Some(Status { before_ns: None, after_ns: file.ctime_ns }));
    }

    /// Notes that it is not known who changed an inode.
    pub(crate) fn doubt(&mut self, key: FileKey) {
        self.0.insert(key, None);
    }

    /// Returns whether a file has the status that lop's last change gave it.
    pub(crate) fn has(&self, file: &Stat) -> bool {
        self.of(file.key()).is_some_and(|status| status.after_ns == file.ctime_ns)
    }

    /// Adds changes that were made at the same time on other inodes, or later.
    pub(crate) fn add(&mut self, later: Statuses) {
        for (key, status) in later.0 {
            match status {
                Some(status) => self.link(key, status),
                None => self.doubt(key),
            }
        }
    }

    fn link(&mut self, key: FileKey, next: Status) {
        let mut known = match self.0.entry(key) {
            Entry::Occupied(known) => known,
            Entry::Vacant(none) => {
                none.insert(Some(next));
                return;
            }
        };
        let status = known.get_mut();
        *status = status.and_then(|status| match next {
            // The same change, seen by another name.
            Status { after_ns, .. } if after_ns == status.after_ns => Some(status),
            Status { before_ns: Some(before_ns), after_ns } if before_ns == status.after_ns => {
                Some(Status { after_ns, ..status })
            }
            Status { .. } => None,
        });
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use fsops::{FileKey, Stat};

    use super::{Status, Statuses};

    fn stat(ctime_ns: i64) -> Stat {
        let any = Stat::of_path(Path::new("/")).expect("there");
        Stat { inode: 1, device: 1, ctime_ns, ..any }
    }

    const KEY: FileKey = FileKey { device: 1, inode: 1 };

    #[test]
    fn a_chain_without_a_gap_goes_from_its_first_time_to_its_last() {
        let mut statuses = Statuses::default();
        statuses.note(&stat(1), Some(stat(2)));
        statuses.note(&stat(2), Some(stat(3)));
        statuses.note(&stat(2), Some(stat(3)));
        assert_eq!(statuses.of(KEY), Some(Status { before_ns: Some(1), after_ns: 3 }));
        let mut later = Statuses::default();
        later.note(&stat(3), Some(stat(4)));
        statuses.add(later);
        assert_eq!(statuses.of(KEY), Some(Status { before_ns: Some(1), after_ns: 4 }));
        assert!(statuses.has(&stat(4)) && !statuses.has(&stat(3)));
    }

    #[test]
    fn after_a_gap_nothing_is_known() {
        let mut statuses = Statuses::default();
        statuses.note(&stat(1), Some(stat(2)));
        statuses.note(&stat(7), Some(stat(8)));
        assert_eq!(statuses.of(KEY), None);
        statuses.note(&stat(8), Some(stat(9)));
        assert_eq!(statuses.of(KEY), None);
        statuses.note_made(&stat(10));
        assert_eq!(statuses.of(KEY), Some(Status { before_ns: None, after_ns: 10 }));
        let mut later = Statuses::default();
        later.doubt(KEY);
        statuses.add(later);
        assert_eq!(statuses.of(KEY), None);
    }
}
