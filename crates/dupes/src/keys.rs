//! Content keys: keyed hashes that decide whether small files are equal.
//!
//! Two files of the same size with the same head and the same key have the same content. A file of
//! up to [`MAX_KEYED_BYTES`] gets its key when it is read whole for the first time, so it is not read
//! again for a comparison:
//!
//! - A file that fits its head is read whole anyway. Its key is a 64-bit hash, which decides
//!   together with the 64 bits of the head.
//! - A longer file is read to its end as soon as its head turns out to be known from another file.
//!   Its key is the number of its 128-bit hash in a table.
//!
//! The hashes have a random key that differs in each search ([`HashKey`]).

use std::collections::HashMap;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use content::{Digest, HashKey, Head, ReadError, Scratch, head_length, head_of, read_exact};
use fsops::File;
use runtime::{Mutex, Progress};
use walk::FileId;

use crate::known_heads::KnownHeads;

/// Size in bytes up to which a key decides whether files are equal. Larger files are compared byte
/// by byte.
pub const MAX_KEYED_BYTES: u64 = 64 * 1024;

/// The key of a file. It is compared only with the keys of files that have the same size and head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ContentKey(pub(crate) NonZeroU64);

/// The result of [`ContentKeys::read`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) head: Head,
    /// The key, if the file was read whole.
    pub(crate) key: Option<ContentKey>,
}

/// The keys of the files of a search, and the state from which threads compute them.
#[derive(Debug)]
pub struct ContentKeys {
    hash_key: HashKey,
    /// The keys by file number; 0 for files without a key. Made for the first key.
    keys: OnceLock<Vec<AtomicU64>>,
    /// Number of files.
    files: usize,
    heads: KnownHeads,
    contents: Mutex<Contents>,
    /// Whether contents get digests.
    digests: bool,
}

#[derive(Debug, Default)]
struct Contents {
    /// The keys of longer files, by the 128-bit hash.
    numbers: HashMap<u128, u64>,
    digests: HashMap<(Head, ContentKey), Digest>,
}

impl ContentKeys {
    /// Returns an empty table. `digests` tells whether to compute the digest of a content when its
    /// second file is read.
    pub fn new(digests: bool) -> ContentKeys {
        ContentKeys {
            hash_key: HashKey::random(),
            keys: OnceLock::new(),
            files: 0,
            heads: KnownHeads::default(),
            contents: Mutex::default(),
            digests,
        }
    }

    /// Extends the table to `files` files.
    pub(crate) fn grow(&mut self, files: usize) {
        self.files = files;
        if let Some(keys) = self.keys.get_mut() {
            keys.resize_with(files, AtomicU64::default);
        }
    }

    /// Returns the key of a file, if it was read whole.
    pub(crate) fn get(&self, file: FileId) -> Option<ContentKey> {
        let key = self.keys.get()?[file.0 as usize].load(Relaxed);
        NonZeroU64::new(key).map(ContentKey)
    }

    /// Records the key of a file.
    pub(crate) fn set(&self, file: FileId, key: ContentKey) {
        let new = || (0..self.files).map(|_| AtomicU64::new(0)).collect();
        self.keys.get_or_init(new)[file.0 as usize].store(key.0.get(), Relaxed);
    }

    /// Removes the key of a file, so that the file is read again.
    pub(crate) fn forget(&self, file: FileId) {
        if let Some(keys) = self.keys.get() {
            keys[file.0 as usize].store(0, Relaxed);
        }
    }

    /// Copies the key of a name of an inode to another name.
    pub(crate) fn copy(&self, from: FileId, to: FileId) {
        if let Some(key) = self.get(from) {
            self.set(to, key);
        }
    }

    /// Returns the digest of a content, if it was computed.
    pub(crate) fn digest(&self, head: Head, key: ContentKey) -> Option<Digest> {
        self.contents.lock().digests.get(&(head, key)).copied()
    }

    /// Reads the head of a file of up to [`MAX_KEYED_BYTES`]. Reads on to the end if another file of
    /// this size had the same head.
    ///
    /// # Errors
    ///
    /// Same as for [`read_exact`].
    pub(crate) fn read(
        &self,
        file: &File,
        size: u64,
        scratch: &mut Scratch,
        progress: &Progress,
    ) -> Result<Reading, ReadError> {
        let buffer = scratch.bytes(size);
        let length = buffer.len().min(usize::try_from(head_length(size)).unwrap_or(usize::MAX));
        let (first, rest) = buffer.split_at_mut(length);
        read_exact(file, first, 0, progress)?;
        let head = head_of(first);
        let is_whole = rest.is_empty();
        if is_whole && !self.digests {
            let key = self.short_key(first);
            return Ok(Reading { head, key: Some(key) });
        }
        let is_known = self.heads.insert(head, size);
        if !is_whole && !is_known {
            return Ok(Reading { head, key: None });
        }
        read_exact(file, rest, length as u64, progress)?;
        let key = self.key_of(head, buffer, is_known);
        Ok(Reading { head, key: Some(key) })
    }

