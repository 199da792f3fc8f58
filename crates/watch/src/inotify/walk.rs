//! Adds watches for a directory and everything below it on the same mount.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use fsops::{Dir, DirBuffer, Kind};
use runtime::quantity::{count, counted};
use rustix::fs::inotify::{WatchFlags, add_watch, remove_watch};
use rustix::io::Errno;

use super::Source;
use crate::area::OwnPaths;
use crate::paths::{as_path, joined, open_dir};

/// The events to watch: those that the fanotify source watches. If the kernel already watches a directory, for example
/// as the top directory of an area, these events do not replace the others.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MASK_ADD);

/// The file with the maximum number of watches of a user.
const LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";

/// The reason why the watcher does not watch an area.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) reason: String,
    /// The number of directories, if the user may not have as many watches.
    pub(crate) needed: Option<u64>,
}

impl Refused {
    fn new(path: &[u8], error: &io::Error) -> Refused {
        let reason = format!("cannot watch {}: {}", as_path(path).display(), fsops::io_text(error));
        Refused { reason, needed: None }
    }
}

/// A directory that needs a watch.
struct Waiting {
    /// Its path below the top directory of the area.
    below: Vec<u8>,
    /// The watch of its parent. `None` for the top directory, and if the user may not have more watches.
    parent: Option<i32>,
}

impl Source {
    /// Watches the entry `start` of a watched directory, or the whole area with the top directory
    /// `top`, and returns the number of directories. Leaves out directories that this user cannot read,
    /// because a scan cannot read them either.
    ///
    /// Fails if it cannot open the top directory, list a directory or add a watch, or if the area has more directories
    /// than a user may watch.
    pub(super) fn watch_below(
        &mut self,
        top: &[u8],
        start: Option<(i32, &[u8])>,
        own: &OwnPaths,
    ) -> Result<usize, Refused> {
        let top_dir = open_top(top).map_err(|error| Refused::new(top, &error))?;
        if start.is_some() && !self.is_top(&top_dir, top) {
            return Err(Refused::new(top, &Errno::NOENT.into()));
        }
        let start = match start {
            None => Waiting { below: Vec::new(), parent: None },
            Some((parent, name)) => match self.table.place(parent) {
                Some((_, path)) => Waiting { below: below(&path, name), parent: Some(parent) },
                None => return Ok(0),
            },
        };
        let (mut stack, mut buffer) = (vec![start], DirBuffer::default());
        let (mut dirs, mut is_full) = (0, false);
        while let Some(next) = stack.pop() {
            let path = if next.below.is_empty() { top.to_vec() } else { joined(top, &next.below) };
            let failed = |error: io::Error| Refused::new(&path, &error);
            if own.contains_dir(&path) {
                continue;
            }
            let Some(dir) = open(&top_dir, &next.below).map_err(failed)? else { continue };
            let added = if is_full {
                Err(Errno::NOSPC)
            } else {
                self.add(&dir, &next, top, own.names_in(&path))
            };
            let watch = match added {
                Ok(Some(watch)) => Some(watch),
                Ok(None) => continue,
                // The walk continues without watches, to count the directories for the message.
                Err(Errno::NOSPC) => None,
                Err(error) => return Err(failed(error.into())),
            };
            is_full = watch.is_none();
            dirs += 1;
            let children = subdirs(&dir, &mut buffer).map_err(failed)?.into_iter();
            stack.extend(
                children.map(|name| Waiting { below: below(&next.below, &name), parent: watch }),
            );
        }
        if is_full { Err(too_many(dirs)) } else { Ok(dirs) }
    }

    /// Returns whether this user can read the subdirectory `name` of a watched directory, and the table
    /// contains its watch.
    pub(super) fn watches_child(&self, parent: i32, name: &[u8]) -> bool {
        let Some((top, path)) = self.table.place(parent) else { return false };
        let dir = open_top(&top).and_then(|top| open(&top, &below(&path, name)));
        // If the directory has a watch, the kernel returns it instead of adding another one.
        let watch =
            dir.ok().flatten().and_then(|dir| add_watch(&self.fd, descriptor(&dir), EVENTS).ok());
        watch.is_some_and(|watch| self.table.is_child(watch, parent, name))
    }

    /// Returns whether a directory is the top directory of the area at `top`. While a process has renamed a directory
    /// above it, the path may lead to another directory.
    fn is_top(&self, dir: &Dir, top: &[u8]) -> bool {
        // If the directory has a watch, the kernel returns it instead of adding another one.
        let Ok(watch) = add_watch(&self.fd, descriptor(dir), EVENTS) else { return false };
        let is_top = self.tops.get(top) == Some(&watch);
        if !is_top && !self.table.contains(watch) {
            let _gone = remove_watch(&self.fd, watch);
        }
        is_top
    }

