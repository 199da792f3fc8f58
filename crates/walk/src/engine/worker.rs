//! A worker thread of a walk. It takes directories of one mount from the queue and lists them.

use std::collections::HashMap;
use std::io;

use device::{Disk, Queue, WaitMeter};
use fsops::{Dir, DirBuffer, FileKey, Op, Stat, Volume};
use runtime::{Mutex, Progress};

use crate::engine::changes::{Names, View};
use crate::engine::listing::{Automount, Listing, Visitor};
use crate::engine::options::Options;
use crate::filter::Filter;
use crate::filter::own::OwnFiles;
use crate::tree::records::{DirId, Problem, Reason, cstr_at, push_component, to_u32};
use crate::tree::store::Store;
use crate::tree::table::Table;

/// A directory to list, and its inode number as found in its parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PendingDir {
    pub(crate) inode: u64,
    pub(crate) dir: DirId,
}

/// State shared by the workers of one mount.
pub(crate) struct Mount<'a> {
    pub(crate) options: &'a Options,
    /// The filter of the root above the mount.
    pub(crate) filter: &'a Filter,
    pub(crate) own: &'a OwnFiles,
    pub(crate) automounts: &'a [Automount],
    pub(crate) visitor: Option<&'a dyn Visitor>,
    pub(crate) progress: &'a Progress,
    pub(crate) table: &'a Table,
    pub(crate) queue: Queue<PendingDir>,
    pub(crate) disk: &'a Disk,
    /// Directories that were listed before the walk of this mount.
    pub(crate) listed: &'a HashMap<FileKey, DirId>,
    pub(crate) root_given: &'a [u8],
    pub(crate) root_absolute: &'a [u8],
    pub(crate) top: DirId,
    pub(crate) top_dir: &'a Dir,
    pub(crate) id: u64,
    pub(crate) device: u64,
    pub(crate) device_index: u16,
    pub(crate) volume: Volume,
    /// Directories found on other mounts, and their device numbers.
    pub(crate) others: Mutex<Vec<(DirId, u64)>>,
}

impl Mount<'_> {
    /// Returns whether to list directories in disk order instead of tree order.
    fn in_order(&self) -> bool {
        self.disk.is_cold() && self.disk.is_seek_bound()
    }

    /// Opens a directory of the mount.
    pub(crate) fn open(&self, id: DirId) -> io::Result<Dir> {
        if id == self.top {
            return self.top_dir.open_below(b".");
        }
        let below = self.table.read().path_below(Some(self.top), id);
        self.top_dir.open_below(&below)
    }

    /// Returns the part of a directory to examine.
    fn view(&self, id: DirId) -> View<'_> {
        let Some(changes) = &self.options.changes else { return View::All };
        changes.view(self.root_absolute, &self.table.read().path_below(None, id))
    }

    /// Returns a directory's printed path.
    pub(crate) fn dir_path(&self, id: DirId) -> Vec<u8> {
        let mut path = self.root_given.to_vec();
        push_component(&mut path, &self.table.read().path_below(None, id));
        path
    }
}

/// A worker thread of a walk.
pub(crate) struct Worker<'a> {
    mount: &'a Mount<'a>,
    store: Store,
    stack: Vec<PendingDir>,
    /// Open ancestors of the current directory, outermost first.
    open: Vec<(DirId, Dir)>,
    buffer: DirBuffer,
}

impl<'a> Worker<'a> {
    pub(crate) fn new(mount: &'a Mount<'a>, store: Store) -> Self {
        Worker { mount, store, stack: Vec::new(), open: Vec::new(), buffer: DirBuffer::default() }
    }

    pub(crate) fn run(mut self, meter: &mut WaitMeter<'_>) -> Store {
        self.mount.queue.join();
        let _guard = self.mount.queue.close_on_panic();
        while let Some(PendingDir { dir: id, .. }) = self.mount.queue.next(&mut self.stack) {
            if self.mount.progress.poll_stop() {
                self.mount.queue.close();
                break;
            }
            meter.begin();
            if let Err(e) = self.directory(id, meter) {
                let path = self.mount.dir_path(id);
                let reason = Reason::Failed { op: Op::List, source: e };
                self.store.problems.push(Problem { path, reason });
            }
            if self.mount.in_order() {
                self.mount.queue.enqueue_sorted(&mut self.stack);
            } else {
                self.mount.queue.share(&mut self.stack);
            }
            meter.tick();
        }
        self.store
    }

    fn directory(&mut self, id: DirId, meter: &mut WaitMeter<'_>) -> io::Result<()> {
        let names = match self.mount.view(id) {
            View::Nothing => return Ok(()),
            View::Names(names) => Some(names),
            View::All => None,
        };
        let dir = self.open_dir(id)?;
        let stat = dir.stat()?;
        if stat.mount != self.mount.id || stat.device != self.mount.device {
            let mut others = self.mount.others.lock();
            others.push((id, stat.device));
            return Ok(());
        }
        if self.mount.listed.contains_key(&stat.key()) {
            self.store.skipped.seen_before += 1;
            return Ok(());
        }
        let listed = self.list(id, &dir, &stat, names, meter);
        self.open.push((id, dir));
        listed
    }

    fn list(
        &mut self,
        id: DirId,
        dir: &Dir,
        stat: &Stat,
        names: Option<Names<'_>>,
        meter: &mut WaitMeter<'_>,
    ) -> io::Result<()> {
        let first = to_u32(self.store.files.len());
        let filter = self.mount.filter;
        let below_root = filter.wants_paths().then(|| self.mount.table.read().path_below(None, id));
        let path = {
            let mount = self.mount;
            move || mount.dir_path(id)
        };
        let Mount { own, automounts, visitor, disk, volume, progress, ref queue, .. } = *self.mount;
        let is_last_here = self.stack.is_empty();
        let path = &path;
        let listing = Listing {
            filter,
            own,
            automounts,
            id,
            dir,
            stat,
            volume,
            names,
            below_root,
            path,
            visitor,
            disk,
            is_last: &|| is_last_here && queue.has_free() && queue.others_wait(),
            progress,
        };
        let done = listing.run(&mut self.buffer, &mut self.store, meter);
        self.submit(id, dir, stat, first, done.is_ok() && names.is_none())?;
        done
    }

    /// Adds the files of a directory to the shared table, and its subdirectories to the stack.
    fn submit(
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
        let child = table.add_children(id, &self.store.children);
        self.store.children.clear();
        let inodes = self.store.child_inodes.drain(..);
        let waiting = (child.0..).zip(inodes).map(|(n, inode)| PendingDir { inode, dir: DirId(n) });
        let bottom = self.stack.len();
        self.stack.extend(waiting);
        self.stack[bottom..].reverse();
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
            let files = group.iter().map(|&(_, file)| file);
            table.add_duplicate(id, device, &mut self.store, files);
        }
        Ok(())
    }

    /// Opens a directory relative to its parent if the parent is open, and otherwise relative to
    /// the top directory of the mount.
    fn open_dir(&mut self, id: DirId) -> io::Result<Dir> {
        let (parent, name) = {
            let table = self.mount.table.read();
            (table.parent(id), table.name(id))
        };
        if id == self.mount.top {
            return self.mount.open(id);
        }
        let keep = self.open.iter().rposition(|&(open, _)| Some(open) == parent);
        self.open.truncate(keep.map_or(0, |at| at + 1));
        if self.open.len() > self.mount.options.open_dirs.max(1) {
            self.open.remove(0);
        }
        if let Some((_, parent)) = self.open.last() {
            parent.open_child(&name)
        } else {
            self.mount.open(id)
        }
    }
}
