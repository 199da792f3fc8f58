//! Updates the areas after changes of the mount table.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::Watcher;
use crate::area::{Area, Means, Plan, Planned};
use crate::inotify;
use crate::paths::as_path;

/// The mount table of this process. Its descriptor reports `POLLPRI` after a change
/// (`proc_pid_mountinfo(5)`).
#[derive(Debug)]
pub(super) struct MountTable(File);

impl MountTable {
    pub(super) fn open() -> io::Result<MountTable> {
        File::open("/proc/self/mountinfo").map(MountTable)
    }
}

impl AsFd for MountTable {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Watcher {
    /// Compares the areas with the mount table, watches new mounts, and notes mounts that have appeared
    /// or disappeared.
    pub(super) fn update_areas(&mut self) {
        let Plan(planned) = Plan::make(&self.areas.roots);
        let old = std::mem::take(&mut self.areas.list);
        let mut changed: Vec<Planned> = Vec::new();
        let (mut kept, mut gone) = (Vec::new(), Vec::new());
        for area in old {
            if planned.contains(&area.planned) && self.is_watched(&area) {
                kept.push(area);
            } else {
                gone.push(area);
            }
        }
        if kept.len() == planned.len() && gone.is_empty() {
            self.areas.list = kept;
            return;
        }
        for area in gone {
            if let Some(inotify) = &mut self.inotify {
                inotify.forget_area(&area.planned.path);
            }
            changed.push(area.planned);
        }
        for planned in planned {
            if !kept.iter().any(|area| area.planned == planned) {
                changed.push(planned.clone());
                kept.push(self.watch(planned));
            }
        }
        self.areas.list = kept;
        self.areas.list.sort_by(|a, b| a.planned.path.cmp(&b.planned.path));
        if let Ok(fanotify) = &mut self.fanotify {
            fanotify.forget_places();
        }
        // If several mounts show a directory, a scan lists it under only one of its paths. If this path has
        // disappeared, the next scan must list the directory under another path, so the watcher notes the other mounts
        // of the file system.
        let shows_the_same = |area: &&Area| {
            let is_root = self.areas.roots.contains(&area.planned.path);
            !is_root && changed.iter().any(|planned| planned.fsid == area.planned.fsid)
        };
        let others = self.areas.list.iter().filter(shows_the_same);
        let others: Vec<_> = others.map(|area| area.planned.path.clone()).collect();
        let mut paths: Vec<_> = changed.into_iter().map(|planned| planned.path).collect();
        paths.sort();
        paths.dedup();
        for path in others {
            self.notes.tree(&path);
        }
        for path in paths {
            if self.areas.roots.contains(&path) {
                self.areas.replace(&path, &mut self.notes);
            }
            // This is also necessary for a root, because another root may contain it.
            self.notes.tree(&path);
        }
    }

    /// Returns whether the watcher still watches an area. An unchanged plan does not prove this, because the kernel may
    /// give the id of a former mount to a new one.
    fn is_watched(&self, area: &Area) -> bool {
        match (&area.means, &self.fanotify) {
            (Means::Fanotify, Ok(fanotify)) => {
                let dir = fsops::Dir::open(as_path(&area.planned.path));
                dir.is_ok_and(|dir| fanotify.watches(&dir))
            }
            (Means::Inotify(..), _) => {
                let inotify = self.inotify.as_ref();
                inotify.is_some_and(|inotify| inotify.watches_area(&area.planned.path))
            }
            _ => true,
        }
    }

    /// Starts to watch an area.
    fn watch(&mut self, planned: Planned) -> Area {
        let (mut means, mut fsid) = (Means::Fanotify, planned.fsid);
        if let Some(obstacle) = &planned.obstacle {
            means = Means::Unwatched(obstacle.clone());
        } else {
            match self.watch_with_fanotify(&planned) {
                Ok(in_events) => fsid = in_events,
                Err(refused) => means = self.watch_with_inotify(&planned, refused),
            }
        }
        Area { planned, means, fsid }
    }

    /// Watches the file system of an area, and returns its identity in events. Fails with the reason as text.
    fn watch_with_fanotify(&self, planned: &Planned) -> Result<u64, String> {
        let fanotify = self.fanotify.as_ref().map_err(Clone::clone)?;
        let dir = fsops::Dir::open(as_path(&planned.path));
        dir.and_then(|dir| fanotify.watch(&dir)).map_err(|error| fanotify_text(&error))
    }

    fn watch_with_inotify(&mut self, planned: &Planned, refused: String) -> Means {
        if self.inotify.is_none() {
            match inotify::Source::new() {
                Ok(source) => self.inotify = Some(source),
                Err(error) => return Means::Unwatched(fsops::io_text(&error)),
            }
        }
        let Some(inotify) = &mut self.inotify else { return Means::Unwatched(refused) };
        match inotify.watch_area(&planned.path, &self.areas.own) {
            Ok(dirs) => Means::Inotify(dirs, refused),
            Err(obstacle) => Means::Unwatched(obstacle),
        }
    }
}

/// Returns the reason why the watcher cannot watch a file system as a whole.
pub(super) fn fanotify_text(error: &io::Error) -> String {
    match error.raw_os_error() {
        Some(libc::EPERM) => "only root may watch whole file systems".into(),
        Some(libc::ENOSYS | libc::EINVAL) => "the kernel cannot watch whole file systems".into(),
        Some(libc::EXDEV) => {
            "it is a subvolume of btrfs, whose file system cannot be mounted as a whole".into()
        }
        Some(libc::ENODEV | libc::EOPNOTSUPP) => "its files have no handles".into(),
        _ => fsops::io_text(error),
    }
}
