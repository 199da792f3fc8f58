//! Counts the entries of remembered directories that are not themselves remembered.

use std::ffi::{CStr, CString};
use std::io;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Dir, DirBuffer, Kind, Op, is_gone};
use runtime::Interrupted;
use walk::{DirId, FileId, Problem, Reason, Tree, is_system_name, to_u32};

use super::layout::Layout;
use crate::work::Work;
use crate::worker::Worker;

/// Number of directory entries that are not remembered files.
#[derive(Debug, Default)]
pub struct UntrackedEntries {
    /// Number of untracked entries by [`DirId`]: non-empty files, directories with such files below
    /// them, and entries on another file system. The number is 1 for a directory that was not
    /// listed or could not be listed.
    pub counts: Vec<u32>,
    /// Total number of untracked entries in the directories that were listed.
    pub found: u64,
    /// Directories that could not be listed.
    pub problems: Vec<Problem>,
}

/// Lists the directories of remembered files that are at or below one of the absolute paths
/// `roots`, and counts their untracked entries. Directories outside `roots` were never scanned and
/// are not inspected.
///
/// System directories do not count, because scans skip them. Directories that are not remembered
/// are searched only until a file is found in them, because they may be large and the user may have
/// excluded them.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop.
pub fn count_untracked(
    work: &Work<'_>,
    roots: &[Vec<u8>],
) -> Result<UntrackedEntries, Interrupted> {
    let layout = Layout::new(work.tree);
    let is_scanned = layout.within(work.tree, roots);
    let mut dirs = with_some_file(work.tree, &layout);
    dirs.retain(|(dir, _)| is_scanned[dir.0 as usize]);
    let (lists, problems) =
        work.on_threads(&dirs, 64, |worker, list: &mut Vec<_>, &(dir, _)| {
            let mut listing = Listing { layout: &layout, dir, names: Vec::new() };
            list.push((dir, listing.count(worker)));
            Ok(())
        })?;
    let mut counts: Vec<u32> = is_scanned.iter().map(|&scanned| u32::from(!scanned)).collect();
    let mut found = 0;
    for (dir, count) in lists.into_iter().flatten() {
        found += u64::from(count.unwrap_or(0));
        counts[dir.0 as usize] = count.unwrap_or(1);
    }
    Ok(UntrackedEntries { counts, found, problems })
}

/// Returns the directories that have a file in or below them. Each directory comes with one of its
/// files, which determines the device.
fn with_some_file(tree: &Tree, layout: &Layout) -> Vec<(DirId, FileId)> {
    let mut file_of: Vec<Option<u32>> =
        (0u32..).zip(tree.dirs()).map(|(id, _)| tree.files_in(DirId(id)).next()).collect();
    for (at, dir) in tree.dirs().iter().enumerate().rev() {
        if let (Some(file), Some(parent)) = (file_of[at], dir.parent) {
            file_of[parent.0 as usize].get_or_insert(file);
        }
    }
    let dirs = (0u32..).zip(file_of).filter(|(id, _)| layout.is_main(DirId(*id)));
    dirs.filter_map(|(id, file)| Some((DirId(id), FileId(file?)))).collect()
}

/// A directory that is being listed.
struct Listing<'a> {
    layout: &'a Layout,
    dir: DirId,
    /// Names in the directory that are not remembered.
    names: Vec<CString>,
}

impl Listing<'_> {
    /// Returns the number of untracked entries, or `None` if the directory cannot be listed.
    fn count(&mut self, worker: &mut Worker<'_>) -> Option<u32> {
        let tree = worker.work.tree;
        let found = worker.opener.dir(self.dir).and_then(|dir| {
            self.list(tree, dir)?;
            let device = if self.names.is_empty() { 0 } else { dir.stat()?.device };
            let new = self.names.iter().filter(|name| is_new(dir, name, device));
            Ok(to_u32(new.count()))
        });
        worker.work.progress.entries.fetch_add(1, Relaxed);
        match found {
            Ok(count) => Some(count),
            Err(source) if is_gone(&source) => Some(0),
            Err(source) => {
                let reason = Reason::Failed { op: Op::List, source };
                worker.problems.push(Problem { path: tree.dir_path(self.dir), reason });
                None
            }
        }
    }

    /// Collects the names that are not remembered and may be files or directories.
    fn list(&mut self, tree: &Tree, dir: &Dir) -> io::Result<()> {
        let files = self.layout.records(self.dir).flat_map(|record| tree.files_in(record));
        let mut files: Vec<&CStr> = files.map(|file| tree.name(FileId(file))).collect();
        files.sort_unstable();
        let below = self.layout.children_of(Some(self.dir));
        let is_below = |name: &CStr| {
            let order = |id: &DirId| tree.dir_name(*id).unwrap_or_default().cmp(name);
            below.binary_search_by(order).is_ok()
        };
        dir.for_each(&mut DirBuffer::default(), |entry| {
            let known = match entry.kind {
                Kind::File => files.binary_search(&entry.name).is_ok(),
                Kind::Dir => is_below(entry.name) || is_system_name(entry.name.to_bytes()),
                Kind::Unknown => files.binary_search(&entry.name).is_ok() || is_below(entry.name),
                _ => true,
            };
            if !known {
                self.names.push(entry.name.to_owned());
            }
        })
    }
}

/// Returns whether a name refers to a non-empty file, to a directory with a non-empty file in it,
/// or to something that cannot be inspected.
fn is_new(dir: &Dir, name: &CStr, device: u64) -> bool {
    match dir.stat_child(name) {
        Ok(stat) if stat.kind == Kind::File => stat.size > 0,
        Ok(stat) if stat.kind == Kind::Dir => stat.device != device || has_files(dir, name, device),
        Ok(_) => false,
        Err(e) => !is_gone(&e),
    }
}

/// Returns whether a directory has an entry below it that is a non-empty file, is on another
/// device, or cannot be inspected.
fn has_files(dir: &Dir, name: &CStr, device: u64) -> bool {
    let mut waiting = vec![name.to_bytes().to_vec()];
    while let Some(path) = waiting.pop() {
        let Ok(open) = dir.open_below(&path) else { return true };
        let mut names: Vec<CString> = Vec::new();
        let listed = open.for_each(&mut DirBuffer::default(), |entry| {
            let is_system = entry.kind == Kind::Dir && is_system_name(entry.name.to_bytes());
            if matches!(entry.kind, Kind::File | Kind::Dir | Kind::Unknown) && !is_system {
                names.push(entry.name.to_owned());
            }
        });
        if listed.is_err() {
            return true;
        }
        for name in names {
            match open.stat_child(&name) {
                Ok(stat) if stat.kind == Kind::File && stat.size > 0 => return true,
                Ok(stat) if stat.kind == Kind::Dir && stat.device != device => return true,
                Ok(stat) if stat.kind == Kind::Dir => {
                    waiting.push([&path, b"/".as_slice(), name.to_bytes()].concat());
                }
                Ok(_) => {}
                Err(e) if is_gone(&e) => {}
                Err(_) => return true,
            }
        }
    }
    false
}
