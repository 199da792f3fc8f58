//! Forgets what is remembered below a path, whether or not the files still exist.

use std::collections::{HashMap, HashSet};

use rusqlite::params;

use crate::error::{At, Error};
use crate::open::{Catalog, Writer};
use crate::tables::dirs::{BELOW, range_below};

impl Writer {
    /// Forgets everything at and below the absolute path of a file or directory: files and what is
    /// known about them, roots and their sizes, and problems. Returns the number of forgotten files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn forget_below(&self, path: &[u8]) -> Result<u64, Error> {
        let catalog = &self.catalog;
        catalog.in_transaction(|| {
            let files = catalog.forget_file(path)? + catalog.forget_dir(path)?;
            catalog.forget_scans(path)?;
            Ok(files)
        })
    }
}

impl Catalog {
    fn forget_file(&self, path: &[u8]) -> Result<u64, Error> {
        let (dir, name) = walk::split_path(path);
        let Some(row) = self.dir_row(dir)? else { return Ok(0) };
        let sql = "DELETE FROM file WHERE dir = ?1 AND name = ?2 RETURNING content";
        let mut delete = self.db.prepare(sql).at(&self.path)?;
        let contents: Vec<Option<i64>> = delete
            .query_map(params![row, name], |row| row.get(0))
            .and_then(Iterator::collect)
            .at(&self.path)?;
        self.count_anew(contents.iter().flatten().copied())?;
        if !contents.is_empty() {
            self.delete_empty_dirs(HashSet::from([row]))?;
        }
        Ok(contents.len() as u64)
    }

    fn forget_dir(&self, path: &[u8]) -> Result<u64, Error> {
        let Some(top) = self.dir_row(path)? else { return Ok(0) };
        let dirs = self.dirs_below(top)?;
        let mut contents = HashSet::new();
        let mut files = 0;
        let sql = "SELECT content FROM file WHERE dir = ?1";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        for &dir in &dirs {
            let mut rows = query.query([dir]).at(&self.path)?;
            while let Some(row) = rows.next().at(&self.path)? {
                files += 1;
                contents.extend(row.get::<_, Option<i64>>(0).at(&self.path)?);
            }
        }
        let parent = "SELECT parent FROM dir WHERE id = ?1 AND parent IS NOT NULL";
        let mut query = self.db.prepare(parent).at(&self.path)?;
        let parents = query.query_map([top], |row| row.get(0)).and_then(Iterator::collect);
        let parents: HashSet<i64> = parents.at(&self.path)?;
        self.delete_dirs(&dirs)?;
        self.delete_empty_dirs(parents)?;
        self.count_anew(contents.into_iter())?;
        Ok(files)
    }

    /// Returns a directory and all directories below it.
    fn dirs_below(&self, top: i64) -> Result<Vec<i64>, Error> {
        let sql = format!("{BELOW} SELECT id FROM below");
        let mut query = self.db.prepare(&sql).at(&self.path)?;
        query.query_map([top], |row| row.get(0)).and_then(Iterator::collect).at(&self.path)
    }

    /// Recounts the inodes of contents that lost files.
    fn count_anew(&self, contents: impl Iterator<Item = i64>) -> Result<(), Error> {
        let count = |content| self.count_inodes(content).map(|inodes| (content, inodes));
        let counts: Vec<(i64, u32)> = contents.map(count).collect::<Result<_, _>>()?;
        self.write_counts(&counts, &HashMap::new())
    }

    /// Makes the next scan of each root examine everything, because no watcher notes what lop forgets.
    pub(super) fn forget_positions(&self) -> Result<(), Error> {
        self.run("UPDATE root SET watcher = NULL, position = NULL")
    }

    /// Forgets roots, their sizes, and problems at and below a path, and the positions of all watched roots.
    fn forget_scans(&self, path: &[u8]) -> Result<(), Error> {
        self.forget_positions()?;
        let (from, to) = range_below(path);
        for (table, path_column) in [("root", "path"), ("problem", "path"), ("scan_space", "root")]
        {
            let below = format!("{path_column} >= ?2 AND {path_column} < ?3");
            let sql = format!("DELETE FROM {table} WHERE {path_column} = ?1 OR {below}");
            self.db.execute(&sql, params![path, from, to]).at(&self.path)?;
        }
        Ok(())
    }
}
