//! Operations of a worker on single entries: opening directories, removing names, and removing
//! directories that have become empty, innermost first.

use std::ffi::CStr;
use std::io;
use std::rc::Rc;

use fsops::{Dir, Kind, Op, Stat};

use crate::Operation;
use crate::Options;
use crate::engine::job::PurgeTask;
use crate::engine::nodes::{Finished, NodeId, TOP};
use crate::engine::subvolume;
use crate::engine::worker::Worker;
use crate::outcome::Reason;
use crate::paths::joined;
use crate::select::Choice;

/// Read, write and search permission of the owner.
const OWNER_RIGHTS: u32 = 0o700;

/// Result of removing an emptied directory.
enum End {
    Gone,
    NotEmpty,
    Failed(io::Error),
    /// A stop was requested.
    Stopped,
}

impl Worker<'_> {
    /// Opens a directory and seeks to position `place` of its listing. Returns `None` if the
    /// directory should not be listed.
    pub(crate) fn enter(&mut self, id: NodeId, place: u64) -> Option<Rc<Dir>> {
        let opened = match self.open(id) {
            Err(e) if self.adds_permissions(id, &e) => self.open(id),
            opened => opened,
        };
        let dir = match opened {
            Ok(dir) => dir,
            Err(error) => {
                self.not_opened(id, error);
                return None;
            }
        };
        let job = self.job;
        if place != 0 || job.nodes().was_listed(id) {
            if let Err(source) = dir.seek(place) {
                self.fail(id, b"", Reason::Failed { op: Op::List, source });
            }
            return Some(dir);
        }
        let by_time = job.options.selection.before_ns.is_some();
        if id == TOP || !(by_time || job.btrfs || job.options.cross_mounts) {
            return Some(dir);
        }
        let stat = match dir.stat() {
            Ok(stat) => stat,
            Err(error) => {
                drop(dir);
                self.not_opened(id, error);
                return None;
            }
        };
        // A protected directory on the same mount was already refused by the guard. Before Linux
        // 5.8, the guard cannot tell mounts apart.
        if job.options.guarded.contains(&stat.key()) {
            drop(dir);
            self.fail(id, b"", Reason::Protected);
            self.settle(id);
            return None;
        }
        if job.options.selection.is_too_new(stat.mtime_ns()) {
            job.nodes().stay(id);
        }
        if subvolume::is_whole(job, &dir, &stat) && self.remove_subvolume(id, &stat) {
            drop(dir);
            self.forget(id);
            return None;
        }
        Some(dir)
    }

    /// Removes a subvolume as a whole. Returns whether it was removed.
    fn remove_subvolume(&mut self, id: NodeId, stat: &Stat) -> bool {
        let name = self.job.nodes().name(id);
        let Ok(above) = self.open_above(id) else { return false };
        subvolume::remove(self.job, (&above, &name), stat, &mut self.tally.outcome)
    }

    /// Returns a directory, opening it if necessary.
    pub(crate) fn open(&mut self, id: NodeId) -> io::Result<Rc<Dir>> {
        if let Some(dir) = self.dirs.get(|&open| open == id) {
            return Ok(dir);
        }
        let job = self.job;
        let (parent, name) = {
            let nodes = job.nodes();
            (nodes.parent(id), nodes.name(id))
        };
        let dir = match parent.and_then(|parent| self.dirs.get(|&open| open == parent)) {
            Some(parent) => self.open_child(&parent, &name)?,
            None => self.open_from_top(id)?,
        };
        Ok(self.hold(id, dir))
    }

    /// Adds an open directory to the cache. If this evicts another directory, records the identity
    /// of the evicted directory.
    fn hold(&mut self, id: NodeId, dir: Dir) -> Rc<Dir> {
        let job = self.job;
        self.dirs.put(id, dir, |&left, dir| job.leave(left, dir))
    }

    /// Closes all directories.
    pub(crate) fn let_go(&mut self) {
        let job = self.job;
        self.dirs.clear(|&left, dir| job.leave(left, dir));
    }

    fn open_child(&self, parent: &Dir, name: &CStr) -> io::Result<Dir> {
        match parent.open_child_same_mount(name) {
            Err(e) if self.job.options.cross_mounts && is_mount(&e) => parent.open_child(name),
            answer => answer,
        }
    }

    fn open_from_top(&self, id: NodeId) -> io::Result<Dir> {
        let job = self.job;
        let path = job.nodes().path(id);
        // Workers do not share the descriptor of the top directory, because it has a single listing
        // position.
        let path = if path.is_empty() { b".".as_slice() } else { &path };
        match job.top.open_below_same_mount(path) {
            Err(e) if job.options.cross_mounts && is_mount(&e) => job.top.open_below(path),
            answer => answer,
        }
    }

    /// Returns the parent of a directory. If the parent is not open, opens it through `..`, which
    /// is fast even deep in a tree. The identity of the parent is then checked, because the
    /// directory may have been moved.
    fn open_above(&mut self, id: NodeId) -> io::Result<Rc<Dir>> {
        let job = self.job;
        let above = {
            let nodes = job.nodes();
            nodes.parent(id).map(|parent| (parent, nodes.identity(parent)))
        };
        let Some((parent, identity)) = above else { return Err(io::ErrorKind::NotFound.into()) };
        if let Some(dir) = self.dirs.get(|&open| open == parent) {
            return Ok(dir);
        }
        if let (Some(identity), Some(dir)) = (identity, self.dirs.get(|&open| open == id)) {
            let above = dir.open_parent();
            if let Some(above) = above.ok().filter(|above| job.identity(above) == identity.get()) {
                return Ok(self.hold(parent, above));
            }
        }
        let dir = self.open_from_top(parent)?;
        Ok(self.hold(parent, dir))
    }

    /// Closes a directory that is no longer needed.
    fn close(&mut self, id: NodeId) {
        if let Some(dir) = self.dirs.close(|&open| open == id) {
            debug_assert_eq!(Rc::strong_count(&dir), 1, "the directory is still open elsewhere");
        }
    }

    /// Handles a directory that cannot be opened.
    fn not_opened(&mut self, id: NodeId, error: io::Error) {
        let job = self.job;
        if error.kind() == io::ErrorKind::NotFound {
            // Another process removed the directory.
            return self.forget(id);
        }
        if is_mount(&error) {
            self.fail(id, b"", Reason::Mount);
            return self.settle(id);
        }
        if matches!(error.raw_os_error(), Some(libc::ENOTDIR | libc::ELOOP)) {
            return self.became_other(id);
        }
        let by_age = job.options.selection.before_ns.is_some();
        if job.options.operation == Operation::Remove && !by_age && !job.nodes().stays(id) {
            let name = job.nodes().name(id);
            // An empty directory can be removed without opening it.
            if self.open_above(id).and_then(|above| above.remove_empty_dir(&name)).is_ok() {
                self.took_dir(id);
                return self.forget(id);
            }
        }
        self.fail(id, b"", Reason::Failed { op: Op::Open, source: error });
        self.settle(id);
    }

    /// Grants the owner full permissions for a directory that could not be opened, and for its parent.
    /// Returns whether to try again.
    fn adds_permissions(&mut self, id: NodeId, error: &io::Error) -> bool {
        if !self.job.options.adds_permissions || error.kind() != io::ErrorKind::PermissionDenied {
            return false;
        }
        let name = self.job.nodes().name(id);
        let Ok(above) = self.open_above(id) else { return false };
        let opened = adds_permissions(self.job.options, &above, error);
        opens_up_child(self.job.options, &above, &name, error) || opened
    }

    /// Removes an entry that has replaced a directory.
    fn became_other(&mut self, id: NodeId) {
        let (parent, name) = {
            let nodes = self.job.nodes();
            (nodes.parent(id), nodes.name(id))
        };
        if let Some(parent) = parent {
            if self.choose(parent, &name, false) == Choice::Goes {
                match self.open_above(id) {
                    Ok(above) => self.remove(&above, parent, &name),
                    Err(source) => self.failed(parent, &name, Op::Open, source),
                }
            } else {
                self.keep(parent);
            }
        }
        self.forget(id);
    }

    /// Removes an entry that is not a directory.
    pub(crate) fn remove(&mut self, dir: &Dir, id: NodeId, name: &CStr) {
        let Options { operation, ref selection, .. } = *self.job.options;
        if operation == Operation::Weigh || selection.before_ns.is_some() {
            match dir.stat_child(name) {
                Ok(stat) if selection.is_too_new(stat.mtime_ns()) => return self.keep(id),
                Ok(stat) if operation == Operation::Weigh => {
                    self.tally.linked.note(&stat, &mut self.tally.outcome);
                }
                Ok(_) => {}
                Err(source) => return self.failed(id, name, Op::Stat, source),
            }
        }
        if operation != Operation::Remove {
            return self.took_file(id, name);
        }
        if !self.job.options.throttle.pass(self.job.progress) {
            return;
        }
        let removed = match dir.remove_name(name) {
            Err(e) if adds_permissions(self.job.options, dir, &e) => dir.remove_name(name),
            removed => removed,
        };
        match removed {
            Ok(()) => self.took_file(id, name),
            Err(e) if e.kind() == io::ErrorKind::IsADirectory => self.came_later(dir, id, name),
            Err(source) => self.failed(id, name, Op::Remove, source),
        }
    }

    fn failed(&mut self, id: NodeId, name: &CStr, op: Op, source: io::Error) {
        let reason = match source.kind() {
            // Another process removed the entry.
            io::ErrorKind::NotFound => return,
            io::ErrorKind::ResourceBusy if self.is_mounted_on(id, name) => Reason::Mount,
            _ => Reason::Failed { op, source },
        };
        self.fail(id, name.to_bytes(), reason);
    }

    /// Returns whether an entry is a mount point.
    fn is_mounted_on(&mut self, id: NodeId, name: &CStr) -> bool {
        let Ok(dir) = self.open(id) else { return false };
        match (dir.stat(), dir.stat_child(name)) {
            (Ok(around), Ok(stat)) => around.mount != stat.mount,
            _ => false,
        }
    }

    /// Adds a directory whose name did not refer to a directory when its parent was listed.
    fn came_later(&mut self, dir: &Dir, id: NodeId, name: &CStr) {
        let choice = self.choose(id, name, true);
        match choice {
            Choice::Stays => return self.keep(id),
            Choice::Store => return self.fail(id, name.to_bytes(), Reason::Store),
            Choice::Goes | Choice::Passes => {}
        }
        let inode = dir.stat_child(name).map_or(0, |stat| stat.inode);
        let mut nodes = self.job.nodes();
        let dir = nodes.add(id, name.to_bytes(), choice == Choice::Goes);
        if choice == Choice::Passes && !self.job.options.selection.takes_emptied() {
            nodes.stay(dir);
        }
        drop(nodes);
        self.stack.push(PurgeTask::Empty { inode, dir, place: 0 });
    }

    /// Decides whether to remove an entry whose type has changed since it was listed.
    fn choose(&self, parent: NodeId, name: &CStr, is_dir: bool) -> Choice {
        let (nodes, selection) = (self.job.nodes(), &self.job.options.selection);
        let name = name.to_bytes();
        let path = selection.path(|| joined(&nodes.path(parent), name));
        selection.choose(name, path.as_deref(), is_dir, nodes.is_chosen(parent))
    }

    /// Completes a pending item of a directory. If no pending items are left, removes the directory
    /// and completes a pending item of its parent, and so on up to the top directory.
    ///
    /// The caller must not keep any of these directories open. If a directory is removed while it
    /// is open, the kernel keeps its dentry and the dentries of its removed ancestors. The removal
    /// of the next ancestor traverses all of these dentries (`shrink_dcache_parent` in
    /// `vfs_rmdir`). With a single directory left open, the time to remove a chain of directories
    /// grew with the square of its length.
    pub(crate) fn settle(&mut self, id: NodeId) {
        let mut id = id;
        loop {
            let Some(Finished { parent, stays }) = self.job.nodes().release(id) else { return };
            let Some(parent) = parent else { return };
            if stays {
                // The parent is marked as kept after this chain of conditions.
            } else if self.job.options.operation != Operation::Remove {
                self.took_dir(id);
            } else {
                match self.remove_dir(id) {
                    End::Gone => {}
                    End::Stopped => return,
                    End::NotEmpty if self.job.nodes().again(id) => {
                        self.stack.push(PurgeTask::Empty { inode: 0, dir: id, place: 0 });
                        return;
                    }
                    End::NotEmpty => self.fail(id, b"", Reason::Growing),
                    End::Failed(source) => self.not_removed(id, parent, source),
                }
            }
            self.close(id);
            let mut nodes = self.job.nodes();
            if nodes.stays(id) {
                nodes.stay(parent);
            }
            nodes.remove(id);
            id = parent;
        }
    }

    /// Handles an emptied directory that cannot be removed.
    fn not_removed(&mut self, id: NodeId, parent: NodeId, source: io::Error) {
        let name = self.job.nodes().name(id);
        let is_busy = source.kind() == io::ErrorKind::ResourceBusy;
        if self.job.options.cross_mounts && is_busy && self.is_mounted_on(parent, &name) {
            // With `cross_mounts`, a mount point is emptied but not removed.
            self.keep(id);
        } else {
            self.fail(id, b"", Reason::Failed { op: Op::Remove, source });
        }
    }

    fn remove_dir(&mut self, id: NodeId) -> End {
        if self.stopped() || !self.job.options.throttle.pass(self.job.progress) {
            return End::Stopped;
        }
        let name = self.job.nodes().name(id);
        let removed = self.open_above(id).and_then(|above| match above.remove_empty_dir(&name) {
            Err(e) if adds_permissions(self.job.options, &above, &e) => {
                above.remove_empty_dir(&name)
            }
            removed => removed,
        });
        match removed {
            Ok(()) => self.took_dir(id),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) if e.kind() == io::ErrorKind::DirectoryNotEmpty => return End::NotEmpty,
            Err(e) => return End::Failed(e),
        }
        End::Gone
    }

    /// Counts a non-directory that was or would be removed.
    fn took_file(&mut self, id: NodeId, name: &CStr) {
        self.tally.outcome.files += 1;
        self.job.tell(id, name.to_bytes(), false);
    }

    /// Counts a directory that was or would be removed.
    fn took_dir(&mut self, id: NodeId) {
        self.tally.outcome.dirs += 1;
        self.job.tell(id, b"", true);
    }

    /// Removes a directory that no longer exists from the table.
    fn forget(&mut self, id: NodeId) {
        let Some(Finished { parent: Some(parent), .. }) = self.job.nodes().release(id) else {
            return;
        };
        self.close(id);
        self.job.nodes().remove(id);
        self.settle(parent);
    }

    /// Records that an entry of a directory is kept because it was not selected.
    pub(crate) fn keep(&mut self, id: NodeId) {
        self.tally.outcome.unselected += 1;
        self.job.nodes().stay(id);
    }

    /// Records that the entry `name` of a directory could not be removed. If `name` is empty,
    /// records that the directory itself could not be removed.
    pub(crate) fn fail(&mut self, id: NodeId, name: &[u8], reason: Reason) {
        self.job.nodes().stay(id);
        let job = self.job;
        self.tally.outcome.fail(|| joined(&job.path(id), name), reason);
    }
}

