//! Decides what to read of each class first.

use runtime::Interrupted;
use walk::FileId;

use crate::classes::{CLASSES_PER_STEP, Class, Classes, SameSize, inodes};
use crate::prefilter::read_order::ReadRequest;
use crate::sets::Set;
use crate::work::Work;

/// Classes of up to this many files are compared side by side without reading heads first, unless
/// content keys decide.
///
/// Most classes of two are true duplicates, and skipping their heads avoids opening each file
/// twice. In larger classes, files more often have the same size by coincidence, and reading heads
/// in tree order makes better use of every cache. Measured on /usr and a home folder: limits of 2
/// to 4 perform alike; 1 and 8 are slower. On cold disks, the heads are always read first: fetching
/// many heads in advance is worth opening each file twice (measured on 48,000 files: half the
/// time).
const MAX_SIDE_BY_SIDE_FILES: usize = 3;

/// The reads to do before any class is split.
#[derive(Default)]
pub(super) struct FirstReads {
    /// Requests with the targets 0 for the head, and 1 for the first prefix on a seek-bound disk.
    pub(super) requests: Vec<ReadRequest>,
    /// The classes to split by head.
    pub(super) by_head: Vec<ClassToSplit>,
    /// Small classes to compare side by side.
    pub(super) sets: SameSize,
    /// Number of inodes that have to be read.
    pub(super) unknown: u64,
}

/// A class to split by head.
#[derive(Clone, Copy)]
pub(super) struct ClassToSplit {
    /// The number of the class.
    pub(super) class: u32,
    /// Its first file.
    pub(super) first: FileId,
    /// Whether any of its files is on a seek-bound disk.
    pub(super) seek_bound: bool,
}

/// Decides what to read of each class first.
pub(super) fn find(work: &Work<'_>, classes: &Classes) -> Result<FirstReads, Interrupted> {
    let leaders = classes.leaders();
    let (lists, _) = work.on_threads(
        &leaders,
        CLASSES_PER_STEP,
        |_, (first, members): &mut (FirstReads, Vec<FileId>), &(number, _)| {
            members.clear();
            let class = classes.get(number as usize);
            members.extend(inodes(work, class).map(|names| leader(work, names)));
            first.add(work, number, class, members);
            Ok(())
        },
    )?;
    let mut all = FirstReads::default();
    for (list, _) in lists {
        all.requests.extend(list.requests);
        all.by_head.extend(list.by_head);
        all.sets.append(list.sets);
        all.unknown += list.unknown;
    }
    Ok(all)
}

impl FirstReads {
    /// Decides what to read of a class with these members first.
    fn add(&mut self, work: &Work<'_>, number: u32, class: Set<'_, Class>, members: &[FileId]) {
        if members.len() < 2 {
            return;
        }
        let size = class.size;
        let seek_bound = size > 0 && members.iter().any(|&file| work.is_seek_bound(file));
        let is_new = |file: &&FileId| match size {
            // Empty files are identical and need not be read.
            0 => work.fingerprints.content(file.0).is_none(),
            _ => work.fingerprints.head(file.0).is_none(),
        };
        let before = self.requests.len();
        let target = u32::from(seek_bound);
        let new = members.iter().filter(is_new).map(|&file| ReadRequest { file, target });
        self.requests.extend(new);
        let new = self.requests.len() - before;
        self.unknown += new as u64;
        work.expect(members, size);
        let has_keys = work.keys_for(size).is_some();
        if new > 0 && (size == 0 || !has_keys && is_small(work, members)) {
            self.requests.truncate(before);
            self.sets.push(members, size);
        } else {
            self.by_head.push(ClassToSplit { class: number, first: class.files[0], seek_bound });
        }
    }
}

/// Returns whether a class is compared side by side without reading heads first.
fn is_small(work: &Work<'_>, members: &[FileId]) -> bool {
    members.len() <= MAX_SIDE_BY_SIDE_FILES.min(work.options.open_files)
        && !members.iter().any(|&file| work.disk(file).is_cold())
        && members.iter().all(|f| work.fingerprints.content(f.0).is_none())
}

/// Returns the first name of an inode, which represents the inode. If the first name has no known
/// head, copies what is known about another name to it.
fn leader(work: &Work<'_>, names: &[FileId]) -> FileId {
    let (first, fingerprints) = (names[0], work.fingerprints);
    if let (Some(keys), [_, others @ ..]) = (&work.keys, names) {
        let ctime = |file: FileId| work.tree.file(file).ctime_ns;
        if others.iter().any(|&name| ctime(name) != ctime(first)) {
            // The inode changed during the walk, perhaps after it was read.
            for &name in names {
                keys.forget(name);
            }
        }
    }
    if names.len() > 1 && fingerprints.head(first.0).is_none() && !fingerprints.dropped(first.0) {
        let known = names.iter().find_map(|name| Some((*name, fingerprints.head(name.0)?)));
        if let Some((name, head)) = known {
            fingerprints.set_head(first.0, head);
            if let Some(content) = fingerprints.content(name.0) {
                fingerprints.set_content(first.0, content);
            }
            if let Some(keys) = &work.keys {
                keys.copy(name, first);
            }
        }
    }
    first
}
