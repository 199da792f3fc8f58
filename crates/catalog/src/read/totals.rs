//! Counts the files remembered below each subdirectory of a directory.

use rusqlite::params;

use crate::error::{At, Error};
use crate::open::Catalog;

/// The files that are remembered below a directory, at any depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// The directory's name.
    pub name: Vec<u8>,
    /// Number of names of regular files.
    pub files: u64,
    /// Total size in bytes. A file with two names counts twice.
    pub bytes: u64,
    /// Number of files that are identical to a file anywhere in the catalog.
    pub duplicates: u64,
}

/// Counts the remembered files below each subdirectory of a directory.
///
/// The recursion ends because a directory has a greater id than its parent. `CROSS JOIN` makes
/// `SQLite` look up the files of each directory by index. Without it, `SQLite` scanned all files of
/// the catalog to count the files of a few directories.
const TOTALS: &str = "WITH RECURSIVE below (id, top) AS (
        SELECT id, id FROM dir WHERE parent = ?1 AND id > ?1
        UNION ALL
        SELECT dir.id, below.top
        FROM below CROSS JOIN dir ON dir.parent = below.id AND dir.id > below.id
    )
    SELECT top.name, count(*), total(file.size),
           coalesce(sum(file.state = 0 AND content.inodes > 1), 0)
    FROM below
    CROSS JOIN file ON file.dir = below.id
    CROSS JOIN dir AS top ON top.id = below.top
    LEFT JOIN content ON content.id = file.content
    GROUP BY below.top ORDER BY top.name";

impl Catalog {
    /// Counts the files that are remembered below each subdirectory of the directory at an absolute
    /// path. The subdirectories are sorted by name, and those without files are left out.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn totals_in(&self, dir: &[u8]) -> Result<Vec<Totals>, Error> {
        let Some(row) = self.dir_row(dir)? else { return Ok(Vec::new()) };
        let mut query = self.db.prepare(TOTALS).at(&self.path)?;
        let totals = query.query_map(params![row], |row| {
            let count = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
            // The sum of 64-bit numbers may overflow, so `total()` returns it as a float.
            let bytes: f64 = row.get(2)?;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "saturates"
            )]
            let bytes = bytes as u64;
            Ok(Totals { name: row.get(0)?, files: count(1)?, bytes, duplicates: count(3)? })
        });
        totals.and_then(Iterator::collect).at(&self.path)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::TOTALS;
    use crate::schema::{CHANGES_INDEXES, CURRENT, INDEXES};

    #[test]
    fn only_files_of_the_directories_are_looked_up() {
        let db = Connection::open_in_memory().expect("a database");
        for step in [CURRENT, INDEXES, CHANGES_INDEXES] {
            db.execute_batch(step).expect("is made");
        }
        let mut query = db.prepare(&format!("EXPLAIN QUERY PLAN {TOTALS}")).expect("a question");
        let steps = query.query_map([1], |row| row.get(3)).expect("a plan");
        let steps: Vec<String> = steps.collect::<Result<_, _>>().expect("text");
        assert!(steps.iter().any(|step| step.starts_with("SEARCH file")), "{steps:?}");
        let scans = steps.iter().filter(|step| step.starts_with("SCAN"));
        assert!(scans.clone().all(|step| step == "SCAN below"), "{steps:?}");
    }
}
