//! Collects identical files into groups, and sorts the groups in an order that does not depend on the
//! timing of threads.

use std::cmp::Reverse;
use std::collections::HashMap;

use content::{ContentId, Fingerprints};
use runtime::{Interrupted, Progress};
use walk::{DirId, FileId, Tree, to_u32};

use crate::Found;
use crate::classes::{CLASSES_PER_STEP, Class, Classes, inodes};
use crate::disk_usage;
use crate::group::Group;
use crate::sets::{Set, Sets};
use crate::states::{State, state};
use crate::work::Work;
use crate::worker::Worker;

/// Adds the groups of the walked files to `found`.
pub(crate) fn collect(
    work: &Work<'_>,
    classes: &Classes,
    found: &mut Found,
) -> Result<(), Interrupted> {
    let numbers = classes.leaders();
    let (lists, _) = work.on_threads(
        &numbers,
        CLASSES_PER_STEP,
        |worker, out: &mut Collected, &(number, _)| {
            of_class(worker, classes.get(number as usize), out)
        },
    )?;
    for list in lists {
        found.groups.append(list.groups);
        found.elsewhere += list.elsewhere;
    }
    disk_usage::measure(work, &mut found.groups)
}

/// Sorts groups by reclaimable bytes, largest first, then by path.
pub(crate) fn sort(tree: &Tree, groups: &mut Sets<Group>, progress: &Progress) {
    let mut firsts: Vec<FileId> = groups.iter().map(|group| group.files[0]).collect();
    sort_by_path(tree, &mut firsts);
    let mut ranks: Vec<(FileId, u32)> = firsts.into_iter().zip(0..).collect();
    progress.sort(&mut ranks);
    let rank = |file: FileId| ranks.binary_search_by_key(&file, |&(first, _)| first);
    let rank = |file: FileId| rank(file).map_or(0, |at| ranks[at].1);
    groups.sort_by_cached_key(progress, |group| (Reverse(group.reclaimable), rank(group.files[0])));
}

#[derive(Default)]
struct Collected {
    groups: Sets<Group>,
    /// The files of the group being built.
    files: Vec<FileId>,
    elsewhere: u64,
}

/// An inode of a class: its content, the index of its first name in the class, and the number of
/// its names.
type Inode = (ContentId, u32, u32);

fn of_class(
    worker: &mut Worker<'_>,
    class: Set<'_, Class>,
    out: &mut Collected,
) -> Result<(), Interrupted> {
    let work = worker.work;
    let (tree, fingerprints) = (work.tree, work.fingerprints);
    let mut by_content: Vec<Inode> = Vec::new();
    let mut start = 0;
    for names in inodes(work, class) {
        copy_to_all_names(fingerprints, names);
        let count = to_u32(names.len());
        if let Some(content) = fingerprints.content(names[0].0) {
            by_content.push((content, start, count));
        } else if work.options.hardlinks && names.len() > 1 {
            out.group(work, class.size, None, std::iter::once(names));
        }
        start += count;
    }
    work.progress.sort(&mut by_content);
    for equal in by_content.chunk_by(|a, b| a.0 == b.0) {
        work.progress.check()?;
        let inode = |&(_, start, count): &Inode| &class.files[start as usize..][..count as usize];
        let is_walked = |names: &&[FileId]| names.iter().any(|&f| tree.is_requested(f));
        let walked = equal.iter().map(inode).filter(is_walked);
        if out.group(work, class.size, Some(equal[0].0), walked.clone()) {
            continue;
        }
        let mut others = equal.iter().map(inode).filter(|names| !is_walked(names)).flatten();
        if others.any(|&file| state(worker, file) == State::Same) {
            out.elsewhere += walked.count() as u64;
        }
    }
    Ok(())
}

/// Copies the fingerprints of the first name of an inode to its other names.
pub(crate) fn copy_to_all_names(fingerprints: &Fingerprints, names: &[FileId]) {
    let (first, rest) = (names[0].0, &names[1..]);
    if fingerprints.dropped(first) || fingerprints.head(first).is_some() {
        for name in rest {
            fingerprints.copy(first, name.0);
        }
    }
}

