//! Adds remembered files that a scan did not visit to the tree of that scan. Groups can then span
//! files that were scanned at different times.

use std::cell::LazyCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use walk::{FileId, Tree};

use super::TreeMatch;
use super::stored::{NamedRow, Orphans, Stored};
use crate::error::Error;
use crate::open::Catalog;
use crate::placer::Placer;
use crate::tables::dirs::{Dirs, TOP};
use crate::tables::rows::FileRow;
use crate::tables::versions::{sizes, version};
use crate::tables::volumes::Volumes;

/// Maximum time to wait for a disk with remembered files. A disk in standby takes 5 to 15 seconds
/// to start.
pub(super) const SPIN_UP_TIMEOUT: Duration = Duration::from_secs(20);

impl TreeMatch {
    /// Adds the remembered files that have the same size as a file in the tree.
    ///
    /// Also adds unreachable files to `orphans`, because their disk may be mounted elsewhere.
    pub(crate) fn add_outside(
        &mut self,
        catalog: &Catalog,
        tree: &mut Tree,
        partly: Vec<NamedRow>,
        orphans: &mut Orphans,
    ) -> Result<(), Error> {
        let rows = &self.rows;
        let inside: HashSet<i64> = rows.dir_rows.iter().chain(&rows.gone_dirs).copied().collect();
        let mut rest = Vec::new();
        rows.dirs.each_below(TOP, |id| rest.extend((!inside.contains(&id)).then_some(id)));
        if rest.is_empty() && partly.is_empty() {
            return Ok(());
        }
        let sizes = LazyCell::new(|| sizes(tree));
        // A file that was found damaged or unreadable is read again only when its own directory is
        // scanned.
        let is_wanted = |row: &FileRow| sizes.contains(&row.size) && !row.state.is_bad();
        let mut wanted = partly;
        wanted.retain(|found| is_wanted(&found.row));
        let mut statement = catalog.files_in_statement()?;
        for dir in rest {
            catalog.each_file_in(&mut statement, dir, |name, row| {
                if is_wanted(&row) {
                    wanted.push(NamedRow { dir, name: name.into(), row });
                }
            })?;
        }
        self.place_outside(tree, wanted, orphans);
        Ok(())
    }

    /// Adds remembered files that the walk did not examine to the tree. The rows of a directory must be adjacent.
    pub(super) fn place_outside(
        &mut self,
        tree: &mut Tree,
        mut wanted: Vec<NamedRow>,
        orphans: &mut Orphans,
    ) {
        if wanted.is_empty() {
            return;
        }
        let TreeMatch { fingerprints, rows } = self;
        let unreachable = &mut rows.unreachable;
        let silent = silent_volumes(&rows.dirs, &wanted);
        for found in wanted.extract_if(.., |found| silent.contains(&found.row.volume)) {
            unreachable.add(found.dir, &found.name, &found.row);
        }
        let changed = changed_inodes(tree, &mut rows.volumes, &wanted);
        let is_changed = |row: &FileRow| changed.contains(&(row.volume, row.inode));
        for found in wanted.extract_if(.., |found| is_changed(&found.row)) {
            unreachable.add(found.dir, &found.name, &found.row);
        }
        let mut placer = Placer::new(tree, &rows.dirs, &rows.volumes);
        for same in wanted.chunk_by(|a, b| a.dir == b.dir) {
            let dir = same[0].dir;
            let files = same.iter().map(|found| (found.name.as_ref(), &found.row));
            placer.add_files(dir, files, true, |name, file, row| {
                let Some(file) = file else {
                    if row.head.is_some() {
                        orphans.entry((row.volume, row.inode)).or_insert(*row);
                    }
                    return unreachable.add(dir, name, row);
                };
                fingerprints.grow(file.0 as usize + 1);
                rows.contents.attach(fingerprints, file.0, row);
                rows.stored.push(Stored::of(row));
                if row.head.is_none() {
                    rows.touched.extend(row.content);
                    if let Some(examined) = &mut rows.examined {
                        examined.note_recounted(row.content);
                    }
                }
            });
        }
        let dirs = placer.finish();
        rows.dir_rows.resize(tree.dirs().len(), 0);
        for (row, id) in dirs {
            rows.dir_rows[id.0 as usize] = row;
        }
    }
}

/// Returns the inodes, by volume and inode number, whose version in the tree differs from the
/// version in a row outside the roots of the scan. The name in the row has not been inspected since
/// the inode changed, so the row does not describe the names in the tree.
fn changed_inodes(tree: &Tree, volumes: &mut Volumes, rows: &[NamedRow]) -> HashSet<(i64, u64)> {
    let mut seen: HashMap<u64, Vec<&FileRow>> = HashMap::new();
    for NamedRow { row, .. } in rows {
        seen.entry(row.inode).or_default().push(row);
    }
    let mut changed = HashSet::new();
    for (id, file) in (0..).map(FileId).zip(tree.files()) {
        let Some(rows) = seen.get(&file.inode) else { continue };
        let now = version(tree, id, volumes);
        let differs = |row: &&FileRow| row.volume == now.volume && !row.same_version(&now);
        if rows.iter().any(differs) {
            changed.insert((now.volume, now.inode));
        }
    }
    changed
}

/// Returns the volumes that do not respond. If the server of a network mount is gone, accessing the
/// mount would block the scan, even if the scan does not visit it.
fn silent_volumes(dirs: &Dirs, wanted: &[NamedRow]) -> HashSet<i64> {
    let mut dir_of: BTreeMap<i64, i64> = BTreeMap::new();
    for found in wanted {
        dir_of.entry(found.row.volume).or_insert(found.dir);
    }
    let paths: Vec<PathBuf> = dir_of.values().map(|&dir| dirs.path(dir)).collect();
    let silent = walk::unresponsive(&paths, SPIN_UP_TIMEOUT);
    (0..).zip(dir_of.into_keys()).filter(|(at, _)| silent.contains(at)).map(|(_, v)| v).collect()
}
