//! Lists one directory. Stores the names of subdirectories and the records of regular files, and
//! counts all other entries.

use std::ffi::{CStr, CString};
use std::io;
use std::sync::atomic::Ordering::Relaxed;

use device::{Disk, WaitMeter};
use fsops::{Dir, DirBuffer, DirItem, FileKey, Kind, Op, Stat, Volume};
use runtime::Progress;

use crate::engine::changes::Names;
use crate::filter::own::OwnFiles;
use crate::filter::system::is_system_dir;
use crate::filter::{Filter, QUARANTINE_PREFIX};
use crate::tree::records::{DirId, FileRecord, Note, Problem, Reason, push_component, to_u32};
use crate::tree::store::{Store, skip_kind};

/// An automount point, identified by its directory and name.
#[derive(Clone, Debug)]
pub(crate) struct Automount {
    pub(crate) dir: FileKey,
    pub(crate) name: Vec<u8>,
}

/// The directory being listed.
pub(crate) struct Listing<'a> {
    pub(crate) filter: &'a Filter,
    pub(crate) own: &'a OwnFiles,
    pub(crate) automounts: &'a [Automount],
    pub(crate) id: DirId,
    pub(crate) dir: &'a Dir,
    pub(crate) stat: &'a Stat,
    /// The directory's file system.
    pub(crate) volume: Volume,
    /// The names to look up; `None` to list the directory.
    pub(crate) names: Option<Names<'a>>,
    /// The path of the directory below the root, if the filter needs paths.
    pub(crate) below_root: Option<Vec<u8>>,
    /// Function that returns the printed path of the directory.
    pub(crate) path: &'a dyn Fn() -> Vec<u8>,
    pub(crate) visitor: Option<&'a dyn Visitor>,
    pub(crate) disk: &'a Disk,
    /// Returns whether all other workers are idle and no other directory waits.
    pub(crate) is_last: &'a dyn Fn() -> bool,
    pub(crate) progress: &'a Progress,
}

/// Number of entries after which the clock is read again, and the progress is updated. On a cold disk,
/// an entry may take 10 ms, so a wait or a request to stop is noticed after 160 ms. On a warm disk,
/// reading the clock every 16 entries costs little.
const CLOCK_INTERVAL: u64 = 16;

/// Number of entries of a directory that its worker always examines itself. If this directory is then
/// the only work left, the remaining files are deferred, so that all workers examine them.
const OWN_ENTRIES: u64 = 256;

/// Maximum number of files that a worker defers for this reason. They take 20 MiB until their metadata
/// is known.
const MAX_SHARED: usize = 1 << 20;

/// Examines files while their directory is open.
pub trait Visitor: Sync {
    /// Called at most once per file, from any worker. The return value is stored in
    /// [`crate::Tree::notes`].
    ///
    /// Files on disks that are known to be cold are not visited, because it is faster to read their
    /// contents once all files are known.
    fn file(&self, dir: &Dir, name: &CStr, stat: &Stat) -> Note;
}

