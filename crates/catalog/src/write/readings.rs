//! Records heads and digests that were read of remembered files between scans.

use std::collections::{HashMap, HashSet};

use content::{ContentId, Digest};
use rusqlite::params;
use walk::FileId;

use crate::error::{At, Error};
use crate::open::Writer;
use crate::read::load::Loaded;
use crate::state::FileState;
use crate::tables::contents::ContentRow;
use crate::tables::versions::is_recent;

impl Writer {
    /// Records the heads and contents that [`Loaded::fingerprints`] has for `files`, which were read after the
    /// time `inspected_ns` and had the metadata of the tree. `files` must contain all names of an inode or
    /// none. The rows must not have changed since `loaded` was loaded through this writer.
    ///
    /// Skips files that were dropped, files that are unreliable, and files whose times are so recent that another
    /// change could leave them the same. Files with equal digests get the same content.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn record(
        &self,
        loaded: &mut Loaded,
        files: &[FileId],
        inspected_ns: i64,
    ) -> Result<(), Error> {
        let mut contents = loaded.contents.row_of.clone();
        contents.resize(loaded.fingerprints.contents(), UNUSED);
        let recorded = self
            .catalog
            .in_transaction(|| self.record_now(loaded, files, inspected_ns, &mut contents))?;
        loaded.contents.row_of = contents;
        loaded.contents.extend(recorded);
        Ok(())
    }

    /// Writes the rows. Adds the rows of new contents to `contents`, and returns the contents that changed.
    fn record_now(
        &self,
        loaded: &Loaded,
        files: &[FileId],
        inspected_ns: i64,
        contents: &mut [i64],
    ) -> Result<Vec<(i64, ContentRow)>, Error> {
        let (db, path) = (&self.catalog.db, &self.catalog.path);
        let (tree, fingerprints) = (&loaded.tree, &loaded.fingerprints);
        let is_usable = |file: &&FileId| {
            let record = tree.file(**file);
            !fingerprints.dropped(file.0)
                && loaded.state(**file) == FileState::Known
                && !is_recent(record.mtime_ns, record.ctime_ns, inspected_ns)
        };
        let usable: Vec<FileId> = files.iter().filter(is_usable).copied().collect();
        let mut stored = self.new_contents(loaded, &usable, contents)?;
        let sql = "UPDATE file SET head = ?3, content = ?4 WHERE dir = ?1 AND name = ?2";
        let mut update = db.prepare(sql).at(path)?;
        for &file in &usable {
            let Some((dir, name)) = loaded.row_of(file) else { continue };
            let Some(head) = fingerprints.head(file.0) else { continue };
            let head = head.0.get().cast_signed();
            let content = fingerprints.content(file.0).map(|content| contents[content.index()]);
            update.execute(params![dir, name, head, content]).at(path)?;
        }
        let rows = stored.iter_mut().map(|(id, content)| {
            content.inodes = self.catalog.count_inodes(*id)?;
            Ok((*id, content.inodes))
        });
        let counts = rows.collect::<Result<Vec<(i64, u32)>, Error>>()?;
        self.catalog.write_counts(&counts, &HashMap::new())?;
        Ok(stored)
    }

    /// Stores the digests of the contents of `files`. Returns the contents that were added, that got a
    /// digest, or that got another file.
    fn new_contents(
        &self,
        loaded: &Loaded,
        files: &[FileId],
        contents: &mut [i64],
    ) -> Result<Vec<(i64, ContentRow)>, Error> {
        let (db, path) = (&self.catalog.db, &self.catalog.path);
        let mut insert = db
            .prepare("INSERT INTO content (id, size, digest, inodes, reclaimable) VALUES (?1, ?2, ?3, 0, 0)")
            .at(path)?;
        let mut update = db.prepare("UPDATE content SET digest = ?2 WHERE id = ?1").at(path)?;
        let mut next = self.catalog.next_content()?;
        let mut known = rows_with_digests_of(loaded, files);
        let (mut stored, mut seen) = (Vec::new(), HashSet::new());
        for &file in files {
            let Some(content) = loaded.fingerprints.content(file.0) else { continue };
            let Some(digest) = loaded.fingerprints.digest(content) else { continue };
            if !seen.insert(content) {
                continue;
            }
            let row = &mut contents[content.index()];
            let before = loaded.contents.row(*row).copied();
            if let Some(before) = before {
                if before.digest.is_none() {
                    update.execute(params![*row, digest.0]).at(path)?;
                    stored.push((*row, ContentRow { digest: Some(digest), ..before }));
                }
                continue;
            }
            let (id, old) = *known.entry(digest).or_insert((next, None));
            if id == next {
                next += 1;
                let size = loaded.tree.file(file).size.cast_signed();
                insert.execute(params![id, size, digest.0]).at(path)?;
            }
            *row = id;
            let new = ContentRow { digest: Some(digest), inodes: 0, reclaimable: 0 };
            stored.push((id, old.unwrap_or(new)));
        }
        Ok(stored)
    }
}

/// Returns the stored contents that have the digest of one of `files`, by digest.
fn rows_with_digests_of(loaded: &Loaded, files: &[FileId]) -> KnownContents {
    let row_of = &loaded.contents.row_of;
    // A file that was skipped before has a content without a row.
    let is_new = |content: &ContentId| row_of.get(content.index()).is_none_or(|&row| row == UNUSED);
    let new = files.iter().filter_map(|file| loaded.fingerprints.content(file.0).filter(is_new));
    let wanted: HashSet<Digest> =
        new.filter_map(|content| loaded.fingerprints.digest(content)).collect();
    if wanted.is_empty() {
        return KnownContents::new();
    }
    let rows = loaded.contents.iter();
    let known = rows.filter_map(|(id, row)| row.digest.map(|digest| (digest, (id, Some(*row)))));
    known.filter(|(digest, _)| wanted.contains(digest)).collect()
}

/// Contents by digest: the id, and the row if the content was stored before.
type KnownContents = HashMap<Digest, (i64, Option<ContentRow>)>;

/// The row of a content that is not stored. The numbers of rows begin with 1.
const UNUSED: i64 = 0;
