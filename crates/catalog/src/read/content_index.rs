//! Finds files below a directory that may have a given content, so that the content can be copied
//! from one of them.
//!
//! The results are only hints. This module does not check whether the files have changed since they
//! were scanned.

use std::cell::OnceCell;

use content::Digest;
use rusqlite::{Params, params};

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::tables::rows::name;
use crate::tables::versions::is_version;

/// Maximum number of files with the same content or version to inspect when looking for one below
/// the directory. Their total number has no limit.
const MAX_CANDIDATES: u32 = 16;

/// An index of the files that a catalog remembers below one directory.
///
/// The index is filled by the first query that needs it, and takes 16 bytes per file and 16 bytes
/// per content.
#[derive(Debug)]
pub struct ContentIndex {
    catalog: Catalog,
    /// The directory's absolute path, without a trailing slash.
    top: Vec<u8>,
    smallest: u64,
    /// Hashes of size and modification time, each with the row of the file's directory.
    versions: OnceCell<Vec<(u64, i64)>>,
    /// The first bytes of each digest, with the row of its content.
    digests: OnceCell<Vec<(u64, i64)>>,
}

/// A file whose content was compared with others and has a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestedFile {
    /// Name in its directory.
    pub name: Vec<u8>,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// BLAKE3 of the content.
    pub digest: Digest,
    content: i64,
}

impl DigestedFile {
    /// Returns whether a live file is the remembered file and is unchanged.
    pub fn is_unchanged(&self, now: &fsops::Stat) -> bool {
        is_version(now, (self.inode, self.size, self.mtime_ns, self.ctime_ns))
    }
}

impl ContentIndex {
    /// Creates an index of the files of at least `smallest` bytes below the absolute path `top`.
    /// Does not read the catalog yet.
    pub fn new(catalog: Catalog, top: &[u8], smallest: u64) -> ContentIndex {
        let top = top.strip_suffix(b"/").unwrap_or(top).to_vec();
        ContentIndex { catalog, top, smallest, versions: OnceCell::new(), digests: OnceCell::new() }
    }

