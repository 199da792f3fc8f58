//! Looks up single files and directories by index, without loading the whole catalog.

use std::collections::HashSet;

use content::Digest;
use fsops::Volume;
use rusqlite::{OptionalExtension, Row, ToSql, params};
use walk::{DirId, Tree};

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::state::FileState;
use crate::tables::dirs::BELOW;
use crate::tables::rows::{FileRow, name};
use crate::tables::versions::{files_by_name, is_version, version};
use crate::tables::volumes::Volumes;

/// A remembered file with its metadata and content.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its absolute path.
    pub path: Vec<u8>,
    /// The file system that contains the file, as a row of `volume`.
    pub volume: i64,
    /// The identity of that file system.
    pub file_system: Option<Volume>,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// The number of its content in the catalog, if it was compared.
    pub content: Option<i64>,
    /// Number of inodes with this content, including the inode of this file.
    pub copies: u32,
    /// BLAKE3 of the content, if it was computed.
    pub digest: Option<Digest>,
    /// State of the file. If the state is not [`FileState::Known`], `content` and `digest` have
    /// their last known values, and `copies` does not include the file.
    pub state: FileState,
    dir: i64,
    name: Vec<u8>,
}

impl Entry {
    /// Returns the name of the file in its directory.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Returns whether a live file is the remembered file and is unchanged.
    pub fn is_unchanged(&self, now: &fsops::Stat) -> bool {
        is_version(now, (self.inode, self.size, self.mtime_ns, self.ctime_ns))
    }
}

/// The remembered content of an unchanged file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownFile {
    /// The file system that contains the file, as a row of `volume`.
    pub volume: i64,
    /// Inode number.
    pub inode: u64,
    /// The number of the file's content in the catalog, if the file was compared with other files
    /// of the same size and head.
    pub content: Option<i64>,
    /// State of the file, which tells whether the content can be relied on.
    pub state: FileState,
}

/// The result of looking up a file that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileMatch {
    /// Nothing.
    #[default]
    Missing,
    /// Another version. The file has changed since the scan, or its name belonged to another file.
    Changed,
    /// The same version.
    Unchanged(KnownFile),
}

impl FileMatch {
    /// Returns what is remembered about the file if it is unchanged.
    pub fn known(&self) -> Option<KnownFile> {
        match *self {
            FileMatch::Unchanged(known) => Some(known),
            FileMatch::Missing | FileMatch::Changed => None,
        }
    }
}

const SELECT: &str = "SELECT file.dir, file.name, inode, file.size, mtime_ns, ctime_ns, content, \
                      coalesce(inodes, 1), digest, volume, magic, fsid, state \
                      FROM file LEFT JOIN content ON content.id = file.content \
                      LEFT JOIN volume ON volume.id = file.volume";

fn read(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
    let words: (Option<i64>, Option<i64>) = (row.get(10)?, row.get(11)?);
    let file_system = words
        .0
        .zip(words.1)
        .map(|(magic, fsid)| Volume { magic: magic.cast_unsigned(), fsid: fsid.cast_unsigned() });
    Ok(Entry {
        path: Vec::new(),
        volume: row.get(9)?,
        file_system,
        dir: row.get(0)?,
        name: name(row, 1)?.into(),
        inode: bits(2)?,
        size: bits(3)?,
        mtime_ns: row.get(4)?,
        ctime_ns: row.get(5)?,
        content: row.get(6)?,
        copies: row.get(7)?,
        digest: row.get::<_, Option<[u8; 32]>>(8)?.map(Digest),
        state: FileState::of(row.get(12)?),
    })
}

