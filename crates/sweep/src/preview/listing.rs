//! The names of one directory.

use std::ffi::CStr;
use std::io;

use fsops::{Dir, DirBuffer, Kind};

/// The names of a directory. The buffers are reused for the next directory.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// The names, each with its final NUL.
    bytes: Vec<u8>,
    entries: Vec<(u32, Kind)>,
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
            self.entries.push((walk::to_u32(self.bytes.len()), item.kind));
            self.bytes.extend_from_slice(item.name.to_bytes_with_nul());
        })
    }

    /// Returns the names with their types.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = (&CStr, Kind)> {
        self.entries.iter().map(|&(start, kind)| {
            // Every entry was stored with a NUL, so the search always succeeds.
            let name = CStr::from_bytes_until_nul(&self.bytes[start as usize..]);
            (name.unwrap_or_default(), kind)
        })
    }
}
