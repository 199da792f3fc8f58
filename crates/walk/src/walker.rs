//! Walks the roots: one mount after the other, each with all workers.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use device::{Crew, Lanes, Threads};
use fsops::{Dir, FileKey, Interrupted, Op, Stage, Stat, Watch};

use crate::filter::Filter;
use crate::later;
use crate::list::FileList;
use crate::listing::{Own, Store, Visitor};
use crate::queue::Queue;
use crate::table::{Directories, Table, count};
use crate::tree::{DirId, Problem, Reason, Root, Tree, push_component, to_path};
use crate::worker::{Mount, Worker};

/// How to walk.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which entries to take.
    pub filter: Filter,
    /// Stay on the file system of each root.
    pub one_file_system: bool,
    /// Workers on each device.
    pub threads: Threads,
    /// The devices, and what is known of them.
    pub lanes: Arc<Lanes>,
    /// Descriptors a worker may keep open.
    pub open_dirs: usize,
    /// Files of one directory, by absolute path, that are the program's own and passed over.
    pub own: Vec<PathBuf>,
}

/// Finds the files below `roots`.
///
/// A root may be a directory, a link to one, or a file; a link to a file stands for the file. What cannot be examined is in
/// [`Tree::problems`], and the rest goes on.
///
/// # Errors
///
/// Only that `watch` asked to stop.
pub fn walk(
    roots: &[PathBuf],
    options: &Options,
    visitor: Option<&dyn Visitor>,
    watch: &Watch,
) -> Result<Tree, Interrupted> {
    watch.enter(Stage::Walk);
    let mut walker = Walker::new(options, visitor, watch);
    for root in walker.sort_roots(roots) {
        walker.walk_root(root)?;
    }
    Ok(walker.finish())
}

/// A walk under way.
struct Walker<'a> {
    options: &'a Options,
    own: Option<Own>,
    visitor: Option<&'a dyn Visitor>,
    watch: &'a Watch,
    table: Table,
    tree: Tree,
    /// Finished workers' stores; each has a shard number of its own.
    stores: Vec<Store>,
    listed: HashMap<FileKey, DirId>,
    /// How many directory records `listed` covers.
    listed_upto: usize,
    list: FileList,
}

impl<'a> Walker<'a> {
    fn new(options: &'a Options, visitor: Option<&'a dyn Visitor>, watch: &'a Watch) -> Self {
        let own = own_files(&options.own);
        Walker {
            options,
            own,
            visitor,
            watch,
            table: Table::default(),
            tree: Tree::default(),
            stores: Vec::new(),
            listed: HashMap::new(),
            listed_upto: 0,
            list: FileList::default(),
        }
    }

    /// Tells directories from files and puts an ancestor before what is below it.
    fn sort_roots(&mut self, roots: &[PathBuf]) -> Vec<Root> {
        use std::os::unix::ffi::{OsStrExt, OsStringExt};
        let mut found = Vec::new();
        for path in roots {
            let is_dir = std::fs::metadata(path).is_ok_and(|m| m.is_dir());
            let given = path.as_os_str().as_bytes().to_vec();
            if !is_dir {
                if self.stores.is_empty() {
                    self.stores.push(Store::new(0));
                }
                match target(path) {
                    Ok(file) => {
                        let filter = &self.options.filter;
                        self.list.add(&file, filter, &mut self.stores[0], &self.table);
                    }
                    Err(e) => self.problem(given, Op::Open, e),
                }
                continue;
            }
            match path.canonicalize() {
                Ok(absolute) => found.push(Root {
                    given,
                    absolute: absolute.into_os_string().into_vec(),
                    dir: DirId(0),
                    whole: true,
                }),
                Err(e) => self.problem(given, Op::Open, e),
            }
        }
        found.sort_by(|a, b| a.absolute.cmp(&b.absolute));
        found
    }

    fn walk_root(&mut self, mut root: Root) -> Result<(), Interrupted> {
        let opened = Dir::open(&to_path(root.given.clone()))
            .and_then(|dir| dir.stat().map(|stat| (dir, stat)));
        let (dir, stat) = match opened {
            Ok(opened) => opened,
            Err(e) => {
                self.problem(root.given, Op::Open, e);
                return Ok(());
            }
        };
        self.note_listed();
        if let Some(&id) = self.listed.get(&stat.key()) {
            root.dir = id;
            self.tree.skipped.seen_before += 1;
            self.tree.roots.push(root);
            return Ok(());
        }
        root.dir = self.table.write().add_root(self.tree.roots.len());
        let (given, top) = (root.given.clone(), root.dir);
        self.tree.roots.push(root);
        self.walk_mounts(&given, top, dir, stat)
    }