impl Listing<'_> {
    /// Lists the directory into `store`.
    ///
    /// # Errors
    ///
    /// Fails if the directory could not be listed to the end, for example with
    /// [`io::ErrorKind::Interrupted`] if a stop was requested. `store` then contains the entries found
    /// before the error.
    pub(crate) fn run(
        &self,
        buffer: &mut DirBuffer,
        store: &mut Store,
        meter: &mut WaitMeter<'_>,
    ) -> io::Result<()> {
        let mut counted = (store.entries, store.bytes);
        if let Some(names) = self.names {
            let looked_up = self.look_up(names, store, meter);
            self.count(store, &mut counted);
            return looked_up;
        }
        let own_entries = store.entries + OWN_ENTRIES;
        let (mut is_stopped, mut is_shared) = (false, false);
        let listed = self.dir.for_each(buffer, |item| {
            if is_stopped {
                return;
            }
            self.entry(&item, is_shared, store);
            if store.entries.is_multiple_of(CLOCK_INTERVAL) {
                meter.tick();
                self.count(store, &mut counted);
                is_stopped = self.progress.poll_stop();
                is_shared = store.entries >= own_entries
                    && store.children.is_empty()
                    && store.deferred.len() < MAX_SHARED
                    && (self.is_last)();
            }
        });
        self.count(store, &mut counted);
        if is_stopped { Err(io::ErrorKind::Interrupted.into()) } else { listed }
    }

    /// Adds the new entries and bytes of `store` to the progress. `counted` has those added before.
    fn count(&self, store: &Store, counted: &mut (u64, u64)) {
        self.progress.entries.fetch_add(store.entries - counted.0, Relaxed);
        self.progress.bytes_seen.fetch_add(store.bytes - counted.1, Relaxed);
        *counted = (store.entries, store.bytes);
    }

    /// Examines an entry. If the directory `is_shared` with other workers, defers files.
    fn entry(&self, item: &DirItem<'_>, is_shared: bool, store: &mut Store) {
        store.entries += 1;
        let (kind, stat) = match item.kind {
            Kind::Unknown => match self.dir.stat_child(item.name) {
                Ok(stat) => (stat.kind, Some(stat)),
                Err(e) => return self.problem(item.name, Op::Stat, e, store),
            },
            kind => (kind, None),
        };
        // On a cold disk, parallel or sorted queries are faster than one query at a time.
        if kind == Kind::File && stat.is_none() && (is_shared || self.disk.is_cold()) {
            return self.defer_file(item, store);
        }
        self.examine(item.name, item.inode, kind, stat, store);
    }

    fn examine(&self, name: &CStr, inode: u64, kind: Kind, stat: Option<Stat>, store: &mut Store) {
        match kind {
            Kind::Dir => {
                if self.enters(name, store) {
                    store.children.extend_from_slice(name.to_bytes_with_nul());
                    store.child_inodes.push(inode);
                }
            }
            Kind::File => self.file(name, stat, store),
            other => skip_kind(other, &mut store.skipped),
        }
    }

    /// Examines single entries without listing the directory. Records their names, even of entries that do not
    /// exist.
    fn look_up(
        &self,
        names: Names<'_>,
        store: &mut Store,
        meter: &mut WaitMeter<'_>,
    ) -> io::Result<()> {
        for bytes in names.iter() {
            if store.entries.is_multiple_of(CLOCK_INTERVAL) {
                meter.tick();
                if self.progress.poll_stop() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
            }
            // A name of a directory entry contains no NUL.
            let Ok(name) = CString::new(bytes) else { continue };
            store.entries += 1;
            store.looked_up.push((self.id, bytes.into()));
            match self.dir.stat_child(&name) {
                Ok(stat) => self.examine(&name, stat.inode, stat.kind, Some(stat), store),
                Err(e) if fsops::is_gone(&e) => {}
                Err(e) => self.problem(&name, Op::Stat, e, store),
            }
        }
        Ok(())
    }

    fn file(&self, name: &CStr, stat: Option<Stat>, store: &mut Store) {
        if self.is_own(name) || !self.takes(name, false, store) {
            return;
        }
        let stat = match stat.map_or_else(|| self.dir.stat_child(name), Ok) {
            Ok(stat) => stat,
            Err(e) => return self.problem(name, Op::Stat, e, store),
        };
        if stat.kind != Kind::File {
            return skip_kind(stat.kind, &mut store.skipped);
        }
        // A few sparse files of 8 EiB each would be enough to overflow the sum of the sizes.
        store.bytes = store.bytes.saturating_add(stat.size);
        let volume = || {
            let elsewhere = stat.device != self.stat.device;
            if elsewhere { self.dir.child_volume(name).ok() } else { Some(self.volume) }
        };
        if !self.filter.takes_size(stat.size, volume, &mut store.skipped) {
            return store.skipped_names.add_file(self.id, name.to_bytes(), &stat);
        }
        let Some(at) = store.keep_name(name) else {
            return self.problem(name, Op::List, io::ErrorKind::OutOfMemory.into(), store);
        };
        let record = store.record(&stat, self.id, at);
        if stat.device == self.stat.device {
            if let Some(visitor) = self.visitor.filter(|_| !self.disk.is_cold()) {
                store.notes.resize(store.files.len(), Note::default());
                store.notes.push(visitor.file(self.dir, name, &stat));
            }
            store.files.push(record);
        } else {
            store.strays.push((stat.device, record));
        }
    }

    /// Records a file by its name and defers the query for its metadata.
    fn defer_file(&self, item: &DirItem<'_>, store: &mut Store) {
        if self.is_own(item.name) || !self.takes(item.name, false, store) {
            return;
        }
        let Some(name) = store.keep_name(item.name) else {
            let full = io::ErrorKind::OutOfMemory.into();
            return self.problem(item.name, Op::List, full, store);
        };
        store.deferred.push(to_u32(store.files.len()));
        let inode = item.inode;
        let dir = self.id;
        store.files.push(FileRecord { size: 0, inode, mtime_ns: 0, ctime_ns: 0, dir, name });
    }

    /// Returns whether to list a directory. Counts it as skipped if not.
    fn enters(&self, name: &CStr, store: &mut Store) -> bool {
        let name_bytes = name.to_bytes();
        if self.is_own(name) {
            return false;
        }
        if !self.filter.system_dirs && is_system_dir(name_bytes, || (self.path)()) {
            store.skipped.system_dirs += 1;
            store.skipped_names.add(self.id, name_bytes);
            return false;
        }
        if self.automounts.iter().any(|a| a.name == name_bytes && a.dir == self.stat.key()) {
            store.skipped.pseudo_file_systems += 1;
            store.skipped_names.add(self.id, name_bytes);
            return false;
        }
        self.takes(name, true, store)
    }

    fn takes(&self, name: &CStr, is_dir: bool, store: &mut Store) -> bool {
        let name = name.to_bytes();
        let path = self.below_root.as_ref().map(|dir| {
            let mut path = dir.clone();
            push_component(&mut path, name);
            path
        });
        let takes = self.filter.takes_name(name, path.as_deref(), is_dir, &mut store.skipped);
        if !takes {
            store.skipped_names.add(self.id, name);
            if name.starts_with(QUARANTINE_PREFIX.as_bytes()) {
                store.stores.push(self.path_of(name));
            }
        }
        takes
    }

    fn is_own(&self, name: &CStr) -> bool {
        self.own.has(self.stat.key(), name.to_bytes())
    }

    fn problem(&self, name: &CStr, op: Op, source: io::Error, store: &mut Store) {
        if source.kind() != io::ErrorKind::NotFound {
            store.skipped_names.add(self.id, name.to_bytes());
        }
        let path = self.path_of(name.to_bytes());
        store.problems.push(Problem { path, reason: Reason::Failed { op, source } });
    }

    /// Returns the printed path of an entry.
    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let mut path = (self.path)();
        push_component(&mut path, name);
        path
    }
}
