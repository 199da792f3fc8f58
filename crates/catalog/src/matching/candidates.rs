//! Adds the remembered files that may be identical to a new or changed file to the tree of a scan of changes.
//!
//! A content with few inodes is added with all its files. A content with more than [`MAX_COMPLETE`] inodes is
//! represented by a few files, because a single changed copy of an empty or very common file would otherwise add all of
//! them.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use content::Head;
use rusqlite::{OptionalExtension, params};
use walk::Tree;

use super::TreeMatch;
use super::changes::{ChangesMatch, MAX_COMPLETE};
use super::live_dirs::{LiveDir, LiveDirs};
use super::stored::NamedRow;
use crate::error::{At, Error};
use crate::open::Catalog;
use crate::tables::contents::Contents;

/// The number of reachable files on each volume that represent a content with many inodes. One file would not be
/// enough, because it may have changed since it was scanned.
const FEW: usize = 8;

/// The number of rows after which the search for representatives of a content ends, unless it has found too few.
const MAX_SEARCHED: usize = 1024;

impl Catalog {
    /// Adds the rows of the files with this size and head that have no content and that `is_wanted` accepts to `rows`.
    /// Adds the contents of the other files with this size and head to `contents`.
    fn select_alike(
        &self,
        size: u64,
        head: Option<Head>,
        is_wanted: impl FnMut(&NamedRow) -> bool,
        rows: &mut Vec<NamedRow>,
        contents: &mut HashSet<i64>,
    ) -> Result<(), Error> {
        let (size, head) = (size.cast_signed(), head.map(|head| head.0.get().cast_signed()));
        let condition = "size = ?1 AND head IS ?2 AND content IS NULL";
        self.select_files(condition, params![size, head], is_wanted, rows)?;
        let sql = "SELECT content FROM file WHERE size = ?1 AND head IS ?2 AND content > ?3 \
                   ORDER BY content LIMIT 1";
        let mut query = self.db.prepare_cached(sql).at(&self.path)?;
        let mut last = 0;
        while let Some(next) =
            query.query_row(params![size, head, last], |row| row.get(0)).optional().at(&self.path)?
        {
            contents.insert(next);
            last = next;
        }
        Ok(())
    }
}

impl ChangesMatch {
    /// Adds remembered files to the tree: those that may be identical to a new or changed file, and those that had the
    /// same content as a file that has changed or is gone. If a content has many copies, adds only a few of them.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged. The catalog is unchanged, but files may have been
    /// added to `tree`.
    pub fn add_candidates(self, catalog: &Catalog, tree: &mut Tree) -> Result<TreeMatch, Error> {
        let (mut found, contents) = self.alike(catalog, tree)?;
        let stored = Contents::rows(catalog, contents.into_iter())?;
        let mut live_dirs = LiveDirs::new(catalog, &self.matched.rows.volumes);
        for (content, row) in &stored {
            if row.inodes > MAX_COMPLETE {
                self.select_few(catalog, *content, &mut live_dirs, &mut found)?;
            } else {
                let condition = "content = ?1 AND state = 0";
                let is_wanted = |row: &NamedRow| self.is_unexamined(row);
                catalog.select_files(condition, [content], is_wanted, &mut found)?;
            }
        }
        let silent: HashSet<i64> = live_dirs.silent().collect();
        found.sort_unstable_by(|a, b| (a.dir, &a.name).cmp(&(b.dir, &b.name)));
        found.dedup_by(|a, b| (a.dir, &a.name) == (b.dir, &b.name));
        let ChangesMatch { mut matched, mut orphans, .. } = self;
        let rows = &mut matched.rows;
        rows.contents.extend(stored);
        // Adding the files would wait again for these volumes.
        for NamedRow { dir, name, row } in
            found.extract_if(.., |found| silent.contains(&found.row.volume))
        {
            rows.unreachable.add(dir, &name, &row);
        }
        rows.dirs.add(catalog, found.iter().map(|row| row.dir))?;
        matched.place_outside(tree, found, &mut orphans);
        matched.relate(tree, &orphans);
        Ok(matched)
    }

    /// Returns the rows of files without a content that may be identical to a new or changed file, and the contents of
    /// all other such files. A row may occur twice.
    fn alike(
        &self,
        catalog: &Catalog,
        tree: &Tree,
    ) -> Result<(Vec<NamedRow>, HashSet<i64>), Error> {
        let TreeMatch { fingerprints, rows } = &self.matched;
        let (mut found, mut contents) = (Vec::new(), rows.touched.clone());
        let undecided = |id: &u32| fingerprints.content(*id).is_none();
        let mut keys: HashSet<(u64, Option<Head>)> = (0u32..)
            .zip(tree.files())
            .filter(|(id, _)| undecided(id))
            .map(|(id, file)| (file.size, fingerprints.head(id)))
            .filter(|(size, head)| *size == 0 || head.is_some())
            .collect();
        // A file whose head is unknown may be identical to any file of its size.
        let sizes: Vec<(u64, Option<Head>)> = keys.iter().map(|(size, _)| (*size, None)).collect();
        keys.extend(sizes);
        let is_wanted = |row: &NamedRow| !row.row.state.is_bad() && self.is_unexamined(row);
        for (size, head) in keys {
            catalog.select_alike(size, head, is_wanted, &mut found, &mut contents)?;
        }
        Ok((found, contents))
    }

