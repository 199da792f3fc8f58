//! Adds watches for a directory and everything below it on the same mount.

use std::collections::HashSet;
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use fsops::{Dir, DirBuffer, Kind, Mounts};
use runtime::quantity::{count, counted};
use rustix::fs::inotify::{WatchFlags, add_watch};
use rustix::io::Errno;

use super::Source;
use crate::area::OwnPaths;
use crate::paths::{as_path, joined};

/// The events to watch: those that the fanotify source watches, and the events of the directory itself.
const EVENTS: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::DELETE_SELF);

/// The file with the maximum number of watches of a user.
const LIMIT: &str = "/proc/sys/fs/inotify/max_user_watches";

/// A directory that needs a watch.
struct Waiting {
    /// Its path below the top directory of the area.
    below: Vec<u8>,
    /// The watch of its parent. `None` for the top directory, and if the parent has no watch.
    parent: Option<i32>,
}

impl Source {
    /// Watches the entry `start` of a watched directory, or the whole area with the top directory
    /// `top`, and returns the number of directories. Leaves out directories that this user cannot read,
    /// because a scan cannot read them either.
    ///
    /// Fails with the reason as text if it cannot open the top directory or add a watch, or if the area has more
    /// directories than a user may watch.
    pub(super) fn watch_below(
        &mut self,
        top: &[u8],
        start: Option<(i32, &[u8])>,
        own: &OwnPaths,
    ) -> Result<usize, String> {
        let text = |error: io::Error| fsops::io_text(&error);
        let top_dir = Dir::open(as_path(top)).map_err(text)?;
        let mount = top_dir.stat().map_err(text)?.mount;
        let start = match start {
            None => Waiting { below: Vec::new(), parent: None },
            Some((parent, name)) => match self.table.path_below_top(parent) {
                Some(path) => Waiting { below: below(&path, name), parent: Some(parent) },
                None => return Ok(0),
            },
        };
        // The walk does not open mount points, because a mount may not respond. It does not read the
        // mount table for a directory that has just appeared, because it hardly ever contains a mount.
        let mounts = if start.below.is_empty() { mounts_below(top) } else { HashSet::new() };
        let (mut stack, mut buffer) = (vec![start], DirBuffer::default());
        let (mut dirs, mut is_full) = (0, false);
        while let Some(next) = stack.pop() {
            let path = if next.below.is_empty() { top.to_vec() } else { joined(top, &next.below) };
            if own.contains_dir(&path) || mounts.contains(&path) {
                continue;
            }
            // The directory may be gone or unreadable.
            let Ok(dir) = open(&top_dir, &next.below) else { continue };
            if dir.stat().map_or(true, |stat| stat.mount != mount) {
                continue;
            }
            dirs += 1;
            let mut watch = None;
            if !is_full {
                match self.add(&dir, &next, top, own.names_in(&path)) {
                    Ok(added) => watch = added,
                    // The walk continues without watches, to count the directories for the message.
                    Err(Errno::NOSPC) => is_full = true,
                    Err(error) => return Err(text(error.into())),
                }
            }
            let children = subdirs(&dir, &mut buffer).into_iter();
            stack.extend(
                children.map(|name| Waiting { below: below(&next.below, &name), parent: watch }),
            );
        }
        if is_full { Err(too_many(dirs)) } else { Ok(dirs) }
    }

    /// Returns whether this user can read the subdirectory `name` of a watched directory, and the table
    /// contains its watch.
    pub(super) fn watches_child(&self, parent: i32, name: &[u8]) -> bool {
        let (Some(top), Some(path)) = (self.table.top(parent), self.table.path_below_top(parent))
        else {
            return false;
        };
        let dir = Dir::open(as_path(&top)).and_then(|top| open(&top, &below(&path, name)));
        // If the directory has a watch, the kernel returns it instead of adding another one.
        let watch = dir.ok().and_then(|dir| add_watch(&self.fd, descriptor(&dir), EVENTS).ok());
        watch.is_some_and(|watch| self.table.is_child(watch, parent, name))
    }

    /// Adds the watch of a directory. Returns `None` if the directory is gone or this user cannot read it.
    fn add(
        &mut self,
        dir: &Dir,
        waiting: &Waiting,
        top: &[u8],
        own: Vec<Vec<u8>>,
    ) -> Result<Option<i32>, Errno> {
        let watch = match add_watch(&self.fd, descriptor(dir), EVENTS) {
            Ok(watch) => watch,
            Err(Errno::ACCESS | Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error),
        };
        if waiting.below.is_empty() {
            self.tops.insert(top.to_vec(), watch);
            self.table.add(watch, None, top);
        } else {
            let name = waiting.below.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
            self.table.add(watch, waiting.parent, name);
        }
        if !own.is_empty() {
            self.own.insert(watch, own);
        }
        Ok(Some(watch))
    }
}

/// Returns a short path that leads to an open directory through its descriptor. It works however long
/// the path of the directory is, and follows no other link.
fn descriptor(dir: &Dir) -> String {
    format!("/proc/self/fd/{}", dir.as_fd().as_raw_fd())
}

/// Returns the mount points below a path.
fn mounts_below(path: &[u8]) -> HashSet<Vec<u8>> {
    Mounts::read().points_below(path).map(<[u8]>::to_vec).collect()
}

fn open(top: &Dir, below: &[u8]) -> io::Result<Dir> {
    if below.is_empty() { top.open_child(c".") } else { top.open_below(below) }
}

fn below(dir: &[u8], name: &[u8]) -> Vec<u8> {
    if dir.is_empty() { name.to_vec() } else { joined(dir, name) }
}

/// Returns the names of the subdirectories, up to the first error.
fn subdirs(dir: &Dir, buffer: &mut DirBuffer) -> Vec<Vec<u8>> {
    let (mut found, mut unknown): (_, Vec<CString>) = (Vec::new(), Vec::new());
    // An error ends the list. This function ignores it, because a scan reports it.
    let _unread = dir.for_each(buffer, |item| match item.kind {
        Kind::Dir => found.push(item.name.to_bytes().to_vec()),
        Kind::Unknown => unknown.push(item.name.to_owned()),
        _ => {}
    });
    for name in unknown {
        if dir.stat_child(&name).is_ok_and(|stat| stat.kind == Kind::Dir) {
            found.push(name.into_bytes());
        }
    }
    found
}

/// Returns the message for a limit that is too low, with the command that raises it.
fn too_many(dirs: usize) -> String {
    let dirs = dirs as u64;
    let limit = fs::read_to_string(LIMIT).ok().and_then(|text| text.trim().parse().ok());
    let limit: u64 = limit.unwrap_or(0);
    let needed = counted(dirs, "directory needs a watch", "directories need a watch each");
    format!(
        "{needed}, and the limit fs.inotify.max_user_watches is {}; raise it with \
         'sysctl fs.inotify.max_user_watches={}'",
        count(limit),
        (limit + dirs).next_multiple_of(65_536)
    )
}
