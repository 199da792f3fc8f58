//! The names of one directory.

use std::ffi::CStr;
use std::io;

use fsops::{Dir, DirBuffer, Kind};

/// An entry of a directory.
#[derive(Clone, Copy, Debug)]
struct Entry {
    name_start: u32,
    kind: Kind,
    inode: u64,
}

/// The names of a directory. The buffers are reused for the next directory.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The names, each with its final NUL.
    bytes: Vec<u8>,
    entries: Vec<Entry>,
}

impl Listing {
    /// Replaces the contents with the names of a directory.
    ///
    /// # Errors
    ///
    /// Returns the error of `getdents64`. The names before the error are in the listing.
    pub(crate) fn read(&mut self, dir: &Dir, buffer: &mut DirBuffer) -> io::Result<()> {
        self.bytes.clear();
        self.entries.clear();
        dir.for_each(buffer, |item| {
            let name_start = walk::to_u32(self.bytes.len());
            self.entries.push(Entry { name_start, kind: item.kind, inode: item.inode });
            self.bytes.extend_from_slice(item.name.to_bytes_with_nul());
        })
    }

    /// Returns the number of names.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &CStr> {
        self.entries().map(|(name, ..)| name)
    }

    /// Returns the names with their types and inode numbers.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&CStr, Kind, u64)> {
        self.entries.iter().map(|entry| {
            // Every entry was stored with a NUL, so the search always succeeds.
            let name = CStr::from_bytes_until_nul(&self.bytes[entry.name_start as usize..]);
            (name.unwrap_or_default(), entry.kind, entry.inode)
        })
    }
}
