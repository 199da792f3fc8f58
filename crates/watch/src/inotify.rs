//! Watches each directory with inotify.
//!
//! An event contains the number of a watch and the name of an entry in its directory. A table of all watches gives the
//! paths. When a directory appears, the watcher adds its watch first and lists the directory afterwards. It notes the
//! directory as a different one than before, so a scan walks all of it, and finds the changes from the time before the
//! watch, too.
//!
//! When a process moves a directory, or makes it unreadable, the watcher removes its watch, and those of the
//! directories below it. When the directory appears below a root or becomes readable again, the watcher adds the
//! watches again. If the kernel discards events, the table may be wrong, so the watcher closes the source and creates a
//! new one.

mod table;
mod walk;

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader};
use rustix::io::Errno;

use self::table::Table;
pub(crate) use self::walk::{Refused, watch_limit};
use crate::area::OwnPaths;
use crate::notes::Notes;

/// Size of the buffer for events. It has room for more than a thousand events.
const BUFFER_BYTES: usize = 64 << 10;

/// Size of an event without a name (`struct inotify_event` of linux/inotify.h).
const MIN_EVENT_BYTES: u64 = 16;

/// The first byte of all keys of this source.
const KEY: u8 = b'i';

/// An event of the kernel.
struct Event {
    watch: i32,
    bits: ReadFlags,
    name: Option<Vec<u8>>,
}

/// The watches of all areas that the watcher does not watch with fanotify.
#[derive(Debug)]
pub(crate) struct Source {
    fd: OwnedFd,
    buffer: Box<[MaybeUninit<u8>]>,
    table: Table,
    /// The watches of the top directories of areas, by path.
    tops: HashMap<Vec<u8>, i32>,
    /// Names of lop's own files, by the watch of their directory.
    own: HashMap<i32, Vec<Vec<u8>>>,
}

impl Source {
    /// Creates a source without watches.
    pub(crate) fn new() -> io::Result<Source> {
        let fd = rustix::fs::inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        let buffer = Box::new_uninit_slice(BUFFER_BYTES);
        let (tops, own) = (HashMap::new(), HashMap::new());
        Ok(Source { fd, buffer, table: Table::default(), tops, own })
    }

    /// Returns whether this source watches all of the area with the given top directory.
    pub(crate) fn watches_area(&self, path: &[u8]) -> bool {
        self.tops.contains_key(path)
    }

    /// Removes the watches of an area, except for directories that another area shows, too, because of a bind mount.
    pub(crate) fn forget_area(&mut self, path: &[u8]) {
        let top = self.tops.remove(path);
        if let Some(top) = top.filter(|&top| self.table.is_top(top, path)) {
            self.forget_tree(top);
        }
    }

    /// Returns the path of the directory with a key, or `None` if this source no longer watches it.
    pub(crate) fn path(&self, key: &[u8]) -> Option<Vec<u8>> {
        let watch = key.strip_prefix(&[KEY])?.try_into().ok()?;
        self.table.path(i32::from_ne_bytes(watch))
    }

