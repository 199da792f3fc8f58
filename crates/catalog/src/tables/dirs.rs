//! The directories of a catalog, loaded into memory for matching with a tree.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::{OptionalExtension, Statement, params};
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

impl Row {
    /// Reads the columns `id`, `parent` and `name`.
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
        Ok(Row { id: row.get(0)?, parent: row.get(1)?, name: name(row, 2)?.into() })
    }
}

impl Dirs {
    pub(crate) fn load(catalog: &Catalog) -> Result<Dirs, Error> {
        let sql = "SELECT id, parent, name FROM dir WHERE parent IS NOT NULL ORDER BY parent, name";
        let mut query = catalog.db.prepare(sql).at(&catalog.path)?;
        let rows: Vec<Row> =
            query.query_map([], Row::read).and_then(Iterator::collect).at(&catalog.path)?;
        Dirs::of_rows(catalog, rows)
    }

    /// Returns the directories in `rows`, which must be sorted by parent and name.
    fn of_rows(catalog: &Catalog, rows: Vec<Row>) -> Result<Dirs, Error> {
        let by_id = rows.iter().enumerate().map(|(index, row)| (row.id, index)).collect();
        let dirs = Dirs { rows, by_id };
        match dirs.orphans() {
            0 => Ok(dirs),
            orphans => Err(Error::Orphans { path: catalog.path.clone(), dirs: orphans, files: 0 }),
        }
    }

    /// Loads the directories of a tree with changed entries ([`walk::Changes`]): those that the tree contains, the
    /// subdirectories of those that were listed, the names that were looked up, and everything below directories
    /// that are gone.
    pub(crate) fn load_for(catalog: &Catalog, tree: &Tree) -> Result<Dirs, Error> {
        let mut some = SomeDirs::new(catalog)?;
        let mut found: Vec<i64> = Vec::with_capacity(tree.dirs().len());
        for (index, dir) in (0u32..).zip(tree.dirs()) {
            let id = DirId(index);
            let row = match (dir.parent, tree.dir_name(id)) {
                (Some(parent), Some(name)) => {
                    some.child(found[parent.0 as usize], name.to_bytes())?
                }
                _ => components(&tree.root_of(id).absolute)
                    .try_fold(TOP, |parent, name| some.child(parent, name))?,
            };
            found.push(row);
        }
        let present: HashSet<i64> = found.iter().copied().collect();
        let mut missing = Vec::new();
        for (_, &row) in tree.dirs().iter().zip(&found).filter(|(dir, _)| dir.complete) {
            missing.extend(some.children(row)?);
        }
        for (dir, name) in tree.looked_up() {
            missing.push(some.child(found[dir.0 as usize], name)?);
        }
        for row in missing {
            if row != 0 && !present.contains(&row) {
                some.below(row)?;
            }
        }
        some.finish(catalog)
    }

    /// Adds the directories with these ids and their ancestors.
    pub(crate) fn add(
        &mut self,
        catalog: &Catalog,
        ids: impl Iterator<Item = i64>,
    ) -> Result<(), Error> {
        let sql = "SELECT id, parent, name FROM dir WHERE id = ?1 AND parent IS NOT NULL";
        let mut query = catalog.db.prepare(sql).at(&catalog.path)?;
        let mut known: HashSet<i64> = self.by_id.keys().copied().collect();
        known.insert(TOP);
        let mut rows = std::mem::take(&mut self.rows);
        for mut at in ids {
            // A parent that is missing is reported as an orphan below.
            while known.insert(at) {
                let Some(row) = query.query_row([at], Row::read).optional().at(&catalog.path)?
                else {
                    break;
                };
                at = row.parent;
                rows.push(row);
            }
        }
        rows.sort_unstable_by(|a, b| (a.parent, &a.name).cmp(&(b.parent, &b.name)));
        *self = Dirs::of_rows(catalog, rows)?;
        Ok(())
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

/// Loads single rows of `dir`.
struct SomeDirs<'c> {
    path: &'c Path,
    named: Statement<'c>,
    in_parent: Statement<'c>,
    below: Statement<'c>,
    rows: HashMap<i64, Row>,
}

impl<'c> SomeDirs<'c> {
    fn new(catalog: &'c Catalog) -> Result<SomeDirs<'c>, Error> {
        let prepare = |sql: &str| catalog.db.prepare(sql).at(&catalog.path);
        let columns = "SELECT dir.id, dir.parent, dir.name FROM dir";
        Ok(SomeDirs {
            path: &catalog.path,
            named: prepare(&format!("{columns} WHERE parent = ?1 AND name = ?2"))?,
            in_parent: prepare(&format!("{columns} WHERE parent = ?1"))?,
            below: prepare(&format!(
                "{BELOW} {columns} JOIN below ON below.id = dir.id WHERE dir.id <> ?1"
            ))?,
            rows: HashMap::new(),
        })
    }

    /// Loads the directory `name` in `parent`. Returns its id; 0 if there is none, or if `parent` is 0.
    fn child(&mut self, parent: i64, name: &[u8]) -> Result<i64, Error> {
        let found = self.named.query_row(params![parent, name], Row::read).optional();
        Ok(found.at(self.path)?.map_or(0, |row| {
            let id = row.id;
            self.rows.insert(id, row);
            id
        }))
    }

    /// Loads the subdirectories of a directory. Returns their ids.
    fn children(&mut self, parent: i64) -> Result<Vec<i64>, Error> {
        load_all(&mut self.in_parent, parent, &mut self.rows).at(self.path)
    }

    /// Loads all directories below a directory.
    fn below(&mut self, id: i64) -> Result<(), Error> {
        load_all(&mut self.below, id, &mut self.rows).map(drop).at(self.path)
    }

    fn finish(self, catalog: &Catalog) -> Result<Dirs, Error> {
        let mut rows: Vec<Row> = self.rows.into_values().collect();
        rows.sort_unstable_by(|a, b| (a.parent, &a.name).cmp(&(b.parent, &b.name)));
        Dirs::of_rows(catalog, rows)
    }
}

fn load_all(
    statement: &mut Statement<'_>,
    value: i64,
    rows: &mut HashMap<i64, Row>,
) -> rusqlite::Result<Vec<i64>> {
    let mut ids = Vec::new();
    for row in statement.query_map([value], Row::read)? {
        let row = row?;
        ids.push(row.id);
        rows.insert(row.id, row);
    }
    Ok(ids)
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
