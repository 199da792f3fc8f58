//! Walks the roots and the mounts below them. Disks are walked in parallel. The roots and mounts of
//! each disk are walked one after the other.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use fsops::{Mounts, Op};
use runtime::{Interrupted, Mutex, Progress, Stage, spawn_with_own_descriptors};

use crate::engine::disk_walk::{DiskWalk, ListedDirs, SharedState, WalkTask};
use crate::engine::list::FileList;
use crate::engine::listing::{Automount, Visitor};
use crate::engine::options::Options;
use crate::engine::roots::{Answer, PendingRoots, RootKind};
use crate::open::path_opener::{PathOpener, split_path};
use crate::tree::Tree;
use crate::tree::assemble::assemble;
use crate::tree::records::{Problem, Reason, Root, to_path};
use crate::tree::store::Store;
use crate::tree::table::Table;

/// Finds the regular files below `roots`.
///
/// A root may be a directory, a file, or a link to either. Entries that could not be examined are
/// in [`Tree::problems`].
///
/// # Errors
///
/// Fails only if a stop was requested.
pub fn walk(
    roots: &[PathBuf],
    options: &Options,
    visitor: Option<&dyn Visitor>,
    progress: &Progress,
) -> Result<Tree, Interrupted> {
    progress.enter(Stage::Walk);
    let common = SharedState {
        options,
        automounts: if options.filter.pseudo { Vec::new() } else { automounts() },
        visitor,
        progress,
        table: Table::default(),
        roots: Mutex::default(),
        shards: AtomicU32::new(0),
    };
    let mut walker = Walker {
        common: &common,
        paths: roots,
        files: Vec::new(),
        tree: Tree { has_only_changes: options.changes.is_some(), ..Tree::default() },
        // The first store is for roots that are files.
        stores: vec![Store::new(common.shards.fetch_add(1, Relaxed))],
        listed: HashMap::new(),
        list: FileList::default(),
    };
    let mut pending = PendingRoots::at(roots);
    let (apart, nested) = walker.sort_roots(pending.timely_answers(progress)?);
    walker.walk_all(apart)?;
    for root in nested {
        walker.walk_all(vec![root])?;
    }
    walker.take_files();
    let end = Instant::now() + options.root_timeout;
    while let Some(answer) = pending.late_answer(end, progress)? {
        let root = walker.start(answer);
        walker.walk_all(root.into_iter().collect())?;
        walker.take_files();
    }
    progress.enter(Stage::Sort);
    let Walker { mut tree, mut stores, listed, mut list, .. } = walker;
    let SharedState { table, roots, .. } = common;
    tree.roots = roots.into_inner();
    // The index of a store must equal its shard number.
    stores.sort_unstable_by_key(|store| store.shard);
    if !list.is_empty() {
        let mut all = HashMap::new();
        for mut listed in listed.into_values() {
            listed.update(&table);
            all.extend(listed.keys());
        }
        list.finish(&mut tree, &mut stores, &table, &all);
    }
    Ok(assemble(tree, table.into_inner(), stores))
}

/// A directory to start from, and its device number.
type Start = (Root, u64);

/// A walk in progress.
struct Walker<'a> {
    common: &'a SharedState<'a>,
    /// The roots as given.
    paths: &'a [PathBuf],
    /// Roots that are files and have not been processed yet.
    files: Vec<PathBuf>,
    tree: Tree,
    /// Stores of finished workers. Each has a unique shard number.
    stores: Vec<Store>,
    /// Directories that have been listed. The key is the name of the disk.
    listed: HashMap<String, ListedDirs>,
    list: FileList,
}

impl<'a> Walker<'a> {
    /// Separates independent roots, which can be walked in parallel, from roots inside another
    /// root.
    fn sort_roots(&mut self, answers: Vec<Answer>) -> (Vec<Start>, Vec<Start>) {
        let mut found: Vec<Start> = answers.into_iter().filter_map(|a| self.start(a)).collect();
        // Sorting puts ancestors before descendants.
        found.sort_by(|a, b| a.0.absolute.cmp(&b.0.absolute));
        let path = |start: &Start| to_path(start.0.absolute.clone());
        let (mut apart, mut nested): (Vec<Start>, Vec<Start>) = (Vec::new(), Vec::new());
        for root in found {
            let inside = apart.iter().any(|other| path(&root).starts_with(path(other)));
            if inside { nested.push(root) } else { apart.push(root) }
        }
        (apart, nested)
    }

