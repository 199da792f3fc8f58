//! Finds the inodes of a size, and the paths of inodes.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs::File;
use std::path::Path;

use fsops::Op;

use crate::dirs::TOP;
use crate::error::{At, Error};
use crate::keys::{InodeFile, InodeKey};
use crate::schema::{DIRS, INODES, NAMES, Table, bucket};
use crate::stored::Stored;
use crate::table::reader::{Group, TableReader};

/// The name of an inode: the id of its directory, and its name there.
type DirEntry = (i64, Vec<u8>);

impl Stored {
    /// Calls `each` for every inode that may have this size; for all inodes if the size is not known.
    ///
    /// # Errors
    ///
    /// Fails if the export cannot be read or is damaged.
    pub fn each_inode(
        &self,
        size: Option<u64>,
        mut each: impl FnMut(&InodeKey),
    ) -> Result<(), Error> {
        let wanted = size.map(bucket);
        for file in self.files(INODES.name) {
            let inodes = InodeFile::open(&file.path)?;
            for (number, group) in inodes.groups().iter().enumerate() {
                if wanted.is_none_or(|bucket| group.buckets.contains(&bucket)) {
                    inodes.each_key(number, true, |key| {
                        if size.is_none_or(|size| size == key.size) {
                            each(&key);
                        }
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Calls `each` for every inode: its number in the export, the number of its file system in the
    /// export ([`Stored::volumes`]), and its number in the file system.
    ///
    /// # Errors
    ///
    /// Fails if the export cannot be read or is damaged.
    pub fn each_identity(&self, mut each: impl FnMut(i64, i64, u64)) -> Result<(), Error> {
        for file in self.files(INODES.name) {
            InodeFile::open(&file.path)?.each_identity(&mut each)?;
        }
        Ok(())
    }

    /// Returns the number of inodes that are not empty, and the sum of their sizes in bytes.
    ///
    /// # Errors
    ///
    /// Fails if the export cannot be read or is damaged.
    pub fn amount(&self) -> Result<(u64, u64), Error> {
        let (mut inodes, mut bytes) = (0, 0u64);
        for file in self.files(INODES.name) {
            InodeFile::open(&file.path)?.each_size(|size| {
                inodes += u64::from(size > 0);
                bytes = bytes.saturating_add(size);
            })?;
        }
        Ok((inodes, bytes))
    }

    /// Returns the numbers of the inodes that have a name below a directory, given by its absolute path.
    /// Returns `None` if the export does not have the directory, or not under its plain name.
    ///
    /// # Errors
    ///
    /// Fails if the export cannot be read or is damaged.
    pub fn inodes_below(&self, dir: &[u8]) -> Result<Option<HashSet<i64>>, Error> {
        let Some(below) = self.dirs()?.below(dir) else { return Ok(None) };
        let mut inodes = HashSet::new();
        for file in self.files(NAMES.name) {
            // Names are sorted by directory.
            let is_wanted = |range| below.range(range).next().is_some();
            open(NAMES, &file.path)?.each_group_with("dir_id", is_wanted, |group| {
                let rows =
                    (0..group.rows).filter(|&row| below.contains(&number(&group, "dir_id", row)));
                inodes.extend(rows.map(|row| number(&group, "inode_id", row)));
                Ok(())
            })?;
        }
        Ok(Some(inodes))
    }

    /// Returns the absolute paths of some inodes, sorted. An inode has none if the names were not
    /// exported as they are.
    ///
    /// # Errors
    ///
    /// Fails if the export cannot be read or is damaged.
    pub fn paths(&self, inodes: &BTreeSet<i64>) -> Result<BTreeMap<i64, Vec<Vec<u8>>>, Error> {
        let mut paths: BTreeMap<i64, Vec<Vec<u8>>> = BTreeMap::new();
        if inodes.is_empty() || self.names != crate::manifest::Names::Plain {
            return Ok(paths);
        }
        let entries = self.entries(inodes)?;
        let dirs = self.dirs()?;
        for (inode, (dir, name)) in entries {
            let mut path = dirs.path(dir);
            path.push(b'/');
            path.extend_from_slice(&name);
            paths.entry(inode).or_default().push(path);
        }
        for paths in paths.values_mut() {
            paths.sort_unstable();
        }
        Ok(paths)
    }

    /// Returns the directory and the name of each name of some inodes.
    fn entries(&self, inodes: &BTreeSet<i64>) -> Result<Vec<(i64, DirEntry)>, Error> {
        let mut entries = Vec::new();
        for file in self.files(NAMES.name) {
            let reader = open(NAMES, &file.path)?;
            // Inodes are numbered in the order of their first names, so most row groups can be skipped.
            let is_wanted = |range| inodes.range(range).next().is_some();
            reader.each_group_with("inode_id", is_wanted, |group| {
                for row in 0..group.rows {
                    let inode = number(&group, "inode_id", row);
                    if inodes.contains(&inode) {
                        let name = group.bytes("name", row).unwrap_or_default().to_vec();
                        entries.push((inode, (number(&group, "dir_id", row), name)));
                    }
                }
                Ok(())
            })?;
        }
        Ok(entries)
    }

    fn dirs(&self) -> Result<Dirs, Error> {
        let mut dirs = HashMap::new();
        for file in self.files(DIRS.name) {
            open(DIRS, &file.path)?.each_group(|group| {
                for row in 0..group.rows {
                    let name = group.bytes("name", row).unwrap_or_default().into();
                    let parent = group.number("parent_id", row).unwrap_or(0);
                    dirs.insert(number(&group, "dir_id", row), (parent, name));
                }
                Ok(())
            })?;
        }
        Ok(Dirs(dirs))
    }
}

fn open(table: Table, path: &Path) -> Result<TableReader<File>, Error> {
    TableReader::new(table, File::open(path).at(Op::Open, path)?, path.into())
}

fn number(group: &Group, column: &str, row: usize) -> i64 {
    group.number(column, row).unwrap_or(0)
}

/// The parent and the name of each directory.
struct Dirs(HashMap<i64, (i64, Box<[u8]>)>);

impl Dirs {
    /// Returns a directory and all directories below it, if there is one with this absolute path.
    fn below(&self, path: &[u8]) -> Option<BTreeSet<i64>> {
        let mut top = TOP;
        for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
            let is_it = |(parent, child): &(i64, Box<[u8]>)| *parent == top && **child == *name;
            top = *self.0.iter().find(|(_, dir)| is_it(dir))?.0;
        }
        let mut below = BTreeSet::from([top]);
        let ids: BTreeSet<i64> = self.0.keys().copied().collect();
        // A parent has a smaller id, so it is in the set before its subdirectories.
        for &id in ids.range(top + 1..) {
            if below.contains(&self.0[&id].0) {
                below.insert(id);
            }
        }
        self.0.contains_key(&top).then_some(below)
    }

    /// Returns the path of a directory; empty for the root directory.
    fn path(&self, dir: i64) -> Vec<u8> {
        let mut names: Vec<&[u8]> = Vec::new();
        let mut at = dir;
        while let Some((parent, name)) = self.0.get(&at).filter(|_| at != TOP) {
            names.push(name);
            // A parent has a smaller id, so a damaged export does not lead in circles.
            at = if *parent < at { *parent } else { TOP };
        }
        names.iter().rev().flat_map(|name| [b"/", *name].concat()).collect()
    }
}
