//! Builds an index from loaded rows.
//!
//! Files are visited in the order of the directory tree, so the members of each group are in this
//! order without being sorted.

use std::cmp::Reverse;

use catalog::{FileState, Loaded};
use content::ContentId;
use walk::{DirId, FileId, Tree};

use crate::index::dirs::Dirs;
use crate::index::{Condition, Index, NO_GROUP, Row};

pub(super) fn index(loaded: Loaded, now_ns: i64) -> Index {
    let tree = &loaded.tree;
    let dirs = Dirs::new(tree);
    let order = files_in_order(tree, &dirs);
    let conditions = conditions(&loaded);
    let slots = slots(&loaded, &order);
    let mut members = vec![FileId(0); slots.files];
    let mut rows = Vec::with_capacity(slots.order.len());
    let mut start_of = vec![0; slots.contents.len()];
    let mut group_of = vec![NO_GROUP; tree.files().len()];
    let mut first = 0;
    for &slot in &slots.order {
        let (Some(content), names) = slots.contents[slot as usize] else { continue };
        let (digest, reclaimable) = loaded.content(content);
        let number = loaded.number(content);
        rows.push(Row { number, digest, reclaimable, first, names, inodes: 0 });
        start_of[slot as usize] = first;
        first += names;
    }
    let mut next = start_of;
    for &file in &order {
        let Some(content) = content_of(&loaded, file) else { continue };
        let at = &mut next[content.index()];
        members[*at as usize] = file;
        *at += 1;
    }
    for (at, row) in (0u32..).zip(&mut rows) {
        let files = &members[row.first as usize..][..row.names as usize];
        row.inodes = count_inodes(tree, &conditions, files);
        for file in files {
            group_of[file.0 as usize] = at;
        }
    }
    let (by_number, by_digest) = lookups(&rows);
    let tree = loaded.tree;
    Index { tree, dirs, rows, members, group_of, conditions, by_number, by_digest, now_ns }
}

/// Returns all files in the order of the directory tree.
fn files_in_order(tree: &Tree, dirs: &Dirs) -> Vec<FileId> {
    let mut order: Vec<DirId> = (0u32..).map(DirId).take(tree.dirs().len()).collect();
    order.sort_by_key(|&dir| dirs.rank(dir));
    order.into_iter().flat_map(|dir| tree.files_in(dir)).map(FileId).collect()
}

fn content_of(loaded: &Loaded, file: FileId) -> Option<ContentId> {
    let before = || loaded.unreliable(file).and_then(|file| file.content);
    loaded.fingerprints.content(file.0).or_else(before)
}

/// The contents by [`ContentId::index`].
struct Slots {
    /// Each content with the number of its names. `None` if it has no names.
    contents: Vec<(Option<ContentId>, u32)>,
    /// The contents that have names, in the order of the index.
    order: Vec<u32>,
    /// The number of names of all contents.
    files: usize,
}

fn slots(loaded: &Loaded, files: &[FileId]) -> Slots {
    let mut contents = vec![(None, 0); loaded.fingerprints.contents()];
    let (mut order, mut count) = (Vec::new(), 0);
    for &file in files {
        let Some(content) = content_of(loaded, file) else { continue };
        let (known, names) = &mut contents[content.index()];
        if known.replace(content).is_none() {
            order.push(walk::to_u32(content.index()));
        }
        *names += 1;
        count += 1;
    }
    order.sort_by_cached_key(|&slot| {
        let content = contents[slot as usize].0;
        content.map(|content| (Reverse(loaded.content(content).1), loaded.number(content)))
    });
    Slots { contents, order, files: count }
}

fn conditions(loaded: &Loaded) -> Vec<Condition> {
    let tree = &loaded.tree;
    let is_managed = walk::managed_by_programs(tree, &[]);
    let condition = |file: FileId| {
        let record = tree.file(file);
        match loaded.state(file) {
            _ if tree.is_offline(file) => Condition::Offline,
            // The catalog gives a file that can no longer exist this inode number.
            _ if record.inode == 0 => Condition::Gone,
            FileState::Pending => Condition::Pending,
            FileState::Damaged => Condition::Damaged,
            FileState::Unreadable => Condition::Unreadable,
            FileState::Known if is_managed[record.dir.0 as usize] => Condition::Managed,
            FileState::Known => Condition::Sound,
        }
    };
    (0u32..).map(FileId).take(tree.files().len()).map(condition).collect()
}

/// Counts the files among the names of a group. Names whose content is unknown do not count.
fn count_inodes(tree: &Tree, conditions: &[Condition], names: &[FileId]) -> u32 {
    let is_known = |file: &&FileId| {
        use Condition::{Damaged, Pending, Unreadable};
        !matches!(conditions[file.0 as usize], Damaged | Pending | Unreadable)
    };
    let key = |&file: &FileId| {
        let key = tree.key(file);
        // Files that are gone have no inode numbers.
        (key.device, key.inode, if key.inode == 0 { file.0 } else { 0 })
    };
    let mut keys: Vec<_> = names.iter().filter(is_known).map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    walk::to_u32(keys.len())
}

/// Returns the groups sorted by number, and those with a digest sorted by digest.
fn lookups(rows: &[Row]) -> (Vec<u32>, Vec<u32>) {
    let mut by_number: Vec<u32> = (0..walk::to_u32(rows.len())).collect();
    let digest = |at: u32| rows[at as usize].digest.map(|digest| digest.0);
    let mut by_digest: Vec<u32> =
        by_number.iter().copied().filter(|&at| digest(at).is_some()).collect();
    by_number.sort_unstable_by_key(|&at| rows[at as usize].number);
    by_digest.sort_unstable_by_key(|&at| digest(at));
    (by_number, by_digest)
}
