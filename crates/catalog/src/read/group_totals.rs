//! Counts all groups at once, without loading their files.

use crate::error::{At, Error};
use crate::open::Catalog;

/// The totals of all groups in a catalog.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTotals {
    /// Number of groups.
    pub groups: u64,
    /// Number of files beyond one of each group.
    pub redundant: u64,
    /// The disk space, in bytes, that keeping one file of each group would free.
    pub reclaimable: u64,
}

impl Catalog {
    /// Counts the groups. Reads only the table of contents. The totals may include files that are
    /// damaged or on a disk that is not mounted.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn group_totals(&self) -> Result<GroupTotals, Error> {
        let sql = "SELECT inodes, reclaimable FROM content WHERE inodes > 1";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let mut rows = query.query([]).at(&self.path)?;
        let mut totals = GroupTotals::default();
        while let Some(row) = rows.next().at(&self.path)? {
            let number = |column| row.get::<_, i64>(column).map(i64::cast_unsigned);
            totals.groups += 1;
            totals.redundant = totals.redundant.saturating_add(number(0).at(&self.path)? - 1);
            totals.reclaimable = totals.reclaimable.saturating_add(number(1).at(&self.path)?);
        }
        Ok(totals)
    }
}