    /// Adds rows of a content with many inodes to `rows`. Chooses [`FEW`] files of each volume whose directory exists,
    /// and as many of those that cannot be reached.
    fn select_few(
        &self,
        catalog: &Catalog,
        content: i64,
        live_dirs: &mut LiveDirs<'_>,
        rows: &mut Vec<NamedRow>,
    ) -> Result<(), Error> {
        let condition = "content = ?1 AND state = 0 AND dir > ?2 ORDER BY dir, name";
        let mut choice = Choice { volumes: self.matched.rows.volumes.len(), ..Choice::default() };
        let mut after = Some(0);
        while let Some(last) = after.take() {
            catalog.each_selected(condition, [content, last], |row| {
                if !self.is_unexamined(&row) {
                    return Ok(ControlFlow::Continue(()));
                }
                let live = live_dirs.find(row.dir, row.row.volume)?;
                // No other file in a directory that is gone can be reached.
                after = (live == LiveDir::Gone).then_some(row.dir);
                let is_chosen = choice.adds(row.row.volume, live.may_hold(row.row.volume));
                rows.extend(Some(row).filter(|_| is_chosen));
                if choice.is_enough() {
                    after = None;
                    return Ok(ControlFlow::Break(()));
                }
                Ok(after.map_or(ControlFlow::Continue(()), |_| ControlFlow::Break(())))
            })?;
        }
        Ok(())
    }
}

/// Counts the files that represent a content with many inodes.
#[derive(Default)]
struct Choice {
    /// The number of volumes in the catalog.
    volumes: usize,
    /// The number of rows that were considered.
    searched: usize,
    /// The number of chosen files on each volume. Reachable and unreachable files are counted separately.
    chosen: HashMap<(i64, bool), usize>,
    /// The number of volumes with [`FEW`] chosen files that can be reached.
    complete: usize,
}

impl Choice {
    /// Returns whether a file becomes a representative, and counts it.
    fn adds(&mut self, volume: i64, is_reachable: bool) -> bool {
        self.searched += 1;
        let chosen = self.chosen.entry((volume, is_reachable)).or_default();
        if *chosen == FEW {
            return false;
        }
        *chosen += 1;
        self.complete += usize::from(is_reachable && *chosen == FEW);
        true
    }

    /// Returns whether the search can end.
    fn is_enough(&self) -> bool {
        self.complete == self.volumes || self.searched >= MAX_SEARCHED && self.complete > 0
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use content::head_of;
    use testkit::TreeBuilder;
    use walk::{Changes, Filter, Tree};

    use super::TreeMatch;
    use crate::open::{Catalog, Writer};
    use crate::write::findings::ScanRecord;

    fn walked(root: &Path, changes: Option<Changes>) -> Tree {
        let options = walk::Options {
            filter: Filter::default(),
            one_file_system: false,
            threads: device::Threads { first: 1, grows: false },
            disks: Arc::default(),
            open_dirs: 8,
            root_timeout: Duration::from_secs(60),
            changes: changes.map(Arc::new),
            own: walk::OwnFiles::default(),
        };
        walk::walk(&[root.to_path_buf()], &options, None, &runtime::Progress::default())
            .expect("not stopped")
    }

    #[test]
    fn files_without_a_head_are_found_once_for_many_heads_of_their_size() {
        let files = (0..40).fold(TreeBuilder::new(), |tree, n| tree.file(format!("{n}"), "size"));
        let (files, state) = (files.make_temp(), TreeBuilder::new().make_temp());
        let path = state.join("lop.db");
        let tree = walked(files.path(), None);
        let record = ScanRecord {
            started_ms: 1,
            finished_ms: 2,
            options: String::new(),
            files: 40,
            bytes: 160,
            position: None,
        };
        let writer = Writer::open(&path, |_| ()).expect("opens");
        let matched = TreeMatch::empty(&tree);
        writer.commit(&tree, matched, std::iter::empty(), &[], &record, &[]).expect("commits");
        let mut changes = Changes::default();
        for number in 0..20 {
            changes.add_entry(files.join(number.to_string()).as_os_str().as_encoded_bytes());
        }
        let tree = walked(files.path(), Some(changes));
        let catalog = Catalog::open(&path).expect("opens");
        let found = catalog.match_changes(&tree).expect("matches");
        for file in 0..20 {
            found.fingerprints().set_head(file, head_of(&file.to_le_bytes()));
        }
        let (rows, _) = found.alike(&catalog, &tree).expect("query succeeds");
        assert_eq!(rows.len(), 20, "the files that were not examined");
    }
}
