//! The walk of one disk. The roots and mounts of the disk are walked one after the other, each with
//! all workers of the disk.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use device::{Disk, Queue, WorkerPool};
use fsops::{Dir, FileKey, Op, Stat};
use runtime::{Interrupted, Mutex, Progress};

use super::deferred;
use crate::engine::listing::{Automount, Visitor};
use crate::engine::options::Options;
use crate::engine::worker::{Mount, PendingDir, Worker};
use crate::filter::Filter;
use crate::tree::records::{
    DirId, Problem, Reason, Root, Skipped, push_component, to_path, to_u32,
};
use crate::tree::store::Store;
use crate::tree::table::Table;

/// State shared by the disks of a walk.
pub(crate) struct SharedState<'a> {
    pub(crate) options: &'a Options,
    pub(crate) automounts: Vec<Automount>,
    pub(crate) visitor: Option<&'a dyn Visitor>,
    pub(crate) progress: &'a Progress,
    pub(crate) table: Table,
    pub(crate) roots: Mutex<Vec<Root>>,
    /// Number of the next store.
    pub(crate) shards: AtomicU32,
}

/// A part of a disk to walk.
pub(crate) enum WalkTask {
    /// A root, and its device number.
    Root(Root, u64),
    /// A mount that the walk found.
    Mount(FoundMount),
}

/// The top directory of a mount to walk.
pub(crate) struct FoundMount {
    /// The root above the mount.
    pub(crate) root: Arc<Root>,
    pub(crate) root_device: u64,
    /// The filter of that root.
    pub(crate) filter: Arc<Filter>,
    pub(crate) id: DirId,
    pub(crate) device: u64,
}

/// Directories that have been listed.
#[derive(Default)]
pub(crate) struct ListedDirs {
    keys: HashMap<FileKey, DirId>,
    /// Number of directory records that have been processed so far.
    upto: usize,
}

/// The walk of one disk, and its results.
pub(crate) struct DiskWalk<'a> {
    pub(crate) common: &'a SharedState<'a>,
    pub(crate) disk: Arc<Disk>,
    /// Directories of this disk that have been listed.
    pub(crate) listed: ListedDirs,
    pub(crate) stores: Vec<Store>,
    pub(crate) found: Vec<FoundMount>,
    pub(crate) skipped: Skipped,
    pub(crate) problems: Vec<Problem>,
}

impl ListedDirs {
    /// Adds the directories listed since the last call. Called before each root and each mount is
    /// walked, because only roots and mounts can lead to a directory by a second path.
    pub(crate) fn update(&mut self, table: &Table) {
        let table = table.read();
        for index in self.upto..table.records.len() {
            let id = DirId(to_u32(index));
            if let Some(key) = table.key(id) {
                self.keys.insert(key, id);
            }
        }
        self.upto = table.records.len();
    }

    pub(crate) fn keys(&self) -> &HashMap<FileKey, DirId> {
        &self.keys
    }
}

