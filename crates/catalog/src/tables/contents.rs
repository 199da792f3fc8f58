//! The table `content` in memory, and the number of each content in [`Fingerprints`].

use std::collections::{BTreeSet, HashMap};

use content::{ContentId, Digest, Fingerprints};
use rusqlite::{OptionalExtension, Row};

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::state::FileState;
use crate::tables::rows::FileRow;

/// A row of `content`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentRow {
    pub(crate) digest: Option<Digest>,
    pub(crate) inodes: u32,
    pub(crate) reclaimable: u64,
}

impl ContentRow {
    /// Reads the columns `id`, `digest`, `inodes` and `reclaimable`.
    fn read(row: &Row<'_>) -> rusqlite::Result<ContentRow> {
        let digest: Option<[u8; 32]> = row.get(1)?;
        let reclaimable: i64 = row.get(3)?;
        Ok(ContentRow {
            digest: digest.map(Digest),
            inodes: row.get(2)?,
            reclaimable: reclaimable.cast_unsigned(),
        })
    }
}

/// The contents of the catalog, and their numbers in [`Fingerprints`].
#[derive(Debug, Default)]
pub(crate) struct Contents {
    /// Sorted by id. Each id occurs once.
    entries: Vec<Entry>,
    /// Numbers of contents that have no row although files refer to them. Only damaged catalogs have
    /// such files.
    without_row: HashMap<i64, ContentId>,
    /// The row in `content` of each numbered content, by [`ContentId::index`].
    pub(crate) row_of: Vec<i64>,
}

#[derive(Debug)]
struct Entry {
    id: i64,
    row: ContentRow,
    /// The number in [`Fingerprints`], once a file needs it.
    number: Option<ContentId>,
}

impl Contents {
    /// Loads the rows with these ids, in any order.
    pub(crate) fn load_some(
        catalog: &Catalog,
        ids: impl Iterator<Item = i64>,
    ) -> Result<Contents, Error> {
        let mut contents = Contents::default();
        contents.extend(Contents::rows(catalog, ids)?);
        Ok(contents)
    }

    /// Returns the rows with these ids, each once.
    pub(crate) fn rows(
        catalog: &Catalog,
        ids: impl Iterator<Item = i64>,
    ) -> Result<Vec<(i64, ContentRow)>, Error> {
        let sql = "SELECT id, digest, inodes, reclaimable FROM content WHERE id = ?1";
        let mut query = catalog.db.prepare_cached(sql).at(&catalog.path)?;
        let ids: BTreeSet<i64> = ids.collect();
        let mut rows = Vec::with_capacity(ids.len());
        for id in ids {
            let found = query.query_row([id], |row| Ok((id, ContentRow::read(row)?))).optional();
            rows.extend(found.at(&catalog.path)?);
        }
        Ok(rows)
    }

    pub(crate) fn load(catalog: &Catalog) -> Result<Contents, Error> {
        let sql = "SELECT id, digest, inodes, reclaimable FROM content ORDER BY id";
        let mut query = catalog.db.prepare(sql).at(&catalog.path)?;
        let mut entries: Vec<Entry> = query
            .query_map([], |row| {
                Ok(Entry { id: row.get(0)?, row: ContentRow::read(row)?, number: None })
            })
            .and_then(Iterator::collect)
            .at(&catalog.path)?;
        // A damaged table may return its rows out of order.
        sort(&mut entries);
        Ok(Contents { entries, ..Contents::default() })
    }

    /// Returns the index of a row in `entries`. Most ids are consecutive, so the index usually
    /// follows from the first id.
    fn index(&self, id: i64) -> Option<usize> {
        let first = self.entries.first()?.id;
        // Each missing id moves later rows one place towards the start.
        let last_possible = usize::try_from(id.checked_sub(first)?).ok()?;
        if self.entries.get(last_possible).is_some_and(|entry| entry.id == id) {
            return Some(last_possible);
        }
        let end = last_possible.min(self.entries.len());
        self.entries[..end].binary_search_by_key(&id, |entry| entry.id).ok()
    }

    /// Adds or updates contents that were stored. If an id occurs more than once, its last row counts.
    pub(crate) fn extend(&mut self, contents: Vec<(i64, ContentRow)>) {
        for (id, row) in contents {
            self.entries.push(Entry { id, row, number: self.without_row.remove(&id) });
        }
        sort(&mut self.entries);
    }

    /// Returns all contents, sorted by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, &ContentRow)> {
        self.entries.iter().map(|entry| (entry.id, &entry.row))
    }

    pub(crate) fn row(&self, id: i64) -> Option<&ContentRow> {
        self.index(id).map(|index| &self.entries[index].row)
    }

    /// Adds what is remembered about a file to `fingerprints`.
    ///
    /// Adds nothing if the file was found damaged or unreadable, or if the row has no head because
    /// the file's times were too recent to reveal another change.
    pub(crate) fn attach(&mut self, fingerprints: &Fingerprints, file: u32, row: &FileRow) {
        let Some(head) = row.head.filter(|_| !row.state.is_bad()) else { return };
        fingerprints.set_head(file, head);
        if let Some(content) = row.content.filter(|_| row.state == FileState::Known) {
            fingerprints.set_content(file, self.id(fingerprints, content));
        }
    }

    /// Returns the number of a content in `fingerprints`. Assigns one if needed.
    pub(crate) fn id(&mut self, fingerprints: &Fingerprints, row: i64) -> ContentId {
        let Some(index) = self.index(row) else { return self.id_without_row(fingerprints, row) };
        let entry = &mut self.entries[index];
        *entry.number.get_or_insert_with(|| {
            self.row_of.push(row);
            fingerprints.new_content(entry.row.digest)
        })
    }

    fn id_without_row(&mut self, fingerprints: &Fingerprints, row: i64) -> ContentId {
        *self.without_row.entry(row).or_insert_with(|| {
            self.row_of.push(row);
            fingerprints.new_content(None)
        })
    }
}

/// Sorts entries by id and leaves each id once, with its last row and its first number. Takes linear
/// time if the entries are almost sorted.
fn sort(entries: &mut Vec<Entry>) {
    entries.sort_by_key(|entry| entry.id);
    entries.dedup_by(|next, kept| {
        let repeated = next.id == kept.id;
        if repeated {
            kept.row = next.row;
            kept.number = kept.number.or(next.number);
        }
        repeated
    });
}

#[cfg(test)]
mod tests {
    use super::{ContentRow, Contents};

    #[test]
    fn rows_are_found_despite_gaps_and_repeated_ids() {
        let row = |inodes| ContentRow { digest: None, inodes, reclaimable: 0 };
        let mut contents = Contents::default();
        contents.extend(vec![
            (1, row(1)),
            (2, row(1)),
            (3, row(1)),
            (3, row(2)),
            (4, row(1)),
            (9, row(1)),
        ]);
        contents.extend(vec![(6, row(1)), (9, row(3)), (10, row(1))]);
        let found: Vec<i64> = (-2..30).filter(|&id| contents.row(id).is_some()).collect();
        assert_eq!(found, [1, 2, 3, 4, 6, 9, 10]);
        assert!(contents.iter().map(|(id, _)| id).eq(found));
        let inodes = |id| contents.row(id).unwrap().inodes;
        assert_eq!((inodes(3), inodes(9)), (2, 3), "the last row of a repeated id counts");
        assert!(contents.row(i64::MIN).is_none() && contents.row(i64::MAX).is_none());
    }
}
