//! Updates the areas after changes of the mount table.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::Watcher;
use crate::area::{Area, Means, Plan, Planned};
use crate::inotify::{self, Refused};
use crate::paths::open_dir;

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
    /// or disappeared. Returns whether an area has changed.
    pub(super) fn update_areas(&mut self) -> bool {
        if let Ok(fanotify) = &mut self.fanotify {
            fanotify.forget_root_paths();
        }
        let Plan(planned) = Plan::make(&self.areas.roots);
        let old = std::mem::take(&mut self.areas.list);
        let is_kept = |area: &Area| planned.contains(&area.planned) && self.is_watched(area);
        let (kept, gone): (Vec<_>, Vec<_>) = old.into_iter().partition(is_kept);
        let is_new = |planned: &Planned| !kept.iter().any(|area| area.planned == *planned);
        let new: Vec<Planned> = planned.into_iter().filter(is_new).collect();
        self.areas.list = kept;
        if gone.is_empty() && new.is_empty() {
            return false;
        }
        self.forget(&gone);
        for planned in &new {
            let area = self.watch(planned.clone());
            self.areas.list.push(area);
        }
        self.areas.list.sort_by(|a, b| a.planned.path.cmp(&b.planned.path));
        if let Ok(fanotify) = &mut self.fanotify {
            fanotify.forget_places();
        }
        self.watch_uncovered(&gone);
        let changed: Vec<Planned> = gone.into_iter().map(|area| area.planned).chain(new).collect();
        self.note_changed(&changed);
        self.control.publish(self.watched());
        true
    }

    /// Tries again to watch the areas that the system has refused to watch.
    pub(super) fn retry_unwatched(&mut self) {
        let mut changed = Vec::new();
        for at in 0..self.areas.list.len() {
            let area = &self.areas.list[at];
            // A walk through an area that is too large takes long, and fails again.
            let is_too_large = area.needed.is_some_and(|needed| needed > inotify::watch_limit());
            if !area.is_watched() && area.planned.obstacle.is_none() && !is_too_large {
                let area = self.watch(area.planned.clone());
                changed.extend(area.is_watched().then(|| area.planned.clone()));
                self.areas.list[at] = area;
            }
        }
        if let Ok(fanotify) = &mut self.fanotify
            && !changed.is_empty()
        {
            fanotify.forget_places();
        }
        self.note_changed(&changed);
        self.control.publish(self.watched());
    }

    /// Removes the watches of areas. If a bind mount disappears, the remaining areas may contain the same directories,
    /// and the kernel has only one watch for each. These watches are moved to the remaining areas.
    fn forget(&mut self, gone: &[Area]) {
        let Some(inotify) = &mut self.inotify else { return };
        let is_inotify = |area: &&Area| matches!(area.means, Means::Inotify(..));
        let device = |area: &Area| area.planned.key.map(|key| key.device);
        for area in self.areas.list.iter().filter(is_inotify) {
            let mut others = gone.iter().filter(is_inotify);
            let shares = |other: &Area| {
                device(other) == device(area) && other.planned.mount != area.planned.mount
            };
            if others.any(shares) {
                // If this fails, the source has forgotten the area, and the next update finds this out.
                let _refused = inotify.watch_area(&area.planned.path, &self.areas.own);
            }
        }
        for area in gone {
            inotify.forget_area(&area.planned.path);
        }
    }

    /// Watches the directories that mounts have covered until now.
    fn watch_uncovered(&mut self, gone: &[Area]) {
        let Some(inotify) = &mut self.inotify else { return };
        for area in gone {
            let path = &area.planned.path;
            let Some(above) = self.areas.of_path(path) else { continue };
            if above.planned.path != *path && matches!(above.means, Means::Inotify(..)) {
                inotify.watch_uncovered(&above.planned.path, path, &self.areas.own);
            }
        }
    }

    /// Notes that everything in areas may have changed.
    fn note_changed(&mut self, changed: &[Planned]) {
        // If several mounts show a directory, a scan lists it under only one of its paths. If this path has
        // disappeared, the next scan must list the directory under another path, so the watcher notes the other mounts
        // of the file system.
        let shows_the_same = |area: &&Area| {
            let is_root = self.areas.roots.contains(&area.planned.path);
            !is_root && changed.iter().any(|planned| planned.fsid == area.planned.fsid)
        };
        for area in self.areas.list.iter().filter(shows_the_same) {
            self.notes.tree(&area.planned.path);
        }
        // If a mount shows a part of a root, a full scan determines under which of the paths it lists the part.
        let shows_a_part = |area: &&Area| {
            let others = changed.iter().filter(|planned| planned.path != area.planned.path);
            self.areas.roots.contains(&area.planned.path)
                && others.into_iter().any(|planned| planned.overlaps(&area.planned))
        };
        let shown =
            self.areas.list.iter().filter(shows_a_part).map(|area| area.planned.path.clone());
        for root in shown.collect::<Vec<_>>() {
            self.areas.replace(&root, &mut self.notes);
        }
        let paths: BTreeSet<&Vec<u8>> = changed.iter().map(|planned| &planned.path).collect();
        for path in paths {
            if self.areas.roots.contains(path) {
                self.areas.replace(path, &mut self.notes);
            }
            // This is also necessary for a root, because another root may contain it.
            self.notes.tree(path);
        }
    }

    /// Returns whether the watcher still watches an area. An unchanged plan does not prove this, because the kernel may
    /// give the id of a former mount to a new one.
    fn is_watched(&self, area: &Area) -> bool {
        match (&area.means, &self.fanotify) {
            (Means::Fanotify, Ok(fanotify)) => {
                let dir = open_dir(&area.planned.path);
                dir.is_ok_and(|dir| fanotify.watches(&dir))
            }
            _ => !self.has_lost(area),
        }
    }

    /// Returns whether the inotify source no longer has the watches of an area.
    pub(super) fn has_lost(&self, area: &Area) -> bool {
        let inotify = self.inotify.as_ref();
        matches!(area.means, Means::Inotify(..))
            && !inotify.is_some_and(|inotify| inotify.watches_area(&area.planned.path))
    }

    /// Starts to watch an area.
    fn watch(&mut self, planned: Planned) -> Area {
        let (fsid, mut needed) = (planned.fsid, None);
        if let Some(obstacle) = &planned.obstacle {
            let means = Means::Unwatched(obstacle.clone());
            return Area { planned, means, fsid, needed };
        }
        match self.watch_with_fanotify(&planned) {
            Ok(fsid) => Area { planned, means: Means::Fanotify, fsid, needed },
            Err(refused) => {
                let watched = self.watch_with_inotify(&planned);
                let means = match watched {
                    Ok(dirs) => Means::Inotify(dirs, refused),
                    Err(refused) => {
                        needed = refused.needed;
                        Means::Unwatched(refused.reason)
                    }
                };
                Area { planned, means, fsid, needed }
            }
        }
    }

    /// Watches the file system of an area, and returns its identity in events. Fails with the reason as text.
    fn watch_with_fanotify(&self, planned: &Planned) -> Result<u64, String> {
        let fanotify = self.fanotify.as_ref().map_err(Clone::clone)?;
        let dir = open_dir(&planned.path);
        dir.and_then(|dir| fanotify.watch(&dir)).map_err(|error| fanotify_text(&error))
    }

    /// Watches each directory of an area, and returns their number.
    fn watch_with_inotify(&mut self, planned: &Planned) -> Result<usize, Refused> {
        let source = match self.inotify.take() {
            Some(source) => Ok(source),
            None => inotify::Source::new(),
        };
        let source =
            source.map_err(|error| Refused { reason: fsops::io_text(&error), needed: None })?;
        self.inotify.insert(source).watch_area(&planned.path, &self.areas.own)
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
        Some(libc::ENODEV | libc::EOPNOTSUPP) => "its files have no permanent handles".into(),
        _ => fsops::io_text(error),
    }
}