impl Collected {
    /// Adds a group of identical inodes of this size, given by their names. If fewer than two files
    /// are left, returns false and adds nothing.
    fn group<'a>(
        &mut self,
        work: &Work<'_>,
        size: u64,
        content: Option<ContentId>,
        equal: impl Iterator<Item = &'a [FileId]>,
    ) -> bool {
        let (tree, files) = (work.tree, &mut self.files);
        files.clear();
        let mut inodes = 0;
        for names in equal {
            inodes += 1;
            let walked = names.iter().copied().filter(|&f| tree.is_requested(f));
            if work.options.hardlinks {
                files.extend(walked);
            } else {
                files.extend(first_by_path(tree, walked));
            }
        }
        if files.len() < 2 {
            return false;
        }
        sort_by_path(tree, files);
        // Whether a single inode has a content depends on how it was distinguished from other
        // files, so its content is left out.
        let content = content.filter(|_| inodes > 1);
        let group = Group {
            size,
            content,
            digest: content.and_then(|content| work.fingerprints.digest(content)),
            inodes,
            reclaimable: size.saturating_mul(u64::from(inodes) - 1),
        };
        self.groups.push(files, group);
        true
    }
}

/// Returns the file whose path comes first in byte order.
fn first_by_path(tree: &Tree, files: impl Iterator<Item = FileId>) -> Option<FileId> {
    files.min_by(|&a, &b| tree.compare_paths(a, b))
}

/// Number of files from which it pays to build the paths of their directories.
const MIN_FILES_FOR_PATHS: usize = 64;

/// Sorts files by the bytes of their paths. Builds the path of each directory at most once, and
/// never builds the path of a file.
///
/// First sorts the files of each directory by name, and the directories by path. After that, the
/// only files out of order are those whose names sort near the name of a sibling directory (`a.b`
/// sorts before `a/c`). The final sort detects sorted runs, so it has little left to do. Sorting
/// ten million files this way takes 2 s, compared with 19 s for a single sort.
fn sort_by_path(tree: &Tree, files: &mut [FileId]) {
    if files.len() < MIN_FILES_FOR_PATHS {
        return files.sort_unstable_by(|&a, &b| tree.compare_paths(a, b));
    }
    let dir = |file: FileId| tree.file(file).dir;
    let name = |file: FileId| tree.name(file).to_bytes();
    // Moves the files of each directory next to each other.
    files.sort_unstable();
    let mut dirs: HashMap<DirId, Vec<u8>> = HashMap::new();
    let mut named: Vec<(&[u8], FileId)> = Vec::new();
    for of_dir in files.chunk_by_mut(|&a, &b| dir(a) == dir(b)) {
        named.clear();
        named.extend(of_dir.iter().map(|&file| (name(file), file)));
        named.sort_unstable();
        for (slot, &(_, file)) in of_dir.iter_mut().zip(&named) {
            *slot = file;
        }
        let id = dir(of_dir[0]);
        let mut path = tree.dir_path(id);
        if !(path.is_empty() || path.ends_with(b"/")) {
            path.push(b'/');
        }
        dirs.insert(id, path);
    }
    if dirs.len() == 1 {
        return;
    }
    let mut ranges: Vec<(&[u8], std::ops::Range<usize>)> = Vec::with_capacity(dirs.len());
    let mut start = 0;
    for of_dir in files.chunk_by(|&a, &b| dir(a) == dir(b)) {
        ranges.push((&dirs[&dir(of_dir[0])], start..start + of_dir.len()));
        start += of_dir.len();
    }
    ranges.sort_unstable_by_key(|&(path, _)| path);
    let sorted: Vec<FileId> =
        ranges.into_iter().flat_map(|(_, range)| &files[range]).copied().collect();
    files.copy_from_slice(&sorted);
    files.sort_by(|&a, &b| {
        if dir(a) == dir(b) {
            return name(a).cmp(name(b));
        }
        let (a_path, b_path) = (&dirs[&dir(a)], &dirs[&dir(b)]);
        let common = a_path.len().min(b_path.len());
        let rest =
            || a_path[common..].iter().chain(name(a)).cmp(b_path[common..].iter().chain(name(b)));
        a_path[..common].cmp(&b_path[..common]).then_with(rest)
    });
}
