//! A table of the known contents of files: 12 bytes per file, and a digest per content.

use runtime::Mutex;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::digest::Digest;
use crate::head::Head;

/// The number of a content. For two files of one size that both have a number, equal numbers prove
/// the files equal, and unequal numbers prove them different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(u32);

impl ContentId {
    /// Returns the number as an index that starts at 0.
    pub fn index(self) -> usize {
        self.0 as usize - 1
    }
}

/// Heads and contents of files, by file number. Threads may add to it concurrently.
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

    /// Returns a file's content, if the file has been compared with the others of its size and
    /// head.
    pub fn content(&self, file: u32) -> Option<ContentId> {
        match self.contents[file as usize].load(Relaxed) {
            0 | UNREADABLE | CHANGED => None,
            number => Some(ContentId(number)),
        }
    }

    /// Returns whether a file was dropped because it could not be read or changed.
    pub fn dropped(&self, file: u32) -> bool {
        self.contents[file as usize].load(Relaxed) >= CHANGED
    }

    /// Returns whether a file was dropped because it could not be read.
    pub fn unreadable(&self, file: u32) -> bool {
        self.contents[file as usize].load(Relaxed) == UNREADABLE
    }

    /// Returns a content's digest, if known.
    pub fn digest(&self, content: ContentId) -> Option<Digest> {
        self.lock()[content.index()]
    }

    /// Returns the digest of the content with this [`ContentId::index`], if known.
    pub fn digest_at(&self, index: usize) -> Option<Digest> {
        self.lock()[index]
    }

    /// Returns the number of contents.
    pub fn contents(&self) -> usize {
        self.lock().len()
    }

    /// Records a file's head.
    pub fn set_head(&self, file: u32, head: Head) {
        self.heads[file as usize].store(head.0.get(), Relaxed);
    }

    /// Records a file's content.
    pub fn set_content(&self, file: u32, content: ContentId) {
        self.contents[file as usize].store(content.0, Relaxed);
    }

    /// Drops a file that cannot be read: it belongs to no group.
    pub fn drop_file(&self, file: u32) {
        self.heads[file as usize].store(0, Relaxed);
        self.contents[file as usize].store(UNREADABLE, Relaxed);
    }

    /// Drops a file that changed before it was read.
    pub fn drop_changed(&self, file: u32) {
        self.heads[file as usize].store(0, Relaxed);
        self.contents[file as usize].store(CHANGED, Relaxed);
    }

    /// Copies what is known about one name of an inode to another name.
    pub fn copy(&self, from: u32, to: u32) {
        let (from, to) = (from as usize, to as usize);
        self.heads[to].store(self.heads[from].load(Relaxed), Relaxed);
        self.contents[to].store(self.contents[from].load(Relaxed), Relaxed);
    }

    /// Adds a content that differs from every other.
    ///
    /// # Panics
    ///
    /// Panics beyond 2^32 contents.
    pub fn new_content(&self, digest: Option<Digest>) -> ContentId {
        let mut digests = self.lock();
        digests.push(digest);
        ContentId(u32::try_from(digests.len()).expect("fewer than 2^32 contents"))
    }

    /// Records a content's digest.
    pub fn set_digest(&self, content: ContentId, digest: Digest) {
        self.lock()[content.index()] = Some(digest);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Option<Digest>>> {
        self.digests.lock()
    }
}
