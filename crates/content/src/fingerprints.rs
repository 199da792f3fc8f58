//! A table of file fingerprints. It takes 12 bytes per file, plus a digest per content number.

use runtime::Mutex;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::digest::Digest;
use crate::head::Head;

/// A content number. Two files of the same size that both have a content number have the same
/// number if and only if their bytes are equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(u32);

impl ContentId {
    /// Returns the content number as a zero-based index.
    pub fn index(self) -> usize {
        self.0 as usize - 1
    }
}

/// Heads and content numbers of files, indexed by file number. Threads may add to the table
/// concurrently.
#[derive(Debug, Default)]
pub struct Fingerprints {
    heads: Vec<AtomicU64>,
    contents: Vec<AtomicU32>,
    digests: Mutex<Vec<Option<Digest>>>,
}

/// Marks a file that could not be read.
const UNREADABLE: u32 = u32::MAX;
/// Marks a file that changed before it was read.
const CHANGED: u32 = u32::MAX - 1;

impl Fingerprints {
    /// Returns an empty table for `files` files.
    pub fn new(files: usize) -> Fingerprints {
        let mut facts = Fingerprints::default();
        facts.grow(files);
        facts
    }

    /// Extends the table to `files` files.
    pub fn grow(&mut self, files: usize) {
        self.heads.resize_with(files, AtomicU64::default);
        self.contents.resize_with(files, AtomicU32::default);
    }

    /// Returns a file's head, if known.
    pub fn head(&self, file: u32) -> Option<Head> {
        NonZeroU64::new(self.heads[file as usize].load(Relaxed)).map(Head)
    }

    /// Returns a file's content number, if the file has been compared with all files of the same
    /// size and head.
    pub fn content(&self, file: u32) -> Option<ContentId> {
        match self.contents[file as usize].load(Relaxed) {
            0 | UNREADABLE | CHANGED => None,
            number => Some(ContentId(number)),
        }
    }

    /// Returns true if a file was dropped because it could not be read or had changed.
    pub fn dropped(&self, file: u32) -> bool {
        self.contents[file as usize].load(Relaxed) >= CHANGED
    }

    /// Returns true if a file was dropped because it could not be read.
    pub fn unreadable(&self, file: u32) -> bool {
        self.contents[file as usize].load(Relaxed) == UNREADABLE
    }

    /// Returns the digest of a content number, if known.
    pub fn digest(&self, content: ContentId) -> Option<Digest> {
        self.lock()[content.index()]
    }

    /// Returns the digest of the content number with this [`ContentId::index`], if known.
    pub fn digest_at(&self, index: usize) -> Option<Digest> {
        self.lock()[index]
    }

    /// Returns the number of assigned content numbers.
    pub fn contents(&self) -> usize {
        self.lock().len()
    }

    /// Records a file's head.
    pub fn set_head(&self, file: u32, head: Head) {
        self.heads[file as usize].store(head.0.get(), Relaxed);
    }

    /// Records a file's content number.
    pub fn set_content(&self, file: u32, content: ContentId) {
        self.contents[file as usize].store(content.0, Relaxed);
    }

    /// Drops a file that cannot be read, so that it is not part of any group.
    pub fn drop_file(&self, file: u32) {
        self.heads[file as usize].store(0, Relaxed);
        self.contents[file as usize].store(UNREADABLE, Relaxed);
    }

    /// Drops a file that changed before it was read.
    pub fn drop_changed(&self, file: u32) {
        self.heads[file as usize].store(0, Relaxed);
        self.contents[file as usize].store(CHANGED, Relaxed);
    }

    /// Copies the fingerprints of a file name to another name of the same inode.
    pub fn copy(&self, from: u32, to: u32) {
        let (from, to) = (from as usize, to as usize);
        self.heads[to].store(self.heads[from].load(Relaxed), Relaxed);
        self.contents[to].store(self.contents[from].load(Relaxed), Relaxed);
    }

    /// Assigns a new content number.
    ///
    /// # Panics
    ///
    /// Panics if all 2^32 - 1 content numbers are in use.
    pub fn new_content(&self, digest: Option<Digest>) -> ContentId {
        let mut digests = self.lock();
        digests.push(digest);
        ContentId(u32::try_from(digests.len()).expect("fewer than 2^32 contents"))
    }

    /// Records the digest of a content number.
    pub fn set_digest(&self, content: ContentId, digest: Digest) {
        self.lock()[content.index()] = Some(digest);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Option<Digest>>> {
        self.digests.lock()
    }
}
