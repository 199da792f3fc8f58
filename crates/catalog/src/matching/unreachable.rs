//! Tracks remembered files that a scan cannot reach, because their disk is not mounted or because
//! their directory was moved or cannot be read.
//!
//! Different content numbers mean that the contents were compared and differ. New files of a scan
//! cannot be compared with unreachable files. If both have digests, the digests show whether the
//! contents are equal. Otherwise the unreachable files lose their contents and are compared when
//! they can be reached again.

use std::collections::{HashMap, HashSet};

use content::{ContentId, Digest, Fingerprints, Head};
use walk::Tree;

use super::stored::NamedRow;
use crate::tables::contents::Contents;
use crate::tables::rows::FileRow;

/// Unreachable rows that have a content.
#[derive(Debug, Default)]
pub(crate) struct UnreachableRows {
    rows: Vec<NamedRow>,
}

impl UnreachableRows {
    /// Adds a row, given by its directory and name.
    pub(crate) fn add(&mut self, dir: i64, name: &[u8], row: &FileRow) {
        if row.content.is_some() {
            self.rows.push(NamedRow { dir, name: name.into(), row: *row });
        }
    }

    /// Removes rows that lost their content, given by directory and name.
    pub(crate) fn forget(&mut self, unproven: &[(i64, Box<[u8]>)]) {
        let unproven: HashSet<(i64, &[u8])> = unproven.iter().map(|(d, n)| (*d, &**n)).collect();
        self.rows.retain(|row| !unproven.contains(&(row.dir, &*row.name)));
    }

    /// Returns the contents of the unreachable files by digest.
    pub(crate) fn digests(&self, contents: &Contents) -> HashMap<Digest, i64> {
        let rows = self.rows.iter().filter_map(|found| found.row.content);
        rows.filter_map(|content| Some((contents.row(content)?.digest?, content))).collect()
    }

    /// Returns the directory, name and content of each row whose content might be the same as one
    /// of the `new` contents. This is possible if both have the same size and head, and at least
    /// one of them has no digest.
    pub(crate) fn unproven(
        &self,
        contents: &Contents,
        tree: &Tree,
        fingerprints: &Fingerprints,
        new: impl Iterator<Item = ContentId>,
    ) -> Vec<(i64, &[u8], i64)> {
        if self.rows.is_empty() {
            return Vec::new();
        }
        let new: HashSet<ContentId> = new.collect();
        // Maps each size and head to whether all new contents with this size and head have a
        // digest.
        let mut digests: HashMap<(u64, Head), bool> = HashMap::new();
        for (id, file) in (0u32..).zip(tree.files()) {
            let content = fingerprints.content(id).filter(|content| new.contains(content));
            if let (Some(content), Some(head)) = (content, fingerprints.head(id)) {
                *digests.entry((file.size, head)).or_insert(true) &=
                    fingerprints.digest(content).is_some();
            }
        }
        let unproven = |row: &FileRow| {
            let content = row.content?;
            let digest = contents.row(content).is_some_and(|content| content.digest.is_some());
            let proven = digests.get(&(row.size, row.head?)).is_none_or(|&all| all && digest);
            (!proven).then_some(content)
        };
        let rows = self.rows.iter();
        rows.filter_map(|row| Some((row.dir, row.name.as_ref(), unproven(&row.row)?))).collect()
    }
}