impl Catalog {
    /// Returns what is remembered about the file `name` in the directory at an absolute path.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn file(&self, dir: &[u8], name: &[u8]) -> Result<Option<Entry>, Error> {
        let Some(row) = self.dir_row(dir)? else { return Ok(None) };
        let sql = format!("{SELECT} WHERE file.dir = ?1 AND file.name = ?2");
        let found = self.db.query_row(&sql, params![row, name], read).optional().at(&self.path)?;
        found.map(|entry| self.with_path(entry)).transpose()
    }

    /// Returns what is remembered about the files directly in the directory at an absolute path,
    /// sorted by name. Returns `None` if the directory is not in the catalog.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn files_in(&self, dir: &[u8]) -> Result<Option<Vec<Entry>>, Error> {
        let Some(row) = self.dir_row(dir)? else { return Ok(None) };
        let sql = format!("{SELECT} WHERE file.dir = ?1 ORDER BY file.name");
        let mut entries = self.entries(&sql, row)?;
        for entry in &mut entries {
            entry.path = [dir.strip_suffix(b"/").unwrap_or(dir), b"/", &entry.name].concat();
        }
        Ok(Some(entries))
    }

    /// Returns the names of the subdirectories of the directory at an absolute path.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn dirs_in(&self, dir: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let Some(row) = self.dir_row(dir)? else { return Ok(Vec::new()) };
        let mut query = self
            .db
            .prepare_cached("SELECT name FROM dir WHERE parent = ?1 ORDER BY name")
            .at(&self.path)?;
        let names =
            query.query_map([row], |row| Ok(name(row, 0)?.to_vec())).and_then(Iterator::collect);
        names.at(&self.path)
    }

    /// Returns all files with a given content, sorted by path. Includes files that had this content
    /// before they were found damaged or unreadable.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn files_with(&self, content: i64) -> Result<Vec<Entry>, Error> {
        let sql = format!("{SELECT} WHERE file.content = ?1");
        let mut entries = self.in_one_snapshot(|| self.with_paths(self.entries(&sql, content)?))?;
        entries.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(entries)
    }

    /// Returns the paths that were scanned.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn roots(&self) -> Result<Vec<Vec<u8>>, Error> {
        let mut query = self.db.prepare("SELECT path FROM root ORDER BY path").at(&self.path)?;
        query.query_map([], |row| row.get(0)).and_then(Iterator::collect).at(&self.path)
    }

    /// Returns whether any file at or below an absolute path is remembered.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn remembers(&self, path: &[u8]) -> Result<bool, Error> {
        let exists = |sql: &str, params: &[&dyn ToSql]| -> Result<bool, Error> {
            self.db.query_row(sql, params, |row| row.get(0)).at(&self.path)
        };
        let (dir, name) = walk::split_path(path);
        if let Some(dir) = self.dir_row(dir)?
            && exists(
                "SELECT EXISTS (SELECT 1 FROM file WHERE dir = ?1 AND name = ?2)",
                &[&dir, &name],
            )?
        {
            return Ok(true);
        }
        let Some(top) = self.dir_row(path)? else { return Ok(false) };
        let sql =
            format!("{BELOW} SELECT EXISTS (SELECT 1 FROM below JOIN file ON file.dir = below.id)");
        exists(&sql, &[&top])
    }

    /// Returns the files of a given size that have not yet been compared with the other files of
    /// that size.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn pending(&self, size: u64) -> Result<Vec<Entry>, Error> {
        let sql = format!("{SELECT} WHERE state <> 0 AND state = 1 AND file.size = ?1");
        self.in_one_snapshot(|| self.with_paths(self.entries(&sql, size.cast_signed())?))
    }

    /// Returns all names of the inodes given as (volume, inode). Reads every row.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn names_of(&self, inodes: &HashSet<(i64, u64)>) -> Result<Vec<Entry>, Error> {
        self.in_one_snapshot(|| self.with_paths(self.names_without_paths(inodes)?))
    }

    fn names_without_paths(&self, inodes: &HashSet<(i64, u64)>) -> Result<Vec<Entry>, Error> {
        let mut query = self.db.prepare(SELECT).at(&self.path)?;
        let mut rows = query.query([]).at(&self.path)?;
        let mut found = Vec::new();
        while let Some(row) = rows.next().at(&self.path)? {
            let volume = row.get(9).at(&self.path)?;
            let inode: i64 = row.get(2).at(&self.path)?;
            if inodes.contains(&(volume, inode.cast_unsigned())) {
                found.push(read(row).at(&self.path)?);
            }
        }
        Ok(found)
    }

    /// Returns what is remembered about each file of a tree.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn match_files(&self, tree: &Tree) -> Result<Vec<FileMatch>, Error> {
        self.in_one_snapshot(|| self.match_files_now(tree))
    }

    fn match_files_now(&self, tree: &Tree) -> Result<Vec<FileMatch>, Error> {
        let mut volumes = Volumes::load(self)?;
        let mut known = vec![FileMatch::Missing; tree.files().len()];
        let mut statement = self.files_in_statement()?;
        for index in (0u32..).take(tree.dirs().len()) {
            let dir = DirId(index);
            if tree.files_in(dir).is_empty() {
                continue;
            }
            let Some(row) = self.dir_row(&tree.absolute_dir_path(dir))? else { continue };
            let files = files_by_name(tree, std::iter::once(dir));
            self.each_file_in(&mut statement, row, |name, stored| {
                let Ok(at) = files.binary_search_by(|(n, _)| (*n).cmp(name)) else { return };
                let file = files[at].1;
                let FileRow { volume, inode, content, state, .. } = stored;
                let is_same = stored.same_version(&version(tree, file, &mut volumes));
                let same = is_same.then_some(KnownFile { volume, inode, content, state });
                known[file.0 as usize] = same.map_or(FileMatch::Changed, FileMatch::Unchanged);
            })?;
        }
        Ok(known)
    }

    /// Returns the entries that a query selects. The paths of the entries are not filled in yet.
    fn entries(&self, sql: &str, key: i64) -> Result<Vec<Entry>, Error> {
        let mut query = self.db.prepare_cached(sql).at(&self.path)?;
        query.query_map([key], read).and_then(Iterator::collect).at(&self.path)
    }

    fn with_paths(&self, entries: Vec<Entry>) -> Result<Vec<Entry>, Error> {
        entries.into_iter().map(|entry| self.with_path(entry)).collect()
    }

    fn with_path(&self, mut entry: Entry) -> Result<Entry, Error> {
        entry.path = self.path_in(entry.dir, &entry.name)?;
        Ok(entry)
    }
}