    /// Walks the mount at `top` and then those found below it, in order of path.
    fn walk_mounts(
        &mut self,
        given: &[u8],
        top: DirId,
        dir: Dir,
        stat: Stat,
    ) -> Result<(), Interrupted> {
        let root_device = stat.device;
        let mut waiting = vec![top];
        let mut first = Some((dir, stat));
        while let Some(id) = waiting.pop() {
            let opened = first.take().map_or_else(|| self.open(given, top, id), Ok);
            let (dir, stat) = match opened {
                Ok(opened) => opened,
                Err(e) => {
                    self.dir_problem(given, id, e);
                    continue;
                }
            };
            if self.options.one_file_system && stat.device != root_device {
                self.tree.skipped.other_file_systems += 1;
                continue;
            }
            self.note_listed();
            if self.listed.contains_key(&stat.key()) {
                self.tree.skipped.seen_before += 1;
                continue;
            }
            let mut found = self.walk_mount(given, id, &dir, &stat)?;
            let table = self.table.read();
            // The last one is taken next, so the smallest path goes to the end.
            found.sort_by_cached_key(|&d| std::cmp::Reverse(table.path_below(None, d)));
            waiting.extend(found);
        }
        Ok(())
    }

    fn open(&self, given: &[u8], top: DirId, id: DirId) -> io::Result<(Dir, Stat)> {
        let root = Dir::open(&to_path(given.to_vec()))?;
        let below = self.table.read().path_below(Some(top), id);
        let dir = root.open_below(&below)?;
        let stat = dir.stat()?;
        Ok((dir, stat))
    }

    fn walk_mount(
        &mut self,
        given: &[u8],
        top: DirId,
        dir: &Dir,
        stat: &Stat,
    ) -> Result<Vec<DirId>, Interrupted> {
        let device = self.table.write().device(stat.device, || dir.volume());
        let device_index = match device {
            Ok(index) => index,
            Err(e) => {
                self.tree.problems.push(Problem {
                    path: given.to_vec(),
                    reason: Reason::Failed { op: Op::Stat, source: e },
                });
                return Ok(Vec::new());
            }
        };
        let lane = self.options.lanes.of(stat.device);
        let mount = Mount {
            options: self.options,
            own: self.own.as_ref(),
            visitor: self.visitor,
            watch: self.watch,
            table: &self.table,
            queue: Queue::new(top),
            lane: &lane,
            listed: &self.listed,
            root_given: given,
            top,
            top_dir: dir,
            id: stat.mount,
            device: stat.device,
            device_index,
            volume: self.table.read().devices[usize::from(device_index)].volume,
            others: Mutex::default(),
        };
        let crew = Crew { lane: &lane, threads: self.options.threads, pieces: None };
        let shards = AtomicUsize::new(self.stores.len());
        let mut stores = crew.run(|pace| {
            let store = Store::new(count(shards.fetch_add(1, Relaxed)));
            Worker::new(&mount, store).run(pace)
        });
        stores.sort_unstable_by_key(|store| store.shard);
        later::look(&mount, &crew, &mut stores)?;
        let others = mount.others.into_inner().unwrap_or_else(PoisonError::into_inner);
        self.stores.extend(stores);
        // Its record came before the mount's turn, so `note_listed` has passed it by.
        self.listed.insert(stat.key(), top);
        self.watch.check()?;
        Ok(others)
    }

    /// Brings the table of listed directories up to date, before a second way to them may come.
    fn note_listed(&mut self) {
        let table = self.table.read();
        for index in self.listed_upto..table.records.len() {
            let id = DirId(count(index));
            if let Some(key) = table.key(id) {
                self.listed.insert(key, id);
            }
        }
        self.listed_upto = table.records.len();
    }

    fn problem(&mut self, path: Vec<u8>, op: Op, source: io::Error) {
        self.tree.problems.push(Problem { path, reason: Reason::Failed { op, source } });
    }

    fn dir_problem(&mut self, given: &[u8], id: DirId, source: io::Error) {
        let mut path = given.to_vec();
        push_component(&mut path, &self.table.read().path_below(None, id));
        self.problem(path, Op::Open, source);
    }

    fn finish(mut self) -> Tree {
        self.note_listed();
        self.list.finish(&mut self.tree, &mut self.stores, &self.table, &self.listed);
        assemble(self.tree, self.table.into_inner(), self.stores)
    }
}

/// Puts the workers' stores one behind the other.
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
        tree.skipped.add(&store.skipped);
    }
    for dir in &mut dirs.records {
        dir.first += bases.get(dir.shard as usize).copied().unwrap_or(0);
    }
    tree.dirs = dirs.records;
    tree.dir_names = dirs.names;
    tree.devices = dirs.devices;
    tree.problems.sort_by(|a, b| a.path.cmp(&b.path));
    tree
}

/// Returns the path itself, or where it leads if it is a link.
fn target(path: &Path) -> io::Result<PathBuf> {
    let is_link = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link { path.canonicalize() } else { Ok(path.to_path_buf()) }
}

fn own_files(paths: &[PathBuf]) -> Option<Own> {
    use std::os::unix::ffi::OsStrExt;
    let dir = Dir::open(paths.first()?.parent()?).and_then(|d| d.stat()).ok()?;
    let names = paths.iter().filter_map(|path| path.file_name()).map(|n| n.as_bytes().to_vec());
    Some(Own { dir: dir.key(), names: names.collect() })
}
