//! Watches whole file systems with fanotify.
//!
//! An event identifies its directory by a handle. The watcher determines the path of a directory when the first event
//! arrives, to find out whether the directory is below a root, and again when a client asks. Another process may rename
//! the directory in between, so the watcher does not store paths in its notes. After the rename of a directory, the
//! watcher determines the places of all directories again.
//!
//! An event contains only one name of a file, but the file may have further names below a root. The watcher therefore
//! notes the inode in two cases: if a process changed the file through a name outside of the roots or, if there are
//! several roots, inside one, and if the kernel reports a new link count, which it does in an event without a name.

mod event;
mod links;
mod resolve;
mod root_paths;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use fsops::{Dir, EventQueue, Fanotify};
use libc::{
    FAN_ATTRIB, FAN_CLOSE_WRITE, FAN_CREATE, FAN_DELETE, FAN_MODIFY, FAN_MOVED_FROM, FAN_MOVED_TO,
    FAN_ONDIR, FAN_Q_OVERFLOW,
};
use rustix::io::Errno;

use self::event::{Event, Inode, Malformed};
use self::links::Links;
use self::resolve::Found;
pub(crate) use self::resolve::Resolver;
use self::root_paths::RootPaths;
use crate::area::Areas;
use crate::notes::Notes;

/// The events to watch. `FAN_MODIFY` reports a write at once. `FAN_CLOSE_WRITE` reports changes of a
/// mapped file, after its last mapping and descriptor are closed.
const MASK: u64 = FAN_CREATE
    | FAN_DELETE
    | FAN_MOVED_FROM
    | FAN_MOVED_TO
    | FAN_MODIFY
    | FAN_CLOSE_WRITE
    | FAN_ATTRIB
    | FAN_ONDIR;

/// Size of the buffer for events. It has room for several hundred events.
const BUFFER_BYTES: usize = 64 << 10;

/// Maximum number of waiting events, as [`Fanotify::waiting`] counts them: 64 MiB of events, or, before Linux 5.12,
/// about three million. The queue has no limit, and each event takes about twice as much memory in the kernel. A
/// process that changes files faster than the watcher can handle would otherwise fill the memory.
const MAX_WAITING: u64 = (64 << 20) / 24;

/// Number of buffers of events after which the watcher counts the waiting events again.
const READS_PER_CHECK: u64 = 64;

/// Maximum number of directories whose places the watcher remembers.
const MAX_PLACES: usize = 8192;

/// The place of a directory in relation to the roots.
#[derive(Debug)]
enum Place {
    /// Below a root. Contains the names of lop's own files in it.
    Inside(Vec<Vec<u8>>),
    /// Below a root, but the kernel cannot return the path because it is too long. Contains the path
    /// of a directory above it.
    Deep(Vec<u8>),
    /// Outside of the roots, or in a directory of lop itself.
    Outside,
}

/// The queue of events, and the places of directories.
#[derive(Debug)]
pub(crate) struct Source {
    fanotify: Fanotify,
    buffer: Vec<u8>,
    places: HashMap<Box<[u8]>, Place>,
    root_paths: RootPaths,
    links: Links,
    /// [`MAX_WAITING`], except in tests.
    pub(crate) max_waiting: u64,
}

impl Source {
    /// Creates a queue.
    pub(crate) fn new(queue: EventQueue) -> io::Result<Source> {
        let fanotify = Fanotify::new(queue)?;
        let (buffer, places) = (vec![0; BUFFER_BYTES], HashMap::new());
        let (root_paths, links) = (RootPaths::default(), Links::default());
        Ok(Source { fanotify, buffer, places, root_paths, links, max_waiting: MAX_WAITING })
    }

    /// Watches the file system of a directory, and returns its identity in events. Fails if this process cannot open
    /// its handles, and on FAT: there, a handle is valid only while the kernel caches the inode.
    pub(crate) fn watch(&self, dir: &Dir) -> io::Result<u64> {
        if dir.volume()?.is_fat() {
            return Err(Errno::OPNOTSUPP.into());
        }
        let (kind, handle) = dir.handle()?;
        resolve::open_handle(dir, kind, &handle)?;
        self.fanotify.watch_file_system(dir, MASK)
    }

    /// Returns whether this source still watches the file system of a directory.
    pub(crate) fn watches(&self, dir: &Dir) -> bool {
        self.fanotify.watches_file_system(dir)
    }

