//! Reads the groups with the most reclaimable space, without loading the others.

use rusqlite::{Row, params};

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::tables::rows::name;

/// A group of identical files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopGroup {
    /// The number of its content in the catalog.
    pub number: i64,
    /// The size of each file in bytes.
    pub size: u64,
    /// The bytes that keeping only one file would free.
    pub reclaimable: u64,
    /// Number of files. Several names of one inode are one file.
    pub inodes: u32,
    /// Number of names.
    pub names: u64,
    /// The absolute paths of the names, in no particular order. At least one, and not all of them if
    /// the group has many.
    pub paths: Vec<Vec<u8>>,
}

impl Catalog {
    /// Returns the `count` groups with the most reclaimable bytes, in descending order; groups with
    /// equally many are sorted by their numbers. Each has at most `max_paths` paths.
    ///
    /// Reads the table of contents, and the names of these groups by index.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn top_groups(&self, count: u32, max_paths: u32) -> Result<Vec<TopGroup>, Error> {
        self.in_one_snapshot(|| {
            let sql = "SELECT id, size, reclaimable, inodes FROM content WHERE inodes > 1 \
                       ORDER BY reclaimable DESC, id LIMIT ?1";
            let mut query = self.db.prepare(sql).at(&self.path)?;
            let groups = query.query_map([count], read).and_then(Iterator::collect);
            let mut groups: Vec<TopGroup> = groups.at(&self.path)?;
            for group in &mut groups {
                self.add_names(group, max_paths)?;
            }
            groups.retain(|group| !group.paths.is_empty());
            Ok(groups)
        })
    }

    fn add_names(&self, group: &mut TopGroup, max_paths: u32) -> Result<(), Error> {
        let sql = "SELECT count(*) FROM file WHERE content = ?1";
        let mut count = self.db.prepare_cached(sql).at(&self.path)?;
        let names: i64 = count.query_row([group.number], |row| row.get(0)).at(&self.path)?;
        group.names = names.cast_unsigned();
        let sql = "SELECT dir, name FROM file WHERE content = ?1 ORDER BY dir, name LIMIT ?2";
        let mut query = self.db.prepare_cached(sql).at(&self.path)?;
        let mut rows = query.query(params![group.number, max_paths]).at(&self.path)?;
        while let Some(row) = rows.next().at(&self.path)? {
            let dir = row.get(0).at(&self.path)?;
            group.paths.push(self.path_in(dir, name(row, 1).at(&self.path)?)?);
        }
        Ok(())
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<TopGroup> {
    let bytes = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
    Ok(TopGroup {
        number: row.get(0)?,
        size: bytes(1)?,
        reclaimable: bytes(2)?,
        inodes: row.get(3)?,
        names: 0,
        paths: Vec::new(),
    })
}
