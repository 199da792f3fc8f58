//! The status change times that lop's own changes gave to inodes.
//!
//! Linking, renaming or removing a name changes the status of an inode, and so does every write. A
//! program that edits a file can restore the size and the modification time, but not the status
//! change time. A catalog may therefore adopt a new status change time only if lop caused it. This
//! requires that lop saw the known time right before its change and the new time right after it.
//! [`Statuses`] keeps the first and the last time of such a chain for each inode. If the chain has
//! a gap, it keeps neither.
//!
//! A lease keeps other programs from writing to the file meanwhile (`Leased`). If the kernel grants
//! no lease (FUSE, files of another user), no new time is adopted.
//!
//! An edit within one tick of the kernel's clock (at most 10 ms) after lop's change gets the same
//! time and goes unnoticed. Since Linux 6.13, the kernel gives finer times to files whose status
//! was read, so such an edit is noticed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use fsops::{File, FileKey, Lease, Stat};

/// A chain of status changes of one inode, all of them made by lop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The status change time before the first change, in nanoseconds since the epoch. `None` if
    /// lop made the file.
    pub before_ns: Option<i64>,
    /// The status change time after the last change, in nanoseconds since the epoch.
    pub after_ns: i64,
}

/// The status changes that lop made, by inode.
#[derive(Debug, Default)]
pub struct Statuses(HashMap<FileKey, Option<Status>>);

impl Statuses {
    /// Returns the changes of an inode. Returns `None` if lop did not change the inode, or if other
    /// programs may have changed it meanwhile.
    pub fn of(&self, key: FileKey) -> Option<Status> {
        self.0.get(&key).copied().flatten()
    }

    /// Records a change by lop, given the metadata of the file right before and right after it. The
    /// inode's status becomes unknown if `after` is missing or belongs to a different file.
    pub(crate) fn record(&mut self, before: &Stat, after: Option<Stat>) {
        let key = before.key();
        match after.filter(|after| after.same_content(before)) {
            Some(Stat { ctime_ns: after_ns, .. }) => {
                self.link(key, Status { before_ns: Some(before.ctime_ns), after_ns });
            }
            None => self.mark_unknown(key),
        }
    }

    /// Records a file that lop made.
    pub(crate) fn record_made(&mut self, file: &Stat) {
        // Earlier records may belong to another file that had this inode number.
        self.0.insert(file.key(), Some(Status { before_ns: None, after_ns: file.ctime_ns }));
    }

    /// Records that other programs may have changed an inode.
    pub(crate) fn mark_unknown(&mut self, key: FileKey) {
        self.0.insert(key, None);
    }

    /// Returns whether lop made the last status change of a file.
    pub(crate) fn is_last_change(&self, file: &Stat) -> bool {
        self.of(file.key()).is_some_and(|status| status.after_ns == file.ctime_ns)
    }

    /// Adds later changes, either of known inodes or of new ones.
    pub(crate) fn add(&mut self, later: Statuses) {
        for (key, status) in later.0 {
            match status {
                Some(status) => self.link(key, status),
                None => self.mark_unknown(key),
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
            // The same change was recorded under another name.
            Status { after_ns, .. } if after_ns == status.after_ns => Some(status),
            Status { before_ns: Some(before_ns), after_ns } if before_ns == status.after_ns => {
                Some(Status { after_ns, ..status })
            }
            Status { .. } => None,
        });
    }
}

/// A file whose status lop is about to change, with a lease on it if the kernel granted one.
pub(crate) struct Leased<'a> {
    file: &'a File,
    lease: Lease<'a>,
    before: Stat,
}

impl<'a> Leased<'a> {
    /// Requests a lease, and then reads the file's metadata. Returns `None` if the metadata cannot
    /// be read.
    pub(crate) fn new(file: &'a File) -> Option<Leased<'a>> {
        let lease = file.take_lease();
        let before = file.stat_uncached().ok()?;
        Some(Leased { file, lease, before })
    }

    /// Returns true if no program is waiting to write to the file. Also returns true if the kernel
    /// granted no lease.
    pub(crate) fn holds(&self) -> bool {
        self.lease.holds()
    }

    /// Returns the file's metadata before the change.
    pub(crate) fn before(&self) -> &Stat {
        &self.before
    }

    /// Returns the file's metadata before and after the change. The second value is `None` if other
    /// programs may have written to the file meanwhile.
    pub(crate) fn end(self) -> (Stat, Option<Stat>) {
        // The lease must still be held here, because a writer that waits for the lease can write as
        // soon as it is released.
        let after = self.file.stat_uncached().ok().filter(|_| is_exclusive(&self.lease));
        (self.before, after)
    }
}

/// Returns whether the lease was granted and no program has been waiting to write to the file
/// since.
pub(crate) fn is_exclusive(lease: &Lease<'_>) -> bool {
    matches!(lease, Lease::LeaseGuard(_)) && lease.holds()
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
    fn a_chain_without_gaps_spans_from_its_first_to_its_last_time() {
        let mut statuses = Statuses::default();
        statuses.record(&stat(1), Some(stat(2)));
        statuses.record(&stat(2), Some(stat(3)));
        statuses.record(&stat(2), Some(stat(3)));
        assert_eq!(statuses.of(KEY), Some(Status { before_ns: Some(1), after_ns: 3 }));
        let mut later = Statuses::default();
        later.record(&stat(3), Some(stat(4)));
        statuses.add(later);
        assert_eq!(statuses.of(KEY), Some(Status { before_ns: Some(1), after_ns: 4 }));
        assert!(statuses.is_last_change(&stat(4)) && !statuses.is_last_change(&stat(3)));
    }

    #[test]
    fn after_a_gap_nothing_is_known() {
        let mut statuses = Statuses::default();
        statuses.record(&stat(1), Some(stat(2)));
        statuses.record(&stat(7), Some(stat(8)));
        assert_eq!(statuses.of(KEY), None);
        statuses.record(&stat(8), Some(stat(9)));
        assert_eq!(statuses.of(KEY), None);
        statuses.record_made(&stat(10));
        assert_eq!(statuses.of(KEY), Some(Status { before_ns: None, after_ns: 10 }));
        let mut later = Statuses::default();
        later.mark_unknown(KEY);
        statuses.add(later);
        assert_eq!(statuses.of(KEY), None);
    }
}