    /// Reads a whole file of up to [`MAX_KEYED_BYTES`].
    ///
    /// # Errors
    ///
    /// Same as for [`read_exact`].
    pub(crate) fn read_whole(
        &self,
        file: &File,
        size: u64,
        scratch: &mut Scratch,
        progress: &Progress,
    ) -> Result<ContentKey, ReadError> {
        let buffer = scratch.bytes(size);
        read_exact(file, buffer, 0, progress)?;
        let length = usize::try_from(head_length(size)).unwrap_or(usize::MAX);
        let head = head_of(&buffer[..length.min(buffer.len())]);
        Ok(self.key_of(head, buffer, true))
    }

    /// Returns the key of a content. Computes the digest if the content `is_repeated`.
    fn key_of(&self, head: Head, bytes: &[u8], is_repeated: bool) -> ContentKey {
        let is_short = bytes.len() as u64 == head_length(bytes.len() as u64);
        let key = if is_short {
            self.short_key(bytes)
        } else {
            let hash = self.hash_key.hash128(bytes);
            let mut contents = self.contents.lock();
            let next = contents.numbers.len() as u64 + 1;
            let number = *contents.numbers.entry(hash).or_insert(next);
            ContentKey(NonZeroU64::new(number).unwrap_or(NonZeroU64::MIN))
        };
        if self.digests && is_repeated && self.digest(head, key).is_none() {
            let digest = Digest::of(bytes);
            self.contents.lock().digests.insert((head, key), digest);
        }
        key
    }

    fn short_key(&self, bytes: &[u8]) -> ContentKey {
        let hash = self.hash_key.hash64(bytes);
        ContentKey(NonZeroU64::new(hash).unwrap_or(NonZeroU64::MIN))
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;

    use content::{Digest, Scratch};
    use fsops::{Dir, File};
    use runtime::Progress;
    use testkit::{TempTree, TreeBuilder};

    use super::{ContentKeys, Reading};

    /// The sizes of files that fit their heads, and of longer ones.
    const SIZES: [u64; 6] = [1, 500, 8192, 8193, 40_000, 65_536];

    fn open(tree: &TempTree, name: &str) -> File {
        let dir = Dir::open(tree.path()).expect("a directory");
        dir.open_file(&CString::new(name).expect("a name")).expect("a file")
    }

    fn read(keys: &ContentKeys, tree: &TempTree, name: &str, size: u64) -> Reading {
        let (mut scratch, progress) = (Scratch::default(), Progress::default());
        keys.read(&open(tree, name), size, &mut scratch, &progress).expect("readable")
    }

    #[test]
    fn equal_files_have_equal_keys_and_others_do_not() {
        for size in SIZES {
            for digests in [false, true] {
                let tree = TreeBuilder::new().seeded("a", 1, size).seeded("b", 1, size);
                let tree = tree.seeded("c", 2, size).make_temp();
                let keys = ContentKeys::new(digests);
                let [a, b, c] = ["a", "b", "c"].map(|name| read(&keys, &tree, name, size));
                assert_eq!(a.key.is_some(), size <= 8192, "the head of the first file is new");
                assert_eq!(a.head, b.head);
                assert!(b.head != c.head && b.key.is_some());
                let (mut scratch, progress) = (Scratch::default(), Progress::default());
                let again = keys.read_whole(&open(&tree, "a"), size, &mut scratch, &progress);
                assert_eq!(Some(again.expect("readable")), b.key);
                assert!(c.key.is_none() || c.key != b.key);
                let digest = keys.digest(b.head, b.key.expect("a key"));
                let bytes = std::fs::read(tree.join("a")).expect("a file");
                assert_eq!(digest, digests.then(|| Digest::of(&bytes)), "{size}");
            }
        }
    }

    #[test]
    fn longer_files_with_the_same_head_have_different_keys() {
        let (mut scratch, progress) = (Scratch::default(), Progress::default());
        let (a, mut b) = (vec![7; 40_000], vec![7; 40_000]);
        b[39_999] = 8;
        let tree = TreeBuilder::new().file("a", a).file("b", b).make_temp();
        let keys = ContentKeys::new(true);
        let mut whole = |name| keys.read_whole(&open(&tree, name), 40_000, &mut scratch, &progress);
        assert_ne!(whole("a").expect("readable"), whole("b").expect("readable"));
    }
}
