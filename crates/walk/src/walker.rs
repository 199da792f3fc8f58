//! Walks the roots and the mounts below them: one after the other on each disk, and disks in
//! parallel.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use device::{Disks, Threads};
use fsops::{Mounts, Op};
use runtime::{Interrupted, Progress, Stage, own_descriptor_table};

use crate::filter::Filter;
use crate::list::FileList;
use crate::listing::{Automount, Store, Visitor};
use crate::own::Own;
use crate::reach::{Reach, split};
use crate::roots::{Answer, Looked, Looks};
use crate::table::{Directories, Table, count};
use crate::tree::{Problem, Reason, Root, Tree, to_path};
use crate::turn::{Common, Listed, Task, Turn};

/// How to walk.
#[derive(Clone, Debug)]
pub struct Options {
    /// Selects the entries.
    pub filter: Filter,
    /// Whether to stay on the file system of each root.
    pub one_file_system: bool,
    /// Workers per disk.
    pub threads: Threads,
    /// The disks, and what is known about them.
    pub disks: Arc<Disks>,
    /// Descriptors that a worker may keep open.
    pub open_dirs: usize,
    /// How long to wait for unresponsive roots after all others have been walked.
    pub patience: Duration,
    /// Lop's own files, which are skipped silently, as the catalog can change during the walk.
    pub own: Own,
}

/// Finds the files below `roots`.
///
/// A root may be a directory, a link to one, or a file. A link to a file stands for the file.
/// [`Tree::problems`] has the entries that could not be examined.
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
    let common = Common {
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
        tree: Tree::default(),
        // The first store has the roots that are files.
        stores: vec![Store::new(common.shards.fetch_add(1, Relaxed))],
        listed: HashMap::new(),
        list: FileList::default(),
    };
    let mut looks = Looks::at(roots);
    let (apart, nested) = walker.sort_roots(looks.soon(progress)?);
    walker.walk_all(apart)?;
    for root in nested {
        walker.walk_all(vec![root])?;
    }
    walker.take_files();
    let end = Instant::now() + options.patience;
    while let Some(answer) = looks.late(end, progress)? {
        let root = walker.start(answer);
        walker.walk_all(root.into_iter().collect())?;
        walker.take_files();
    }
    progress.enter(Stage::Sort);
    let Walker { mut tree, mut stores, listed, mut list, .. } = walker;
    let Common { table, roots, .. } = common;
    tree.roots = roots.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut all = HashMap::new();
    for mut listed in listed.into_values() {
        listed.update(&table);
        all.extend(listed.keys());
    }
    // The index of a store must be its number.
    stores.sort_unstable_by_key(|store| store.shard);
    list.finish(&mut tree, &mut stores, &table, &all);
    Ok(assemble(tree, table.into_inner(), stores))
}

/// A directory to start from, and its device number.
type Start = (Root, u64);

/// A walk in progress.
struct Walker<'a> {
    common: &'a Common<'a>,
    /// The roots as given.
    paths: &'a [PathBuf],
    /// Roots that are files, not processed yet.
    files: Vec<PathBuf>,
    tree: Tree,
    /// Stores of finished workers; each has a unique shard number.
    stores: Vec<Store>,
    /// The directories listed so far, by name of the disk.
    listed: HashMap<String, Listed>,
    list: FileList,
}

impl<'a> Walker<'a> {
    /// Separates roots inside others from independent ones, which can be walked in parallel.
    fn sort_roots(&mut self, answers: Vec<Answer>) -> (Vec<Start>, Vec<Start>) {
        let mut found: Vec<Start> = answers.into_iter().filter_map(|a| self.start(a)).collect();
        // Ancestors come before descendants.
        found.sort_by(|a, b| a.0.absolute.cmp(&b.0.absolute));
        let path = |start: &Start| to_path(start.0.absolute.clone());
        let (mut apart, mut nested): (Vec<Start>, Vec<Start>) = (Vec::new(), Vec::new());
        for root in found {
            let inside = apart.iter().any(|other| path(&root).starts_with(path(other)));
            if inside { nested.push(root) } else { apart.push(root) }
        }
        (apart, nested)
    }

    /// Processes the roots that are files. Nothing else is pending by now.
    fn take_files(&mut self) {
        let Common { options, table, .. } = self.common;
        for path in std::mem::take(&mut self.files) {
            self.list.add(&path, &options.filter, &mut self.stores[0], table);
        }
    }

