//! The directories of a catalog, loaded into memory for matching with a tree.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use walk::{DirId, Tree};

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::tables::rows::name;

/// The row of the root directory.
pub(crate) const TOP: i64 = 1;

/// The beginning of a query over `below`, which contains the ids of directory `?1` and of all
/// directories below it. `UNION` visits each directory once, even if parents form a cycle in a
/// damaged catalog.
pub(crate) const BELOW: &str = "WITH RECURSIVE below (id) AS \
    (SELECT ?1 UNION SELECT dir.id FROM dir JOIN below ON dir.parent = below.id)";

/// All rows of `dir`, sorted by parent and name.
#[derive(Debug, Default)]
pub(crate) struct Dirs {
    rows: Vec<Row>,
    by_id: HashMap<i64, usize>,
}

#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) id: i64,
    pub(crate) parent: i64,
    pub(crate) name: Box<[u8]>,
}

impl Dirs {
    pub(crate) fn load(catalog: &Catalog) -> Result<Dirs, Error> {
        let sql = "SELECT id, parent, name FROM dir WHERE parent IS NOT NULL ORDER BY parent, name";
        let mut query = catalog.db.prepare(sql).at(&catalog.path)?;
        let rows: Vec<Row> = query
            .query_map([], |row| {
                Ok(Row { id: row.get(0)?, parent: row.get(1)?, name: name(row, 2)?.into() })
            })
            .and_then(Iterator::collect)
            .at(&catalog.path)?;
        let by_id = rows.iter().enumerate().map(|(index, row)| (row.id, index)).collect();
        let dirs = Dirs { rows, by_id };
        match dirs.orphans() {
            0 => Ok(dirs),
            orphans => Err(Error::Orphans { path: catalog.path.clone(), dirs: orphans, files: 0 }),
        }
    }

    /// Returns the number of directories without a valid parent. A directory is created after its
    /// parent and therefore has a greater id, so following parents always ends at the root.
    fn orphans(&self) -> u64 {
        let is_there = |id: i64| id == TOP || self.by_id.contains_key(&id);
        let is_orphan = |row: &&Row| row.parent >= row.id || !is_there(row.parent);
        self.rows.iter().filter(is_orphan).count() as u64
    }

    /// Returns the subdirectories of directory `id`.
    pub(crate) fn children(&self, id: i64) -> &[Row] {
        &self.rows[self.range(id)]
    }

    fn range(&self, parent: i64) -> Range<usize> {
        let start = self.rows.partition_point(|row| row.parent < parent);
        let len = self.rows[start..].partition_point(|row| row.parent == parent);
        start..start + len
    }

    /// Returns the directory `name` in `parent`.
    pub(crate) fn child(&self, parent: i64, name: &[u8]) -> Option<i64> {
        let children = self.children(parent);
        let at = children.binary_search_by(|row| row.name.as_ref().cmp(name)).ok()?;
        Some(children[at].id)
    }

    /// Returns the directory at an absolute path.
    pub(crate) fn at_path(&self, absolute: &[u8]) -> Option<i64> {
        components(absolute).try_fold(TOP, |parent, name| self.child(parent, name))
    }

    /// Returns the row of a directory; `None` for the root.
    pub(crate) fn row(&self, id: i64) -> Option<&Row> {
        self.by_id.get(&id).map(|&index| &self.rows[index])
    }

    /// Returns the absolute path of a directory.
    pub(crate) fn path(&self, id: i64) -> PathBuf {
        let above = std::iter::successors(self.row(id), |row| self.row(row.parent));
        let names: Vec<&OsStr> = above.map(|row| OsStr::from_bytes(&row.name)).collect();
        [OsStr::new("/")].into_iter().chain(names.into_iter().rev()).collect()
    }

    /// Returns the row of each directory of a tree; 0 for none.
    pub(crate) fn of_tree(&self, tree: &Tree) -> Vec<i64> {
        let mut found: Vec<i64> = Vec::with_capacity(tree.dirs().len());
        for (index, dir) in (0u32..).zip(tree.dirs()) {
            let id = DirId(index);
            let row = match (dir.parent, tree.dir_name(id)) {
                (Some(parent), Some(name)) => {
                    let parent = found[parent.0 as usize];
                    if parent == 0 { None } else { self.child(parent, name.to_bytes()) }
                }
                _ => self.at_path(&tree.root_of(id).absolute),
            };
            found.push(row.unwrap_or(0));
        }
        found
    }

    /// Calls `each` for `id` and for every directory below it, parents first.
    pub(crate) fn each_below(&self, id: i64, mut each: impl FnMut(i64)) {
        let mut stack = vec![id];
        while let Some(id) = stack.pop() {
            each(id);
            stack.extend(self.children(id).iter().map(|row| row.id));
        }
    }
}

/// Returns the range, in byte order, of all paths below an absolute path `x`: from `x/` to `x0`,
/// because `0` follows `/`.
pub(crate) fn range_below(path: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let dir = path.strip_suffix(b"/").unwrap_or(path);
    ([dir, b"/"].concat(), [dir, b"0"].concat())
}

/// Returns the components of an absolute path.
pub(crate) fn components(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&b| b == b'/').filter(|name| !name.is_empty())
}
