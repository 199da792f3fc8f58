//! Finds the row of a directory by its path, and the path of a file by its row.

use rusqlite::{OptionalExtension, params};

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::tables::dirs::{TOP, components};

impl Catalog {
    /// Returns the row of the directory at an absolute path.
    pub(crate) fn dir_row(&self, absolute: &[u8]) -> Result<Option<i64>, Error> {
        let sql = "SELECT id FROM dir WHERE parent = ?1 AND name = ?2";
        let mut query = self.db.prepare_cached(sql).at(&self.path)?;
        let mut at = TOP;
        for name in components(absolute) {
            let found = query.query_row(params![at, name], |row| row.get(0)).optional();
            match found.at(&self.path)? {
                Some(id) => at = id,
                None => return Ok(None),
            }
        }
        Ok(Some(at))
    }

    /// Returns the absolute path of a file, given the row of its directory and its name.
    pub(crate) fn path_in(&self, dir: i64, name: &[u8]) -> Result<Vec<u8>, Error> {
        let sql = "SELECT parent, name FROM dir WHERE id = ?1";
        let mut query = self.db.prepare_cached(sql).at(&self.path)?;
        let mut names = vec![name.to_vec()];
        let mut at = dir;
        while at != TOP {
            let (parent, name) =
                query.query_row([at], |row| Ok((row.get(0)?, row.get(1)?))).at(&self.path)?;
            if parent >= at {
                return Err(Error::Orphans { path: self.path.clone(), dirs: 1, files: 0 });
            }
            names.push(name);
            at = parent;
        }
        let mut path = Vec::new();
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        Ok(path)
    }
}
