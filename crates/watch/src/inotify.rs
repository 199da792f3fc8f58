//! Watches each directory with inotify.
//!
//! An event contains the number of a watch and the name of an entry in its directory. A table of all watches gives the
//! paths. When a directory appears, the watcher adds its watch first and lists the directory afterwards. It notes the
//! directory as a different one than before, so a scan walks all of it, and finds the changes from the time before the
//! watch, too.
//!
//! When a process moves a directory, the watcher removes its watch, and those of the directories below it. If the
//! directory is still below a root, the watcher adds the watches again when it appears there. If the kernel discards
//! events, the table may be wrong, so the watcher adds all watches anew.

mod table;
mod walk;

use std::collections::HashMap;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use fsops::Stat;
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader};
use rustix::io::Errno;

use self::table::Table;
use crate::answer::Unknown;
use crate::area::{Areas, OwnPaths};
use crate::notes::Notes;
use crate::paths::as_path;

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

    /// Removes the watches of an area.
    pub(crate) fn forget_area(&mut self, path: &[u8]) {
        if let Some(top) = self.tops.remove(path) {
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
    /// Fails if it cannot read events.
    pub(crate) fn drain(&mut self, areas: &mut Areas, notes: &mut Notes) -> io::Result<()> {
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
                    notes.lose(Unknown::EventsLost);
                    *self = Source::new()?;
                    return Ok(());
                }
                self.handle(event, areas, notes);
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

    fn handle(&mut self, event: Event, areas: &mut Areas, notes: &mut Notes) {
        let Event { watch, bits, name } = event;
        let top = || self.tops.iter().find(|(_, top)| **top == watch).map(|(path, _)| path.clone());
        if bits.contains(ReadFlags::IGNORED) {
            // The directory no longer exists, or its file system is no longer mounted.
            if let Some(path) = top() {
                self.tops.remove(&path);
            }
            self.table.remove(watch);
            self.own.remove(&watch);
            return;
        }
        if !self.table.contains(watch) {
            return;
        }
        let Some(name) = name else {
            // If directories appeared while the root had another name, they may have no watches.
            if let Some(path) = top().filter(|_| bits.contains(ReadFlags::MOVE_SELF)) {
                areas.replace(&path, notes);
                self.forget_area(&path);
            }
            return;
        };
        if self.own.get(&watch).is_some_and(|names| names.contains(&name)) {
            return;
        }
        let is_dir = bits.contains(ReadFlags::ISDIR);
        let appears = bits.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO);
        // A directory that leaves may have been exchanged for another one, which then has the old name.
        let leaves = bits.contains(ReadFlags::MOVED_FROM);
        let is_new_dir = is_dir && (appears || leaves || bits.contains(ReadFlags::ATTRIB));
        if is_new_dir && !appears && !leaves && self.watches_child(watch, &name) {
            // Only the metadata of the directory has changed, and this user can still read it.
            return;
        }
        if is_dir
            && (leaves || appears)
            && let Some(child) = self.table.child(watch, &name)
        {
            self.forget_tree(child);
        }
        notes.name(&key_of(watch), &name, is_new_dir);
        if is_new_dir {
            self.watch_new(watch, &name, areas, notes);
        }
    }

    /// Watches a directory that has appeared, and the directories below it.
    fn watch_new(&mut self, parent: i32, name: &[u8], areas: &mut Areas, notes: &mut Notes) {
        let Some(path) = self.table.top(parent) else { return };
        let is_there = Stat::of_path(as_path(&path)).is_ok();
        if !is_there || self.watch_below(&path, Some((parent, name)), &areas.own).is_err() {
            // Before the next answer, `Watcher::update_areas` watches the area again or marks it as unwatched.
            areas.replace(&path, notes);
            self.forget_area(&path);
        }
    }

    /// Watches an area, and returns the number of its directories. Fails with the reason as text.
    pub(crate) fn watch_area(&mut self, path: &[u8], own: &OwnPaths) -> Result<usize, String> {
        let watched = self.watch_below(path, None, own);
        if watched.is_err() {
            self.forget_area(path);
        }
        watched
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