    /// Processes the roots that are files. All directories that were found so far must have been
    /// walked.
    fn take_files(&mut self) {
        let SharedState { options, table, .. } = self.common;
        for path in std::mem::take(&mut self.files) {
            self.list.add(&path, &options.filter, &mut self.stores[0], table);
        }
    }

    /// Returns the directory to walk. If the root is a file, stores it for [`Walker::take_files`]
    /// and returns `None`.
    fn start(&mut self, (at, kind): Answer) -> Option<Start> {
        match kind {
            Ok(RootKind::Directory(root, device)) => return Some((root, device)),
            Ok(RootKind::File(path)) => self.files.push(path),
            Err(source) => {
                let path = self.paths[at].as_os_str().as_bytes().to_vec();
                let reason = Reason::Failed { op: Op::Open, source };
                self.tree.problems.push(Problem { path, reason });
            }
        }
        None
    }

    /// Walks roots, then the mounts found below them, and so on until no more mounts are found. On
    /// each disk, roots and mounts are walked in the order of their paths. Therefore, if two paths
    /// lead to the same directory, the speed of the disks does not affect which path is used.
    fn walk_all(&mut self, roots: Vec<Start>) -> Result<(), Interrupted> {
        let mut tasks: Vec<WalkTask> =
            roots.into_iter().map(|(root, device)| WalkTask::Root(root, device)).collect();
        while !tasks.is_empty() {
            let mut found = Vec::new();
            for disk_walk in self.round(tasks) {
                let DiskWalk { disk, listed, stores, found: more, skipped, problems, .. } =
                    disk_walk?;
                self.listed.insert(disk.name().to_string(), listed);
                self.stores.extend(stores);
                self.tree.skipped.add(&skipped);
                self.tree.problems.extend(problems);
                found.extend(more);
            }
            let table = self.common.table.read();
            found.sort_by_cached_key(|found| {
                let below = table.path_below(None, found.id);
                (found.root.absolute.clone(), below)
            });
            tasks = found.into_iter().map(WalkTask::Mount).collect();
        }
        Ok(())
    }

    /// Walks the tasks of all disks in parallel.
    fn round(&mut self, tasks: Vec<WalkTask>) -> Vec<Result<DiskWalk<'a>, Interrupted>> {
        let mut by_disk: Vec<(DiskWalk<'a>, Vec<WalkTask>)> = Vec::new();
        for task in tasks {
            let device = match &task {
                WalkTask::Root(_, device) => *device,
                WalkTask::Mount(found) => found.device,
            };
            let disk = self.common.options.disks.of(device);
            let known =
                by_disk.iter_mut().find(|(disk_walk, _)| Arc::ptr_eq(&disk_walk.disk, &disk));
            if let Some((_, tasks)) = known {
                tasks.push(task);
            } else {
                let listed = self.listed.remove(disk.name()).unwrap_or_default();
                by_disk.push((DiskWalk::new(self.common, disk, listed), vec![task]));
            }
        }
        if by_disk.len() == 1 {
            return by_disk.into_iter().map(|(disk_walk, tasks)| disk_walk.run(tasks)).collect();
        }
        std::thread::scope(|scope| {
            let run = |(disk_walk, tasks): (DiskWalk<'a>, Vec<WalkTask>)| {
                spawn_with_own_descriptors(scope, || disk_walk.run(tasks)).expect("a thread")
            };
            let running: Vec<_> = by_disk.into_iter().map(run).collect();
            let join = |disk_walk: ScopedJoinHandle<'_, _>| {
                disk_walk.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            running.into_iter().map(join).collect()
        })
    }
}

/// Returns the automount points, which must not be opened because that would mount a file system.
fn automounts() -> Vec<Automount> {
    let mut reach = PathOpener::new(1);
    let mut automount = |point: &[u8]| {
        let (dir, name) = split_path(point);
        let dir = reach.dir(dir).and_then(|dir| dir.stat()).ok()?.key();
        Some(Automount { dir, name: name.to_vec() })
    };
    Mounts::read().automounts().filter_map(&mut automount).collect()
}
