//! Walks the roots: one mount after the other, each with all workers.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

use fsops::{Dir, DirBuffer, FileKey, Interrupted, Op, Stage, Stat, Watch, own_descriptor_table};

use crate::filter::Filter;
use crate::list::FileList;
use crate::listing::{Listing, Own, Store, Visitor};
use crate::queue::Queue;
use crate::table::{Directories, Table, count};
use crate::tree::{
    DirId, FileRecord, Problem, Reason, Root, Tree, cstr_at, push_component, to_path,
};

/// How to walk.
#[derive(Clone, Debug)]
pub struct Options {
    /// Which entries to take.
    pub filter: Filter,
    /// Stay on the file system of each root.
    pub one_file_system: bool,
    /// Workers.
    pub threads: usize,
    /// Descriptors a worker may keep open.
    pub open_dirs: usize,
    /// Absolute path whose file, and those next to it whose names start with its name, are the
    /// program's own and passed over.
    pub own: Option<PathBuf>,
}

/// Finds the files below `roots`.
///
/// A root may be a directory, a link to one, or a file. What cannot be examined is in
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

/// What the workers of one mount share.
struct Mount<'a> {
    options: &'a Options,
    own: Option<&'a Own>,
    visitor: Option<&'a dyn Visitor>,
    watch: &'a Watch,
    table: &'a Table,
    queue: Queue,
    /// Directories listed before this mount's turn.
    listed: &'a HashMap<FileKey, DirId>,
    root_given: &'a [u8],
    top: DirId,
    top_dir: &'a Dir,
    id: u64,
    device: u64,
    device_index: u16,
    /// Directories that turned out to be other mounts.
    others: Mutex<Vec<DirId>>,
}

impl<'a> Walker<'a> {
    fn new(options: &'a Options, visitor: Option<&'a dyn Visitor>, watch: &'a Watch) -> Self {
        let own = options.own.as_deref().and_then(own_files);
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
                self.list.add(path, &self.options.filter, &mut self.stores[0], &self.table);
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
        let device_index = match self.table.write().device(stat.device, || dir.volume()) {
            Ok(index) => index,
            Err(e) => {
                self.tree.problems.push(Problem {
                    path: given.to_vec(),
                    reason: Reason::Failed { op: Op::Stat, source: e },
                });
                return Ok(Vec::new());
            }
        };
        let threads = self.options.threads.max(1);
        let mount = Mount {
            options: self.options,
            own: self.own.as_ref(),
            visitor: self.visitor,
            watch: self.watch,
            table: &self.table,
            queue: Queue::new(threads, top),
            listed: &self.listed,
            root_given: given,
            top,
            top_dir: dir,
            id: stat.mount,
            device: stat.device,
            device_index,
            others: Mutex::default(),
        };
        let first_shard = self.stores.len();
        let stores = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|n| {
                    let store = Store::new(count(first_shard + n));
                    let mount = &mount;
                    scope.spawn(move || Worker::new(mount, store).run())
                })
                .collect();
            workers
                .into_iter()
                .map(|w| w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Vec<_>>()
        });
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

fn own_files(path: &Path) -> Option<Own> {
    use std::os::unix::ffi::OsStrExt;
    let dir = Dir::open(path.parent()?).and_then(|d| d.stat()).ok()?;
    Some(Own { dir: dir.key(), name_prefix: path.file_name()?.as_bytes().to_vec() })
}

/// One thread of a walk.
struct Worker<'a> {
    mount: &'a Mount<'a>,
    store: Store,
    stack: Vec<DirId>,
    /// Ancestors of the directory at hand that are still open, outermost first.
    open: Vec<(DirId, Dir)>,
    buffer: DirBuffer,
}

impl<'a> Worker<'a> {
    fn new(mount: &'a Mount<'a>, store: Store) -> Self {
        Worker { mount, store, stack: Vec::new(), open: Vec::new(), buffer: DirBuffer::default() }
    }

    fn run(mut self) -> Store {
        own_descriptor_table();
        while let Some(id) = self.mount.queue.next(&mut self.stack) {
            if self.mount.watch.stopped() {
                self.mount.queue.close();
                break;
            }
            if let Err(e) = self.directory(id) {
                let path = self.path(id);
                let reason = Reason::Failed { op: Op::List, source: e };
                self.store.problems.push(Problem { path, reason });
            }
            self.mount.queue.share(&mut self.stack);
        }
        self.store
    }

