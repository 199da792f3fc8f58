//! Finds the inodes of a size, and the paths of inodes.

use std::collections::{BTreeMap, BTreeSet, HashMap};
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
                    inodes.each_key(number, |key| {
                        if size.is_none_or(|size| size == key.size) {
                            each(&key);
                        }
                    })?;
                }
            }
        }
        Ok(())
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