    /// Returns the files with a digest in a directory, sorted by name. `dir` is the path of the
    /// directory relative to the top.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn digested_in(&self, dir: &[u8]) -> Result<Vec<DigestedFile>, Error> {
        let dir =
            if dir.is_empty() { self.top.clone() } else { [&self.top[..], b"/", dir].concat() };
        let Some(row) = self.catalog.dir_row(&dir)? else { return Ok(Vec::new()) };
        // A file without a head had changed shortly before it was scanned, so the next scan reads
        // it again.
        let sql = "SELECT name, inode, file.size, mtime_ns, ctime_ns, digest, content FROM file \
                   JOIN content ON content.id = file.content WHERE dir = ?1 \
                   AND digest IS NOT NULL AND head IS NOT NULL AND state = 0 AND file.size >= ?2 \
                   ORDER BY name";
        let mut query = self.catalog.db.prepare_cached(sql).at(&self.catalog.path)?;
        let file = query.query_map(params![row, self.smallest.cast_signed()], |row| {
            let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
            Ok(DigestedFile {
                name: name(row, 0)?.to_vec(),
                inode: bits(1)?,
                size: bits(2)?,
                mtime_ns: row.get(3)?,
                ctime_ns: row.get(4)?,
                digest: Digest(row.get(5)?),
                content: row.get(6)?,
            })
        });
        file.and_then(Iterator::collect).at(&self.catalog.path)
    }

    /// Returns the path, relative to the top, of another file with the same content as `file`.
    /// `path` is the path of `file` itself. This is the first file with this content, or the second
    /// one if `file` is the first.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn another_copy(&self, file: &DigestedFile, path: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.with_content(file.content)?.into_iter().find(|found| found != path))
    }

    /// Returns the paths, relative to the top, of files that had this size and modification time.
    /// Within each directory, files that also had this name come first.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn find_by_version(
        &self,
        size: u64,
        mtime_ns: i64,
        name: &[u8],
    ) -> Result<Vec<Vec<u8>>, Error> {
        let versions = get_or_fill(&self.versions, || self.load_versions())?;
        let mut found = Vec::new();
        for dir in with_key(versions, key(size, mtime_ns)).take(MAX_CANDIDATES as usize) {
            let sql = "SELECT dir, name FROM file WHERE dir = ?1 AND size = ?2 AND mtime_ns = ?3 \
                       ORDER BY name <> ?4 LIMIT ?5";
            let version = params![dir, size.cast_signed(), mtime_ns, name, MAX_CANDIDATES];
            found.extend(self.paths(sql, version)?);
        }
        Ok(found)
    }

    /// Returns the paths, relative to the top, of files that had the content with this digest.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn find_by_digest(&self, digest: &Digest) -> Result<Vec<Vec<u8>>, Error> {
        let digests = get_or_fill(&self.digests, || self.load_digests())?;
        let mut found = Vec::new();
        for content in with_key(digests, digest_prefix(&digest.0)).take(MAX_CANDIDATES as usize) {
            found.extend(self.with_content(content)?);
        }
        Ok(found)
    }

    fn with_content(&self, content: i64) -> Result<Vec<Vec<u8>>, Error> {
        let sql = "SELECT dir, name FROM file WHERE content = ?1 AND state = 0 ORDER BY dir, name LIMIT ?2";
        self.paths(sql, params![content, MAX_CANDIDATES])
    }

    /// Returns the paths, relative to the top, of the files below the top that a query selects.
    fn paths(&self, sql: &str, key: impl Params) -> Result<Vec<Vec<u8>>, Error> {
        let catalog = &self.catalog;
        let mut query = catalog.db.prepare_cached(sql).at(&catalog.path)?;
        let rows = query.query_map(key, |row| Ok((row.get(0)?, row.get(1)?)));
        let rows: Vec<(i64, Vec<u8>)> = rows.and_then(Iterator::collect).at(&catalog.path)?;
        let mut paths = Vec::new();
        for (dir, name) in rows {
            let path = catalog.path_in(dir, &name)?;
            let below = path.strip_prefix(&self.top[..]).and_then(|path| path.strip_prefix(b"/"));
            paths.extend(below.map(<[u8]>::to_vec));
        }
        Ok(paths)
    }

    fn load_versions(&self) -> Result<Vec<(u64, i64)>, Error> {
        let catalog = &self.catalog;
        let Some(top) = catalog.dir_row(&self.top)? else { return Ok(Vec::new()) };
        let sql = "WITH RECURSIVE below (id) AS (SELECT ?1 UNION ALL \
                   SELECT dir.id FROM dir JOIN below ON dir.parent = below.id AND dir.id > below.id) \
                   SELECT id FROM below ORDER BY id";
        let mut query = catalog.db.prepare(sql).at(&catalog.path)?;
        let dirs = query.query_map([top], |row| row.get(0)).and_then(Iterator::collect);
        let dirs: Vec<i64> = dirs.at(&catalog.path)?;
        let mut versions = Vec::new();
        catalog.each_file_of(dirs.into_iter(), |dir, _, file| {
            if file.size >= self.smallest {
                versions.push((key(file.size, file.mtime_ns), dir));
            }
        })?;
        versions.sort_unstable();
        versions.dedup();
        Ok(versions)
    }

    fn load_digests(&self) -> Result<Vec<(u64, i64)>, Error> {
        let catalog = &self.catalog;
        let sql = "SELECT digest, id FROM content WHERE digest IS NOT NULL AND size >= ?1";
        let mut query = catalog.db.prepare(sql).at(&catalog.path)?;
        let digests = query.query_map([self.smallest.cast_signed()], |row| {
            Ok((digest_prefix(&row.get::<_, [u8; 32]>(0)?), row.get(1)?))
        });
        let digests: Result<Vec<(u64, i64)>, _> = digests.and_then(Iterator::collect);
        let mut digests = digests.at(&catalog.path)?;
        digests.sort_unstable();
        Ok(digests)
    }
}

/// Returns the value of a cell. Fills the cell if it is empty.
fn get_or_fill<T>(
    cell: &OnceCell<T>,
    fill: impl FnOnce() -> Result<T, Error>,
) -> Result<&T, Error> {
    match cell.get() {
        Some(value) => Ok(value),
        None => fill().map(|value| cell.get_or_init(|| value)),
    }
}

fn with_key(sorted: &[(u64, i64)], key: u64) -> impl Iterator<Item = i64> {
    let start = sorted.partition_point(|(found, _)| *found < key);
    sorted[start..].iter().take_while(move |(found, _)| *found == key).map(|(_, row)| *row)
}

/// Returns a hash of size and modification time.
fn key(size: u64, mtime_ns: i64) -> u64 {
    // The multiplier is the one used in Fibonacci hashing: 2^64 divided by the golden ratio.
    size.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32) ^ mtime_ns.cast_unsigned()
}

fn digest_prefix(digest: &[u8; 32]) -> u64 {
    digest[..8].iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}
