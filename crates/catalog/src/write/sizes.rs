//! Stores the sizes of directories that a scan found, and thins out those of older scans.
//!
//! The younger a row, the closer are its neighbours: the ages of two rows that stay differ by a
//! factor of about 1.5. Daily scans therefore leave about 20 rows for ten years. The oldest row
//! stays.

use rusqlite::params;
use walk::Tree;

use crate::error::{At, Error};
use crate::open::Catalog;

/// Number of rows of each root that always stay, beginning with the newest.
const NEWEST: usize = 4;
/// Maximum number of rows of each root.
const MAX_ROWS: usize = 24;
/// A row is deleted if the age of the next older row is at most this many times the age of the next
/// newer row. This is the square of 1.5, because two rows become neighbours.
const MAX_RATIO: f64 = 2.25;

/// The sizes of the directories below a root, in the compact form that the crate `space` defines.
#[derive(Clone, Debug)]
pub struct ScanSizes {
    /// The absolute path of the root.
    pub root: Vec<u8>,
    /// The sizes.
    pub data: Vec<u8>,
}

impl Catalog {
    /// Stores the sizes that scan `scan` found, unless they are the same as in the newest row of
    /// the root. Leaves out roots that the scan did not cover completely.
    pub(crate) fn write_sizes(
        &self,
        scan: i64,
        tree: &Tree,
        sizes: &[ScanSizes],
    ) -> Result<(), Error> {
        for ScanSizes { root, data } in sizes {
            if !tree.roots().iter().any(|found| found.whole && found.absolute == *root) {
                continue;
            }
            let sql = "SELECT EXISTS (SELECT 1 FROM scan_space WHERE root = ?1 AND data = ?2 \
                       AND scan = (SELECT max(scan) FROM scan_space WHERE root = ?1))";
            let is_known = self.db.query_row(sql, params![root, data], |row| row.get(0));
            if is_known.at(&self.path)? {
                continue;
            }
            let sql = "INSERT OR REPLACE INTO scan_space (scan, root, data) VALUES (?1, ?2, ?3)";
            self.db.execute(sql, params![scan, root, data]).at(&self.path)?;
            self.thin_out_sizes(root)?;
        }
        Ok(())
    }

    fn thin_out_sizes(&self, root: &[u8]) -> Result<(), Error> {
        let rows = self.scan_sizes(root)?;
        let newest = rows.first().map_or(0, |sized| sized.finished_ms);
        let ages: Vec<i64> =
            rows.iter().map(|sized| newest.saturating_sub(sized.finished_ms)).collect();
        let stay = staying(&ages);
        let sql = "DELETE FROM scan_space WHERE scan = ?1 AND root = ?2";
        let mut delete = self.db.prepare(sql).at(&self.path)?;
        for (at, row) in rows.iter().enumerate() {
            if !stay.contains(&at) {
                delete.execute(params![row.scan, root]).at(&self.path)?;
            }
        }
        Ok(())
    }
}

/// Returns the indexes of the rows that stay, given the ages of all rows, newest first.
fn staying(ages: &[i64]) -> Vec<usize> {
    let mut stay: Vec<usize> = (0..ages.len()).collect();
    while stay.len() > NEWEST + 1 {
        #[expect(clippy::cast_precision_loss, reason = "ratios need not be exact")]
        let age = |at: usize| ages[stay[at]].max(1) as f64;
        let ratio = |&at: &usize| age(at + 1) / age(at - 1);
        let between = (NEWEST..stay.len() - 1).map(|at| (at, ratio(&at)));
        let closest = between.min_by(|(_, a), (_, b)| a.total_cmp(b));
        match closest {
            Some((at, ratio)) if ratio <= MAX_RATIO || stay.len() > MAX_ROWS => stay.remove(at),
            _ => break,
        };
    }
    stay
}

#[cfg(test)]
mod tests {
    use super::{MAX_ROWS, NEWEST, staying};

    const DAY: i64 = 24 * 3600 * 1000;

    /// Returns the ages of the rows, newest first, after this many scans in equal intervals.
    fn ages(scans: i64, interval: i64) -> Vec<i64> {
        let mut ages: Vec<i64> = Vec::new();
        for _ in 0..scans {
            let grown = ages.iter().map(|age| age + interval);
            ages = std::iter::once(0).chain(grown).collect();
            ages = staying(&ages).into_iter().map(|at| ages[at]).collect();
        }
        ages
    }

    #[test]
    fn the_newest_and_the_oldest_rows_stay() {
        for scans in 1..300 {
            let ages = ages(scans, DAY);
            let newest: Vec<i64> = (0..scans.min(4)).map(|day| day * DAY).collect();
            assert_eq!(ages[..newest.len()], newest);
            assert_eq!(*ages.last().expect("not empty"), (scans - 1) * DAY);
        }
    }

    #[test]
    fn daily_scans_leave_about_twenty_rows_for_ten_years() {
        let ages = ages(3653, DAY);
        assert!((16..=MAX_ROWS).contains(&ages.len()), "{ages:?}");
        for pair in ages[NEWEST - 1..].windows(2) {
            assert!(pair[1] <= 3 * pair[0], "{pair:?} in {ages:?}");
        }
    }

    #[test]
    fn there_is_a_maximum_of_rows() {
        for interval in [0, 1, DAY / 24] {
            assert!(ages(20_000, interval).len() <= MAX_ROWS);
        }
        let doubled: Vec<i64> = (0..60).map(|n| 1 << n).collect();
        assert_eq!(staying(&doubled).len(), MAX_ROWS);
    }

    #[test]
    fn a_clock_that_was_set_back_does_not_matter() {
        assert_eq!(staying(&[0, -5, 7, -9]), [0, 1, 2, 3]);
        assert!(staying(&[0, -5, 7, -9, 3, i64::MIN, i64::MAX, 0, 0]).len() >= NEWEST);
    }
}
