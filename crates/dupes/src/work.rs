//! State that all workers share: the files, their fingerprints, the options, the progress and the
//! disks.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use content::Fingerprints;
use device::Disk;
use runtime::Progress;
use walk::{FileId, Tree};

use crate::Options;
use crate::keys::{ContentKeys, MAX_KEYED_BYTES};

/// State that all workers share.
#[derive(Debug)]
pub struct Work<'a> {
    /// The files.
    pub tree: &'a Tree,
    /// Their fingerprints.
    pub fingerprints: &'a Fingerprints,
    /// The options of the search.
    pub options: &'a Options,
    /// The progress counters, and the request to stop.
    pub progress: &'a Progress,
    /// The content keys, if keys decide whether small files are equal.
    pub(crate) keys: Option<ContentKeys>,
    /// The disks that hold the tree, without duplicates.
    disks: Vec<Arc<Disk>>,
    /// For each device of the tree, the index of its disk in `disks`.
    disk_of: Vec<usize>,
}

impl<'a> Work<'a> {
    /// Prepares work on the files of a tree.
    pub fn new(
        tree: &'a Tree,
        fingerprints: &'a Fingerprints,
        options: &'a Options,
        progress: &'a Progress,
    ) -> Self {
        let mut disks: Vec<Arc<Disk>> = Vec::new();
        let disk_of = tree.devices().iter().map(|device| {
            let disk = options.disks.of(device.number);
            disks.iter().position(|known| Arc::ptr_eq(known, &disk)).unwrap_or_else(|| {
                disks.push(disk);
                disks.len() - 1
            })
        });
        let disk_of = disk_of.collect();
        Work { tree, fingerprints, options, progress, keys: None, disks, disk_of }
    }

    /// Lets content keys decide whether small files are equal.
    pub(crate) fn with_keys(self, keys: Option<ContentKeys>) -> Work<'a> {
        Work { keys, ..self }
    }

    /// Returns the content keys if they decide whether files of `size` bytes are equal.
    pub(crate) fn keys_for(&self, size: u64) -> Option<&ContentKeys> {
        self.keys.as_ref().filter(|_| size > 0 && size <= MAX_KEYED_BYTES)
    }

    /// Returns the disks that hold the tree.
    pub(crate) fn disks(&self) -> &[Arc<Disk>] {
        &self.disks
    }

    /// Returns the disk that holds a file.
    pub(crate) fn disk(&self, file: FileId) -> &Disk {
        &self.disks[self.disk_number(file)]
    }

    /// Returns whether reading a file may move a disk head: its disk is seek-bound and not cached.
    pub(crate) fn is_seek_bound(&self, file: FileId) -> bool {
        let disk = self.disk(file);
        disk.is_cold() && disk.is_seek_bound()
    }

    pub(crate) fn disk_number(&self, file: FileId) -> usize {
        // If there is only a single disk, as is usual, the file does not have to be looked up.
        if self.disks.len() == 1 {
            return 0;
        }
        self.disk_of[self.tree.device_index(self.tree.file(file).dir)]
    }
}

impl Work<'_> {
    /// Adds those of `files` whose content is not yet known to the progress totals.
    pub(crate) fn expect(&self, files: &[FileId], size: u64) {
        let files = self.unknown(files.iter().copied());
        self.progress.files_total.fetch_add(files, Relaxed);
        self.progress.bytes_total.fetch_add(size.saturating_mul(files), Relaxed);
    }

    /// For each of `files` whose content is not yet known, adds another `bytes` to the byte total.
    pub(crate) fn expect_again(&self, files: &[FileId], bytes: u64) {
        let files = self.unknown(files.iter().copied());
        self.progress.bytes_total.fetch_add(bytes.saturating_mul(files), Relaxed);
    }

    /// Counts those of `files` whose content is not yet known as done. Must be called before the
    /// content of these files is recorded.
    pub(crate) fn done(&self, files: impl Iterator<Item = FileId>, size: u64) {
        self.decided(self.unknown(files), size);
    }

    /// Counts this many files of `size` bytes as done.
    pub(crate) fn decided(&self, files: u64, size: u64) {
        self.progress.files_done.fetch_add(files, Relaxed);
        self.progress.bytes_done.fetch_add(size.saturating_mul(files), Relaxed);
    }

    fn unknown(&self, files: impl Iterator<Item = FileId>) -> u64 {
        files.filter(|f| self.fingerprints.content(f.0).is_none()).count() as u64
    }
}
