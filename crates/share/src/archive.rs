//! A tar archive of a directory that is produced while it is sent.
//!
//! [`Archive::plan`] walks the directory and records its entries. After that, the length of the archive and the
//! offset of every entry are known, so [`Archive::body`] can begin at any offset, and a client can resume a
//! download. Nothing is stored on a disk.
//!
//! The walk follows no links, enters other file systems, and reads no contents. FIFOs, sockets and devices are not
//! part of an archive. The archive does not name the owners of files.
//!
//! A body contains only contents of the recorded versions: an inode with the recorded size, mtime and ctime. If a
//! file changes, the body ends with an error, and the client gets too few bytes instead of wrong ones. Two changes
//! within one tick of the clock of the file system ([`fsops::LONGEST_TICK`]) look like one.
//!
//! # Format
//!
//! The format is that of GNU tar, because all common programs read its long names, which may contain any bytes, and
//! its sizes of more than 8 GiB. (busybox skips the names of the pax format.)
//!
//! # Performance
//!
//! An entry takes 64 bytes of memory, and its name. A file of the same user takes one system call in the walk. The
//! contents of large files go from the page cache to the socket.

mod body;
mod descent;
mod header;
mod plan;
mod plans;
mod table;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::Arc;

use fsops::Dir;
use httpd::server::Parts;
use walk::OwnFiles;

use table::Table;

pub(crate) use plan::MAX_ENTRIES;
pub(crate) use plans::{Plans, Unplanned};

/// The number of bytes of a block. Every entry starts at a multiple of it.
const BLOCK: u64 = 512;

/// The number of bytes after the last entry: two blocks of zeros.
const END: u64 = 2 * BLOCK;

/// The plan of an archive.
#[derive(Debug)]
pub(crate) struct Archive {
    root: Arc<Dir>,
    table: Table,
    length: u64,
    tag: String,
    modified: i64,
    left_out: Vec<LeftOut>,
}

/// An entry that is not part of the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    /// The path in the archive that the entry would have.
    pub path: Vec<u8>,
    /// The reason, such as `permission denied`.
    pub why: String,
}

impl Archive {
    /// Records the entries below `dir`, without lop's own files. In the archive, their paths start with `name`.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::InvalidInput`] if `name` is not a name of a directory,
    /// [`io::ErrorKind::FileTooLarge`] if there are more than [`MAX_ENTRIES`] entries, and the error of the system
    /// if `dir` itself cannot be listed. Entries that cannot be examined or opened are left out instead.
    pub(crate) fn plan(dir: Dir, name: &[u8], own: &OwnFiles) -> io::Result<Archive> {
        plan::plan(dir, name, own, MAX_ENTRIES)
    }

    /// Returns the length of the archive in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.length
    }

    /// Returns the number of entries, which includes the directory itself.
    pub(crate) fn entries(&self) -> usize {
        self.table.len()
    }

    /// Returns an entity tag without quotes. Archives with the same tag have the same bytes.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// Returns the newest modification time of an entry, in seconds since the epoch.
    pub(crate) fn modified(&self) -> i64 {
        self.modified
    }

    /// Returns the entries that are not part of the archive, in the order of the walk.
    pub(crate) fn left_out(&self) -> &[LeftOut] {
        &self.left_out
    }

    /// Returns the bytes from the offset `from` up to the offset `to`, which is at most the length.
    pub(crate) fn body(self: Arc<Self>, from: u64, to: u64) -> Box<dyn Parts> {
        Box::new(body::Body::new(self, from, to))
    }
}

/// Rounds a length up to whole blocks. Returns `None` beyond the range of offsets.
fn padded(length: u64) -> Option<u64> {
    length.checked_next_multiple_of(BLOCK)
}