    /// Reads all events that are waiting at the time of the call. Events that arrive later may stay in the queue.
    ///
    /// # Errors
    ///
    /// Fails if it cannot read events, or if the kernel has discarded some. Callers MUST then drop this source, because
    /// its table may be wrong.
    pub(crate) fn drain(&mut self, own: &OwnPaths, notes: &mut Notes) -> io::Result<()> {
        // This is an upper bound for the number of events, because events with names are longer.
        let mut left = rustix::io::ioctl_fionread(&self.fd)? / MIN_EVENT_BYTES;
        while left > 0 {
            let events = match self.read() {
                Ok(events) => events,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            left = left.saturating_sub(events.len() as u64);
            for event in events {
                if event.bits.contains(ReadFlags::QUEUE_OVERFLOW) {
                    return Err(io::Error::other("the kernel has discarded events"));
                }
                self.handle(event, own, notes);
            }
        }
        Ok(())
    }

    /// Reads some events.
    fn read(&mut self) -> Result<Vec<Event>, Errno> {
        let mut reader = Reader::new(&self.fd, &mut self.buffer);
        let mut events = Vec::new();
        loop {
            let event = reader.next()?;
            let name = event.file_name().map(|name| name.to_bytes().to_vec());
            events.push(Event { watch: event.wd(), bits: event.events(), name });
            if reader.is_buffer_empty() {
                return Ok(events);
            }
        }
    }

    fn handle(&mut self, event: Event, own: &OwnPaths, notes: &mut Notes) {
        let Event { watch, bits, name } = event;
        if bits.contains(ReadFlags::IGNORED) {
            // The directory no longer exists, or its file system is no longer mounted.
            self.tops.retain(|_, top| *top != watch);
            self.table.remove(watch);
            self.own.remove(&watch);
            return;
        }
        if !self.table.contains(watch) {
            return;
        }
        match name {
            Some(name) => self.handle_entry(watch, bits, &name, own, notes),
            // If directories appeared while the root had another name, they may have no watches. Before the next
            // answer, `Watcher::update_areas` watches the area again, or marks it as unwatched.
            None if bits.contains(ReadFlags::MOVE_SELF) => {
                let tops = self.tops.iter().filter(|(_, top)| **top == watch);
                let paths: Vec<_> = tops.map(|(path, _)| path.clone()).collect();
                for path in paths {
                    self.forget_area(&path);
                }
            }
            None => {}
        }
    }

    /// Handles an event of the entry `name` of a watched directory.
    fn handle_entry(
        &mut self,
        watch: i32,
        bits: ReadFlags,
        name: &[u8],
        own: &OwnPaths,
        notes: &mut Notes,
    ) {
        if self.own.get(&watch).is_some_and(|names| names.iter().any(|own| own == name)) {
            return;
        }
        // A directory that leaves may have been exchanged for another one, which then has the old name.
        let is_moved =
            bits.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO | ReadFlags::MOVED_FROM);
        let is_dir = bits.contains(ReadFlags::ISDIR);
        let is_new_dir = is_dir && (is_moved || bits.contains(ReadFlags::ATTRIB));
        if is_new_dir && !is_moved && self.watches_child(watch, name) {
            // Only the metadata of the directory has changed, and this user can still read it.
            return;
        }
        notes.name(&key_of(watch), name, is_new_dir);
        if is_new_dir {
            if let Some(child) = self.table.child(watch, name) {
                self.forget_tree(child);
            }
            self.watch_new(watch, name, own);
        }
    }

    /// Watches a directory that has appeared, and the directories below it.
    fn watch_new(&mut self, parent: i32, name: &[u8], own: &OwnPaths) {
        let Some((top, _)) = self.table.place(parent) else { return };
        if self.watch_below(&top, Some((parent, name)), own).is_err() {
            // Before the next answer, `Watcher::update_areas` watches the area again or marks it as unwatched.
            self.forget_area(&top);
        }
    }

    /// Watches an area, and returns the number of its directories.
    pub(crate) fn watch_area(&mut self, path: &[u8], own: &OwnPaths) -> Result<usize, Refused> {
        let mut watched = self.watch_below(path, None, own);
        if watched.is_ok() && !self.watches_area(path) {
            let reason = "it cannot be read, or contains only files of lop".to_owned();
            watched = Err(Refused { reason, needed: None });
        }
        if watched.is_err() {
            self.forget_area(path);
        }
        watched
    }

    /// Watches the directory at `path`, which a mount has covered until now, and the directories below it. It is below
    /// the top directory of the area at `area`.
    pub(crate) fn watch_uncovered(&mut self, area: &[u8], path: &[u8], own: &OwnPaths) {
        let Some(&top) = self.tops.get(area) else { return };
        let area = area.strip_suffix(b"/").unwrap_or(area);
        let below = path.strip_prefix(area).unwrap_or_default();
        let mut names = below.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        let Some(name) = names.next_back() else { return };
        // If a directory in between has no watch, this user cannot read it, or events are waiting that lead to it.
        if let Some(parent) = names.try_fold(top, |parent, name| self.table.child(parent, name)) {
            self.watch_new(parent, name, own);
        }
    }

    /// Removes a watch, and those of the directories below.
    fn forget_tree(&mut self, top: i32) {
        for watch in self.table.remove_tree(top) {
            self.own.remove(&watch);
            // If the directory is gone, the kernel has already removed its watch.
            let _gone = rustix::fs::inotify::remove_watch(&self.fd, watch);
        }
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Returns the key of a directory for [`Notes`].
fn key_of(watch: i32) -> [u8; 5] {
    let [a, b, c, d] = watch.to_ne_bytes();
    [KEY, a, b, c, d]
}
