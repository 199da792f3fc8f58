//! What is known of the contents of files: 12 bytes per file, and a digest per content.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::digest::Digest;
use crate::head::Head;

/// Number of a content. Of two files of one size that both have one, equal numbers prove the
/// files equal and unequal numbers prove them unlike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(u32);

impl ContentId {
    /// Returns the number as an index from 0.
    pub fn index(self) -> usize {
        self.0 as usize - 1
    }
}

/// What is known of each file's content, by the file's number. Threads may add to it at once.
#[derive(Debug, Default)]
pub struct Facts {
    heads: Vec<AtomicU64>,
    contents: Vec<AtomicU32>,
    digests: Mutex<Vec<Option<Digest>>>,
}

/// Marks a file that could not be read.
const UNREADABLE: u32 = u32::MAX;
/// Marks a file that changed before it was read.
const CHANGED: u32 = u32::MAX - 1;

impl Facts {
    /// Returns facts about `files` files, nothing known yet.
    pub fn new(files: usize) -> Facts {
        let mut facts = Facts::default();
        facts.grow(files);
        facts
    }

    /// Makes room for further files, up to number `files`.
    pub fn grow(&mut self, files: usize) {
        self.heads.resize_with(files, AtomicU64::default);
        self.contents.resize_with(files, AtomicU32::default);
    }

    /// Returns a file's head, if known.
    pub fn head(&self, file: u32) -> Option<Head> {
        NonZeroU64::new(self.heads[file as usize].load(Relaxed)).map(Head)
    }

    /// Returns a file's content, if it has been compared with the others of its size and head.
    pub fn content(&self, file: u32) -> Option<ContentId> {
        match self.contents[file as usize].load(Relaxed) {
            0 | UNREADABLE | CHANGED => None,
            number => Some(ContentId(number)),
        }
    }

    /// Returns whether a file was given up.
    pub fn dropped(&self, file: u32) -> bool {
        self.contents[file as usize].load(Relaxed) >= CHANGED
    }

    /// Returns whether a file was given up because it could not be read.
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

    /// Returns how many contents there are.
    pub fn contents(&self) -> usize {
        self.lock().len()
    }

    /// Notes a file's head.
    pub fn set_head(&self, file: u32, head: Head) {
        self.heads[file as usize].store(head.0.get(), Relaxed);
    }

    /// Notes that a file has this content.
    pub fn set_content(&self, file: u32, content: ContentId) {
        self.contents[file as usize].store(content.0, Relaxed);
    }

    /// Gives up a file that cannot be read: nothing is known of it, and it is in no group.
    pub fn drop_file(&self, file: u32) {
        self.heads[file as usize].store(0, Relaxed);
        self.contents[file as usize].store(UNREADABLE, Relaxed);
    }

    /// Gives up a file that changed before it was read.
    pub fn drop_changed(&self, file: u32) {
        self.heads[file as usize].store(0, Relaxed);
        self.contents[file as usize].store(CHANGED, Relaxed);
    }

    /// Notes for another name of an inode what is known by this one.
    pub fn copy(&self, from: u32, to: u32) {
        let (from, to) = (from as usize, to as usize);
        self.heads[to].store(self.heads[from].load(Relaxed), Relaxed);
        self.contents[to].store(self.contents[from].load(Relaxed), Relaxed);
    }

    /// Adds a content that is unlike every other.
    ///
    /// # Panics
    ///
    /// Beyond 2^32 contents.
    pub fn new_content(&self, digest: Option<Digest>) -> ContentId {
        let mut digests = self.lock();
        digests.push(digest);
        ContentId(u32::try_from(digests.len()).expect("fewer than 2^32 contents"))
    }

    /// Notes a content's digest.
    pub fn set_digest(&self, content: ContentId, digest: Digest) {
        self.lock()[content.index()] = Some(digest);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Option<Digest>>> {
        self.digests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