impl<'a> DiskWalk<'a> {
    pub(crate) fn new(
        common: &'a SharedState<'a>,
        disk: Arc<Disk>,
        listed: ListedDirs,
    ) -> DiskWalk<'a> {
        DiskWalk {
            common,
            disk,
            listed,
            stores: Vec::new(),
            found: Vec::new(),
            skipped: Skipped::default(),
            problems: Vec::new(),
        }
    }

    /// Walks all tasks. Afterwards, `found` contains the mounts below the walked directories.
    pub(crate) fn run(mut self, tasks: Vec<WalkTask>) -> Result<DiskWalk<'a>, Interrupted> {
        for task in tasks {
            match task {
                WalkTask::Root(root, _) => self.root(root)?,
                WalkTask::Mount(found) => self.mount(&found)?,
            }
        }
        Ok(self)
    }

    fn root(&mut self, mut root: Root) -> Result<(), Interrupted> {
        let opened = Dir::open(&to_path(root.given.clone()));
        let (dir, stat) = match opened.and_then(|dir| dir.stat().map(|stat| (dir, stat))) {
            Ok(opened) => opened,
            Err(source) => {
                let reason = Reason::Failed { op: Op::Open, source };
                self.problems.push(Problem { path: root.given, reason });
                return Ok(());
            }
        };
        if self.skips(&dir) {
            return Ok(());
        }
        {
            let mut roots = self.common.roots.lock();
            self.listed.update(&self.common.table);
            if let Some(&id) = self.listed.keys.get(&stat.key()) {
                root.dir = id;
                self.skipped.seen_before += 1;
                roots.push(root);
                return Ok(());
            }
            root.dir = self.common.table.write().add_root(roots.len());
            roots.push(root.clone());
        }
        let (id, device) = (root.dir, stat.device);
        let filter = Arc::new(self.common.options.filter.below(&to_path(root.given.clone())));
        let found = FoundMount { root: Arc::new(root), root_device: device, filter, id, device };
        self.walk(&found, &dir, &stat)
    }

    fn mount(&mut self, found: &FoundMount) -> Result<(), Interrupted> {
        let (dir, stat) = match self.open(found) {
            Ok(opened) => opened,
            Err(error) => {
                self.problem(found, Op::Open, error);
                return Ok(());
            }
        };
        if self.common.options.one_file_system && stat.device != found.root_device {
            self.skipped.other_file_systems += 1;
            return Ok(());
        }
        if self.skips(&dir) {
            return Ok(());
        }
        self.listed.update(&self.common.table);
        if self.listed.keys.contains_key(&stat.key()) {
            self.skipped.seen_before += 1;
            return Ok(());
        }
        self.walk(found, &dir, &stat)
    }

    /// Returns whether to skip a file system. Counts it as skipped if so.
    fn skips(&mut self, dir: &Dir) -> bool {
        let is_pseudo = || dir.volume().is_ok_and(|volume| volume.is_synthetic());
        let passes = !self.common.options.filter.pseudo && is_pseudo();
        self.skipped.pseudo_file_systems += u64::from(passes);
        passes
    }

    fn open(&self, found: &FoundMount) -> io::Result<(Dir, Stat)> {
        let root = Dir::open(&to_path(found.root.given.clone()))?;
        let below = self.common.table.read().path_below(Some(found.root.dir), found.id);
        let dir = root.open_below(&below)?;
        let stat = dir.stat()?;
        Ok((dir, stat))
    }

    /// Walks one mount.
    fn walk(&mut self, found: &FoundMount, dir: &Dir, stat: &Stat) -> Result<(), Interrupted> {
        let common = self.common;
        // A dead mount may not respond, so it is queried before the table is locked.
        let volume = dir.volume();
        let device = common.table.write().device(stat.device, || volume);
        let device_index = match device {
            Ok(index) => index,
            Err(error) => {
                self.problem(found, Op::Stat, error);
                return Ok(());
            }
        };
        let mount = Mount {
            options: common.options,
            filter: &found.filter,
            own: &common.options.own,
            automounts: &common.automounts,
            visitor: common.visitor,
            progress: common.progress,
            table: &common.table,
            queue: Queue::new(PendingDir { inode: 0, dir: found.id }),
            disk: &self.disk,
            listed: &self.listed.keys,
            root_given: &found.root.given,
            root_absolute: &found.root.absolute,
            top: found.id,
            top_dir: dir,
            id: stat.mount,
            device: stat.device,
            device_index,
            volume: common.table.read().devices[usize::from(device_index)].volume,
            others: Mutex::default(),
        };
        let (threads, progress) = (common.options.threads, common.progress);
        let pool = WorkerPool {
            disk: &self.disk,
            threads,
            pieces: None,
            all_at_once: false,
            writes: false,
            progress,
        };
        let mut stores = pool.run(|meter| {
            let store = Store::new(common.shards.fetch_add(1, Relaxed));
            Worker::new(&mount, store).run(meter)
        });
        deferred::query(&mount, &pool, &mut stores)?;
        let others = mount.others.into_inner();
        self.found.extend(others.into_iter().map(|(id, device)| FoundMount {
            root: Arc::clone(&found.root),
            root_device: found.root_device,
            filter: Arc::clone(&found.filter),
            id,
            device,
        }));
        self.stores.extend(stores);
        // `update` may have passed the record of this directory before the directory was listed.
        self.listed.keys.insert(stat.key(), found.id);
        common.progress.check()
    }

    fn problem(&mut self, found: &FoundMount, op: Op, source: io::Error) {
        let mut path = found.root.given.clone();
        push_component(&mut path, &self.common.table.read().path_below(None, found.id));
        self.problems.push(Problem { path, reason: Reason::Failed { op, source } });
    }
}