    fn directory(&mut self, id: DirId) -> io::Result<()> {
        let dir = self.open_dir(id)?;
        let stat = dir.stat()?;
        if stat.mount != self.mount.id || stat.device != self.mount.device {
            let mut others = self.mount.others.lock().unwrap_or_else(PoisonError::into_inner);
            others.push(id);
            return Ok(());
        }
        if self.mount.listed.contains_key(&stat.key()) {
            self.store.skipped.seen_before += 1;
            return Ok(());
        }
        let listed = self.list(id, &dir, &stat);
        self.open.push((id, dir));
        listed
    }

    fn list(&mut self, id: DirId, dir: &Dir, stat: &Stat) -> io::Result<()> {
        let first = count(self.store.files.len());
        let (entries, bytes) = (self.store.entries, self.store.bytes);
        let filter = &self.mount.options.filter;
        let below_root = filter.wants_paths().then(|| self.mount.table.read().path_below(None, id));
        let path = {
            let mount = self.mount;
            move || dir_path(mount, id)
        };
        let (own, visitor) = (self.mount.own, self.mount.visitor);
        let listing = Listing { filter, own, id, dir, stat, below_root, path: &path, visitor };
        let done = listing.run(&mut self.buffer, &mut self.store);
        self.hand_in(id, dir, stat, first, done.is_ok())?;
        let watch = self.mount.watch;
        watch.entries.fetch_add(self.store.entries - entries, Relaxed);
        watch.bytes_seen.fetch_add(self.store.bytes - bytes, Relaxed);
        done
    }

    /// Puts what was found in a directory into the shared table and on the stack.
    fn hand_in(
        &mut self,
        id: DirId,
        dir: &Dir,
        stat: &Stat,
        first: u32,
        complete: bool,
    ) -> io::Result<()> {
        let block = self.store.block_from(first);
        let mut table = self.mount.table.write();
        let record = &mut table.records[id.0 as usize];
        record.inode = stat.inode;
        record.device = self.mount.device_index;
        (record.first, record.count, record.shard) = (block.first, block.count, block.shard);
        record.complete = complete;
        let (child, children) = table.add_children(id, &self.store.children);
        self.store.children.clear();
        self.stack.extend((0..children).rev().map(|n| DirId(child.0 + n)));
        if self.store.strays.is_empty() {
            return Ok(());
        }
        let mut strays = std::mem::take(&mut self.store.strays);
        strays.sort_by_key(|&(device, _)| device);
        for group in strays.chunk_by(|a, b| a.0 == b.0) {
            let (number, stray) = &group[0];
            let name = cstr_at(&self.store.names, stray.name);
            let volume = || dir.child_volume(name).or_else(|_| dir.volume());
            let device = table.device(*number, volume)?;
            let first = count(self.store.files.len());
            let twin = DirId(count(table.records.len()));
            self.store.notes.resize(first as usize + group.len(), 0);
            self.store
                .files
                .extend(group.iter().map(|(_, f)| FileRecord { dir: twin, ..*f }));
            table.add_twin(id, device, self.store.block_from(first));
        }
        Ok(())
    }

    /// Opens a directory from its parent if that is still open, else from the mount's top.
    fn open_dir(&mut self, id: DirId) -> io::Result<Dir> {
        let (parent, name) = {
            let table = self.mount.table.read();
            (table.parent(id), table.name(id))
        };
        if id == self.mount.top {
            return self.mount.top_dir.open_below(b".");
        }
        let keep = self.open.iter().rposition(|&(open, _)| Some(open) == parent);
        self.open.truncate(keep.map_or(0, |at| at + 1));
        if self.open.len() > self.mount.options.open_dirs.max(1) {
            self.open.remove(0);
        }
        match self.open.last() {
            Some((_, parent)) => parent.open_child(&name),
            None => {
                let below = self.mount.table.read().path_below(Some(self.mount.top), id);
                self.mount.top_dir.open_below(&below)
            }
        }
    }

    fn path(&self, id: DirId) -> Vec<u8> {
        dir_path(self.mount, id)
    }
}

/// Returns a directory's path as printed.
fn dir_path(mount: &Mount<'_>, id: DirId) -> Vec<u8> {
    let mut path = mount.root_given.to_vec();
    push_component(&mut path, &mount.table.read().path_below(None, id));
    path
}