    /// Adds the watch of a directory. Returns `None` if the directory is gone, if this user cannot read it, or if the
    /// table is outdated.
    fn add(
        &mut self,
        dir: &Dir,
        waiting: &Waiting,
        top: &[u8],
        own: Vec<Vec<u8>>,
    ) -> Result<Option<i32>, Errno> {
        let is_top = waiting.below.is_empty();
        let events = if is_top { EVENTS | WatchFlags::MOVE_SELF } else { EVENTS };
        let watch = match add_watch(&self.fd, descriptor(dir), events) {
            Ok(watch) => watch,
            Err(Errno::ACCESS | Errno::NOENT) if !is_top => return Ok(None),
            Err(error) => return Err(error),
        };
        let name = waiting.below.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
        if !self.table.add(watch, waiting.parent, if is_top { top } else { name }) {
            self.forget_tree(watch);
            return Ok(None);
        }
        if is_top {
            self.tops.insert(top.to_vec(), watch);
        }
        self.own.remove(&watch);
        if !own.is_empty() {
            self.own.insert(watch, own);
        }
        Ok(Some(watch))
    }
}

/// Returns the maximum number of watches of a user, or 0 if it is unknown.
pub(crate) fn watch_limit() -> u64 {
    let limit = fs::read_to_string(LIMIT).ok().and_then(|text| text.trim().parse().ok());
    limit.unwrap_or(0)
}

/// Returns a short path that leads to an open directory through its descriptor. It works however long
/// the path of the directory is, and follows no other link.
fn descriptor(dir: &Dir) -> String {
    format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd())
}

/// Opens the top directory of an area. Fails if this user cannot search it.
fn open_top(path: &[u8]) -> io::Result<Dir> {
    open_dir(path)?.open_child(c".")
}

/// Opens a directory below the top directory of an area. Returns `None` if it is gone, if another file system is
/// mounted on it, which may not respond, or if this user cannot list it and search it.
fn open(top: &Dir, below: &[u8]) -> io::Result<Option<Dir>> {
    let opened =
        if below.is_empty() { top.open_child(c".") } else { top.open_below_same_mount(below) };
    // If the user cannot search a directory, the watcher must notice when the user can, because it has to watch the
    // subdirectories then.
    let opened = opened.and_then(|dir| dir.stat_child(c".").map(|_| dir));
    match opened {
        Ok(dir) => Ok(Some(dir)),
        Err(error) if is_left_out(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether an error means that a directory is not part of the area, or that a scan cannot read it either.
fn is_left_out(error: &io::Error) -> bool {
    let is_mount = error.raw_os_error() == Some(libc::EXDEV);
    fsops::is_gone(error) || is_mount || error.kind() == io::ErrorKind::PermissionDenied
}

fn below(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { joined(dir, name) }
}

/// Returns the names of the subdirectories. If the directory is removed in the meantime, some may be missing.
fn subdirs(dir: &Dir, buffer: &mut DirBuffer) -> io::Result<Vec<Vec<u8>>> {
    let (mut found, mut unknown): (_, Vec<CString>) = (Vec::new(), Vec::new());
    let listed = dir.for_each(buffer, |item| match item.kind {
        Kind::Dir => found.push(item.name.to_bytes().to_vec()),
        Kind::Unknown => unknown.push(item.name.to_owned()),
        _ => {}
    });
    for name in unknown {
        match dir.stat_child(&name) {
            Ok(stat) if stat.kind == Kind::Dir => found.push(name.into_bytes()),
            Err(error) if !is_left_out(&error) => return Err(error),
            _ => {}
        }
    }
    match listed {
        Err(error) if !is_left_out(&error) => Err(error),
        _ => Ok(found),
    }
}

/// Returns the message for a limit that is too low, with the command that raises it.
fn too_many(dirs: usize) -> Refused {
    let (dirs, limit) = (dirs as u64, watch_limit());
    let needed = counted(dirs, "directory needs a watch", "directories need a watch each");
    let reason = format!(
        "{needed}, and the limit fs.inotify.max_user_watches is {}; raise it with \
         'sysctl fs.inotify.max_user_watches={}'",
        count(limit),
        (limit + dirs).next_multiple_of(65_536)
    );
    Refused { reason, needed: Some(dirs) }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::is_left_out;

    #[test]
    fn only_directories_that_a_scan_cannot_read_are_left_out() {
        let is_left_out = |&number: &i32| is_left_out(&io::Error::from_raw_os_error(number));
        let left_out = [libc::EACCES, libc::ENOENT, libc::ENOTDIR, libc::ELOOP, libc::EXDEV];
        assert!(left_out.iter().all(is_left_out));
        let unknown = [libc::EIO, libc::ENOMEM, libc::EMFILE, libc::ENFILE, libc::ENAMETOOLONG];
        assert!(!unknown.iter().any(is_left_out));
    }
}