    /// Returns a directory to walk. A file is kept for later.
    fn start(&mut self, (at, looked): Answer) -> Option<Start> {
        match looked {
            Ok(Looked::Directory(root, device)) => return Some((root, device)),
            Ok(Looked::File(path)) => self.files.push(path),
            Err(source) => {
                let path = self.paths[at].as_os_str().as_bytes().to_vec();
                let reason = Reason::Failed { op: Op::Open, source };
                self.tree.problems.push(Problem { path, reason });
            }
        }
        None
    }

    /// Walks roots, then the mounts found below them, and so on. Disks are walked in parallel, and
    /// each disk in order of path, so which of two paths a directory is found under does not depend
    /// on the speed of the disks.
    fn walk_all(&mut self, roots: Vec<Start>) -> Result<(), Interrupted> {
        let mut tasks: Vec<Task> =
            roots.into_iter().map(|(root, device)| Task::Root(root, device)).collect();
        while !tasks.is_empty() {
            let mut found = Vec::new();
            for turn in self.round(tasks) {
                let Turn { disk, listed, stores, found: more, skipped, problems, .. } = turn?;
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
            tasks = found.into_iter().map(Task::Mount).collect();
        }
        Ok(())
    }

    /// Walks the tasks of all disks in parallel.
    fn round(&mut self, tasks: Vec<Task>) -> Vec<Result<Turn<'a>, Interrupted>> {
        let mut by_disk: Vec<(Turn<'a>, Vec<Task>)> = Vec::new();
        for task in tasks {
            let device = match &task {
                Task::Root(_, device) => *device,
                Task::Mount(found) => found.device,
            };
            let disk = self.common.options.disks.of(device);
            let known = by_disk.iter_mut().find(|(turn, _)| Arc::ptr_eq(&turn.disk, &disk));
            if let Some((_, tasks)) = known {
                tasks.push(task);
            } else {
                let listed = self.listed.remove(disk.name()).unwrap_or_default();
                by_disk.push((Turn::new(self.common, disk, listed), vec![task]));
            }
        }
        if by_disk.len() == 1 {
            return by_disk.into_iter().map(|(turn, tasks)| turn.run(tasks)).collect();
        }
        std::thread::scope(|scope| {
            let run = |(turn, tasks): (Turn<'a>, Vec<Task>)| {
                scope.spawn(move || {
                    own_descriptor_table();
                    turn.run(tasks)
                })
            };
            let running: Vec<_> = by_disk.into_iter().map(run).collect();
            let join = |turn: ScopedJoinHandle<'_, _>| {
                turn.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            running.into_iter().map(join).collect()
        })
    }
}

/// Concatenates the workers' stores.
pub(crate) fn assemble(mut tree: Tree, mut dirs: Directories, stores: Vec<Store>) -> Tree {
    let mut bases = Vec::with_capacity(stores.len());
    let mut stores = stores;
    for store in &mut stores {
        bases.push(count(tree.files.len()));
        let files = std::mem::take(&mut store.files);
        if tree.files.is_empty() {
            tree.files = files;
        } else {
            tree.files.extend_from_slice(&files);
        }
        if !store.notes.is_empty() {
            tree.notes.resize(bases[bases.len() - 1] as usize, 0);
            tree.notes.append(&mut store.notes);
        }
        tree.names.push(std::mem::take(&mut store.names));
        tree.problems.append(&mut store.problems);
        tree.stores.append(&mut store.stores);
        tree.left_out.append(&mut store.left_out);
        tree.skipped.add(&store.skipped);
    }
    for dir in &mut dirs.records {
        dir.first += bases.get(dir.shard as usize).copied().unwrap_or(0);
    }
    tree.dirs = dirs.records;
    tree.dir_names = dirs.names;
    tree.devices = dirs.devices;
    tree.problems.sort_by(|a, b| a.path.cmp(&b.path));
    tree.left_out.sort();
    tree
}

/// Returns the automount points. Opening one would mount a file system.
fn automounts() -> Vec<Automount> {
    let mut reach = Reach::new(1);
    let mut automount = |point: &[u8]| {
        let (dir, name) = split(point);
        let dir = reach.dir(dir).and_then(|dir| dir.stat()).ok()?.key();
        Some(Automount { dir, name: name.to_vec() })
    };
    Mounts::read().automounts().filter_map(&mut automount).collect()
}
