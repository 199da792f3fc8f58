//! Recognizes a catalog by its first bytes, before `SQLite` opens it or a lock is taken.
//!
//! `SQLite` creates journals beside any file that it opens, and accepts a file of one byte as an
//! empty database. A mistyped path must have no effect, so lop reads the header first
//! (sqlite.org/fileformat.html, 1.3).

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fsops::{Context, Op};

use crate::error::Error;

/// `application_id` of a catalog: "lop1".
pub(crate) const APPLICATION: u32 = 0x6c6f_7031;

/// The length of the header in bytes.
const BYTES: usize = 100;
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The offset of the format version: 1 for a rollback journal, 2 for a write-ahead log.
const WRITE_VERSION: usize = 18;
/// The offset of the counter of schema changes, which is 0 until the first table is created.
const SCHEMA_COOKIE: usize = 40;
const USER_VERSION: usize = 60;
const APPLICATION_ID: usize = 68;

/// The kind of file at the path of a catalog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No file.
    Nothing,
    /// An empty file, or a database that never had a table. A catalog can be created here.
    Empty,
    /// A catalog.
    Catalog,
}

/// Returns the kind of file at `path`. Changes nothing.
///
/// Closing a file releases all `fcntl(2)` locks that the process has on it, including those of
/// `SQLite`. The process must therefore have no other connection to the database open.
///
/// # Errors
///
/// Fails if the file is neither a catalog nor empty, or cannot be read. A FIFO is not opened,
/// because that would block until a writer opens it too.
pub(crate) fn inspect(path: &Path) -> Result<Found, Error> {
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        // A dangling link is an error, because a new catalog could not be renamed to its path.
        Err(e) if e.kind() == io::ErrorKind::NotFound && !path.is_symlink() => {
            return Ok(Found::Nothing);
        }
        Err(e) => return Err(e).context(Op::Open, || path).map_err(Error::from),
    };
    let source = match metadata.file_type() {
        kind if kind.is_file() => return read(path),
        kind if kind.is_dir() => io::ErrorKind::IsADirectory.into(),
        _ => io::Error::other("not a regular file"),
    };
    Err(fsops::Error { op: Op::Open, path: path.into(), source }.into())
}

fn read(path: &Path) -> Result<Found, Error> {
    let mut header = Vec::with_capacity(BYTES);
    File::open(path)
        .and_then(|file| file.take(BYTES as u64).read_to_end(&mut header))
        .context(Op::Open, || path)?;
    found(&header).ok_or_else(|| Error::Damaged { path: path.into(), source: None })
}

fn found(header: &[u8]) -> Option<Found> {
    if header.is_empty() {
        return Some(Found::Empty);
    }
    if header.len() < BYTES || !header.starts_with(MAGIC) {
        return None;
    }
    let number = |at: usize| header[at..at + 4].iter().fold(0, |n, &byte| n << 8 | u32::from(byte));
    let is_untouched = [SCHEMA_COOKIE, USER_VERSION, APPLICATION_ID].map(number) == [0; 3];
    match number(APPLICATION_ID) {
        APPLICATION => Some(Found::Catalog),
        // A database with a write-ahead log may have tables that are only in the log.
        _ if is_untouched && header[WRITE_VERSION] == 1 => Some(Found::Empty),
        _ => None,
    }
}

/// Returns the device and inode number of the file at `path`. Does not open the file, because closing
/// it would release the POSIX locks that `SQLite` holds on it in this process.
pub(crate) fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::{APPLICATION, BYTES, Found, MAGIC, found};

    fn header(write_version: u8, fields: &[(usize, u32)]) -> Vec<u8> {
        let mut header = vec![0; BYTES];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        header[18] = write_version;
        for &(at, number) in fields {
            header[at..at + 4].copy_from_slice(&number.to_be_bytes());
        }
        header
    }

    #[test]
    fn catalogs_and_empty_files_are_distinguished_from_other_files() {
        assert_eq!(found(b""), Some(Found::Empty));
        assert_eq!(found(b"S"), None);
        assert_eq!(found(&[0; BYTES]), None);
        assert_eq!(found(&header(1, &[(68, APPLICATION), (40, 9)])), Some(Found::Catalog));
        assert_eq!(found(&header(2, &[(68, APPLICATION)])), Some(Found::Catalog));
        assert_eq!(found(&header(1, &[(68, APPLICATION)])[..99]), None);
    }

    #[test]
    fn a_database_is_empty_until_it_has_a_table_or_a_number() {
        assert_eq!(found(&header(1, &[])), Some(Found::Empty));
        assert_eq!(found(&header(2, &[])), None, "its tables may be in its log");
        for field in [40, 60, 68] {
            assert_eq!(found(&header(1, &[(field, 1)])), None, "{field}");
        }
    }
}
