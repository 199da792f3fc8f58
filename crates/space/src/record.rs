//! The sizes of the directories that one scan found below a root, in a compact form for the catalog.
//!
//! # Format
//!
//! The first byte is the version of the format, 1. A varint with the uncompressed length of the body
//! follows, and then the body, compressed with zstd. The body consists of columns, so that similar
//! numbers are close to each other:
//!
//! 1. the number of directories, and the exponent of the unit of disk space as a power of two;
//! 2. for each directory except the root, how many levels its parent is above the directory before
//!    it, the number of bytes that its name has in common with the sibling before it, the number of
//!    other bytes, and these bytes;
//! 3. for each directory, the number of files;
//! 4. for each directory, the size of its files;
//! 5. for each directory, the disk space of its files minus their size, in units.
//!
//! Directories are in preorder and siblings are sorted by name, so two scans with the same result
//! produce the same bytes, whatever the order of the walk. All numbers are varints (7 bits per byte,
//! lowest first), and signed numbers have their sign in the lowest bit. The counts of a directory do
//! not include its subdirectories.

mod read;
mod write;

pub use read::{Malformed, decode};
pub use write::encode;

/// The version of the format.
const VERSION: u8 = 1;

/// The sizes of the directories that a scan found below a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The directories in preorder, starting with the root. Siblings are sorted by name.
    pub dirs: Vec<RecordedDir>,
    /// The names of all directories, one after the other.
    pub(crate) names: Vec<u8>,
}

/// A directory in a [`Record`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedDir {
    /// Number of directories above it; 0 for the root.
    pub depth: u32,
    /// Bytes of the files that belong to this directory but to none of its subdirectories.
    pub bytes: u64,
    /// Disk space of these files in bytes.
    pub allocated: u64,
    /// Number of these files.
    pub files: u32,
    /// Position of the name in [`Record::names`].
    name: (u32, u32),
}

impl Record {
    /// Returns the name of a directory. The name of the root is empty.
    pub fn name(&self, dir: &RecordedDir) -> &[u8] {
        &self.names[dir.name.0 as usize..dir.name.1 as usize]
    }
}

/// Exponents of units of disk space, largest first.
const UNITS: [u32; 3] = [12, 9, 0];

/// Returns the size that disk space is compared with: the size in whole units.
fn expected(bytes: u64, unit: u32) -> u64 {
    bytes.div_ceil(1 << unit)
}

#[cfg(test)]
pub(crate) mod tests;