/// Adds the owner's permissions to `dir` if the options allow it and missing permissions may have
/// caused `error`. Returns whether the permissions changed.
fn adds_permissions(options: &Options, dir: &Dir, error: &io::Error) -> bool {
    let mode = || lacking(options, error, dir.stat());
    mode().is_some_and(|mode| dir.set_mode(mode).is_ok())
}

/// Adds the owner's permissions to the directory `name` in `dir` if the options allow it and
/// missing permissions may have caused `error`. Returns whether the permissions changed.
pub(crate) fn opens_up_child(options: &Options, dir: &Dir, name: &CStr, error: &io::Error) -> bool {
    let mode = || lacking(options, error, dir.stat_child(name));
    mode().is_some_and(|mode| dir.set_child_mode(name, mode).is_ok())
}

/// Returns the mode with the owner's permissions added, or `None` if the mode should not change.
fn lacking(options: &Options, error: &io::Error, stat: io::Result<Stat>) -> Option<u32> {
    let is_denied = error.kind() == io::ErrorKind::PermissionDenied;
    let stat = if options.adds_permissions && is_denied && options.operation == Operation::Remove {
        stat
    } else {
        return None;
    };
    let stat = stat.ok().filter(|stat| stat.kind == Kind::Dir)?;
    (stat.mode & OWNER_RIGHTS != OWNER_RIGHTS).then_some(stat.mode | OWNER_RIGHTS)
}

fn is_mount(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}