    /// Forgets the places of directories and the paths of roots, because the roots or mounts have changed.
    pub(crate) fn forget_places(&mut self) {
        self.places.clear();
        self.forget_root_paths();
    }

    /// Forgets the paths of roots. Another mount may have covered them for a moment while this source read them.
    pub(crate) fn forget_root_paths(&mut self) {
        self.root_paths.forget();
    }

    /// Reads all events that are waiting at the time of the call. Events that arrive later may stay in the queue.
    ///
    /// Returns whether the path of an area did not lead to its directory meanwhile. The notes may then lack changes of
    /// this area.
    ///
    /// # Errors
    ///
    /// Fails if it cannot read or handle events, for example because the process has too many open files, and if too
    /// many events are waiting. Events are then lost.
    pub(crate) fn drain(&mut self, areas: &mut Areas, notes: &mut Notes) -> io::Result<bool> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let result = self.read_waiting(&mut buffer, areas, notes);
        self.buffer = buffer;
        if result.is_err() {
            // The lost events may have moved directories and created links.
            self.forget_places();
            self.links = Links::default();
        }
        result
    }

    fn read_waiting(
        &mut self,
        buffer: &mut [u8],
        areas: &mut Areas,
        notes: &mut Notes,
    ) -> io::Result<bool> {
        let (mut left, mut reads) = (self.fanotify.waiting()?, 0_u64);
        let (mut is_outdated, mut lost) = (false, None);
        while left > 0 {
            if reads.is_multiple_of(READS_PER_CHECK) && lost.is_none() {
                let waiting = self.fanotify.waiting()?;
                if waiting > self.max_waiting {
                    (left, lost) = (waiting, Some(io::Error::other("too many events are waiting")));
                }
            }
            reads += 1;
            let length = match self.fanotify.read(buffer) {
                Ok(length) => length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            let mut resolver = Resolver::default();
            for event in event::parse(&buffer[..length]) {
                left = left.saturating_sub(1);
                // If an event is lost, the watcher discards all notes, so the remaining events do not matter.
                if lost.is_none() {
                    lost = self.handle(event, areas, &mut resolver, notes).err();
                }
            }
            is_outdated |= resolver.is_outdated();
        }
        lost.map_or(Ok(is_outdated), Err)
    }

    fn handle(
        &mut self,
        event: Result<Event<'_>, Malformed>,
        areas: &mut Areas,
        resolver: &mut Resolver,
        notes: &mut Notes,
    ) -> io::Result<()> {
        let event = event.map_err(|Malformed| io::ErrorKind::InvalidData)?;
        let has = |bits| event.mask & bits != 0;
        if has(FAN_Q_OVERFLOW) {
            return Err(io::Error::other("the kernel has discarded events"));
        }
        let Some((dir, name)) = event.name else {
            // The link count has changed, or the kernel does not know the name: an NFS server may open a file without
            // it.
            let is_written = has(FAN_MODIFY | FAN_CLOSE_WRITE);
            return match event.inode.filter(|_| !has(FAN_ONDIR)) {
                Some(file) => self.note_nameless(file, is_written, areas, resolver, notes),
                None => Ok(()),
            };
        };
        if name == b"." {
            // The event is about the directory itself. Changes of its entries cause further events.
            return Ok(());
        }
        let is_moved = has(FAN_MOVED_FROM | FAN_MOVED_TO);
        if has(FAN_ONDIR) && is_moved {
            self.places.clear();
        }
        if has(FAN_ONDIR) && (is_moved || has(FAN_CREATE | FAN_DELETE)) {
            for root in self.root_paths.changed(dir, name, areas) {
                areas.replace(&root, notes);
            }
        }
        let key = key_of(dir);
        let is_inside = match self.place(&key, dir, areas, resolver)? {
            Some(Place::Inside(own)) if own.iter().any(|own| own == name) => return Ok(()),
            Some(Place::Inside(_)) => {
                let is_new_dir = has(FAN_ONDIR) && has(FAN_CREATE | FAN_MOVED_TO);
                notes.name(&key, name, is_new_dir);
                true
            }
            Some(Place::Deep(above)) => {
                notes.tree(above);
                return Ok(());
            }
            Some(Place::Outside) | None => false,
        };
        let file = event.inode.filter(|_| !has(FAN_ONDIR));
        // The file may have further names below another root, which a scan may examine on its own.
        if let Some(file) = file.filter(|_| !is_inside || areas.roots.len() > 1) {
            if has(FAN_CREATE) {
                self.links.created(&key_of(file));
            }
            let is_written = has(FAN_MODIFY | FAN_CLOSE_WRITE);
            if is_written || has(FAN_ATTRIB | FAN_MOVED_TO) {
                self.note_names(file, is_written && !is_inside, areas, resolver, notes)?;
            }
        }
        Ok(())
    }

    /// Returns the place of a directory, or `None` if the directory is gone.
    fn place(
        &mut self,
        key: &[u8],
        dir: Inode<'_>,
        areas: &Areas,
        resolver: &mut Resolver,
    ) -> io::Result<Option<&Place>> {
        if !self.places.contains_key(key) {
            let place = match resolver.find(dir, areas)? {
                Found::Gone => return Ok(None),
                Found::Deep(above) if areas.is_inside(&above) => Place::Deep(above),
                Found::Deep(_) => Place::Outside,
                Found::Paths(paths) => match paths.first() {
                    Some(path) if !areas.own.contains_dir(path) => {
                        Place::Inside(areas.own.names_in(path))
                    }
                    _ => Place::Outside,
                },
            };
            if self.places.len() >= MAX_PLACES {
                self.places.clear();
            }
            self.places.insert(key.into(), place);
        }
        Ok(self.places.get(key))
    }

    /// Notes the file of an event without a name, if the file still has a name.
    fn note_nameless(
        &mut self,
        file: Inode<'_>,
        is_written: bool,
        areas: &Areas,
        resolver: &mut Resolver,
        notes: &mut Notes,
    ) -> io::Result<()> {
        if let Some(stat) = resolver.stat(file, areas)?.filter(|stat| stat.links > 0) {
            self.links.changed(&key_of(file), stat.links);
            notes.inode(stat.device, stat.inode, is_written);
        }
        Ok(())
    }

    /// Notes a file that has changed through one of its names, if it has several names.
    fn note_names(
        &mut self,
        file: Inode<'_>,
        is_counted: bool,
        areas: &Areas,
        resolver: &mut Resolver,
        notes: &mut Notes,
    ) -> io::Result<()> {
        let key = key_of(file);
        if self.links.is_single(&key) {
            return Ok(());
        }
        match resolver.stat(file, areas)? {
            Some(stat) if stat.links > 1 => notes.inode(stat.device, stat.inode, is_counted),
            Some(stat) if stat.links == 1 => self.links.add_single(&key),
            _ => {}
        }
        Ok(())
    }

    /// Returns the paths below the roots of the directory with a key. The list is empty if the directory is gone.
    ///
    /// # Errors
    ///
    /// Fails if it cannot find out whether the directory still exists.
    pub(crate) fn paths(
        key: &[u8],
        areas: &Areas,
        resolver: &mut Resolver,
    ) -> io::Result<Vec<Vec<u8>>> {
        let Some(inode) = inode_of(key) else { return Ok(Vec::new()) };
        let found = resolver.find(inode, areas)?;
        if resolver.is_outdated() {
            return Err(io::Error::other("the path of an area leads to another directory"));
        }
        match found {
            Found::Paths(paths) => Ok(paths),
            // A directory whose path has become too long was moved, and the watcher has noted its new place.
            Found::Gone | Found::Deep(_) => Ok(Vec::new()),
        }
    }
}

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fanotify.as_fd()
    }
}

/// The first byte of all keys of this source.
pub(crate) const KEY: u8 = b'f';

/// Returns the key of a directory for [`Notes`], or of a file for [`Links`].
fn key_of(dir: Inode<'_>) -> Vec<u8> {
    let [fsid, kind] = [&dir.fsid.to_ne_bytes()[..], &dir.kind.to_ne_bytes()];
    [&[KEY][..], fsid, kind, dir.handle].concat()
}

fn inode_of(key: &[u8]) -> Option<Inode<'_>> {
    let (fsid, rest) = key.get(1..)?.split_first_chunk()?;
    let (kind, handle) = rest.split_first_chunk()?;
    Some(Inode { fsid: u64::from_ne_bytes(*fsid), kind: i32::from_ne_bytes(*kind), handle })
}
