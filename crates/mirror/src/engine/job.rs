//! One mirroring, and what the workers at it share.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use device::{Disk, Queue};
use fsops::{Dir, Volume};
use runtime::Progress;
use wire::Summary;

use crate::engine::extraneous::Extraneous;
use crate::engine::task::Task;
use crate::hardlinks::groups::LinkGroups;
use crate::hardlinks::inode_set::InodeSet;
use crate::model::change::Change;
use crate::model::metadata_support::SupportByDevice;
use crate::model::ownership::Privileges;
use crate::model::temp_name::TempNames;
use crate::remote::receiver::session::Session;
use crate::reuse::contents::ContentIndex;
use crate::roots::Roots;
use crate::{OnChange, Options};

/// One mirroring.
pub(crate) struct Job<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) options: &'a Options,
    pub(crate) progress: &'a Progress,
    pub(crate) on_change: Option<OnChange<'a>>,
    pub(crate) privileges: Privileges,
    /// The temporary names of this run.
    pub(crate) temp_names: TempNames,
    pub(crate) queue: Queue<Task>,
    pub(crate) link_groups: LinkGroups,
    pub(crate) claimed_inodes: InodeSet,
    /// Held by who begins another copy of a file that has too many names.
    pub(crate) second_copy_lock: Mutex<()>,
    /// Workers that have room for bytes on their way.
    pub(crate) large_buffers: AtomicUsize,
    /// Contents of which the source has said the digests.
    pub(crate) contents: ContentIndex,
    /// Whether files of the destination can share extents, once that was tried.
    pub(crate) dest_clones: OnceLock<bool>,
    /// Directories that were given their names.
    pub(crate) published_dirs: AtomicU64,
    /// What has come of it so far, if somebody wants to know meanwhile.
    pub(crate) running_totals: Option<&'a Mutex<Summary>>,
    /// Where the source is, if that is another host.
    pub(crate) remote: Option<Arc<Session>>,
    /// What the file systems of the destination keep of metadata.
    pub(crate) support: SupportByDevice,
    /// Files that were put off and not copied yet.
    pub(crate) deferred_files: AtomicUsize,
    /// There was a trial of the source's disk.
    pub(crate) is_disk_probed: AtomicBool,
    extraneous: Mutex<Extraneous>,
    volumes: Mutex<HashMap<u64, Volume>>,
    pub(crate) disk: Arc<Disk>,
}

impl<'a> Job<'a> {
    pub(crate) fn new(
        roots: &'a Roots,
        options: &'a Options,
        progress: &'a Progress,
        on_change: Option<OnChange<'a>>,
        start: Task,
        device: u64,
        remote: Option<Arc<Session>>,
    ) -> Job<'a> {
        Job {
            roots,
            options,
            progress,
            on_change,
            privileges: Privileges::of_process(),
            temp_names: TempNames::new(),
            queue: Queue::new(start),
            link_groups: LinkGroups::default(),
            claimed_inodes: InodeSet::default(),
            second_copy_lock: Mutex::default(),
            large_buffers: AtomicUsize::new(0),
            contents: ContentIndex::default(),
            dest_clones: OnceLock::new(),
            published_dirs: AtomicU64::new(0),
            running_totals: None,
            remote,
            support: SupportByDevice::default(),
            deferred_files: AtomicUsize::new(0),
            is_disk_probed: AtomicBool::new(false),
            extraneous: Mutex::default(),
            volumes: Mutex::default(),
            disk: options.disks.of(device),
        }
    }
}

impl Job<'_> {
    /// Returns whether to go by the order of the source's disk rather than by that of the tree: if it has an
    /// arm, or that is to be found out.
    pub(crate) fn uses_disk_order(&self) -> bool {
        let disk = &self.disk;
        let is_open =
            || disk.is_auto() && !disk.is_classified() && !self.is_disk_probed.load(Relaxed);
        self.remote.is_none() && disk.is_cold() && (disk.is_seek_bound() || is_open())
    }

    /// Leaves an arm to one worker: it goes where that sends it. Two take a third longer, and sixteen twice as
    /// long, for 30,000 files on the simulated disk.
    pub(crate) fn limit_pool(&self) {
        let is_one =
            self.options.threads.grows && self.disk.is_classified() && self.uses_disk_order();
        self.queue.limit(if is_one { 1 } else { usize::MAX });
    }

    pub(crate) fn extraneous(&self) -> MutexGuard<'_, Extraneous> {
        self.extraneous.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the top directory is finished, and all in it.
    pub(crate) fn finish(&self) {
        if let Some(remote) = &self.remote {
            remote.connection.finish();
        }
    }

    /// Returns whether what is in a directory on this device of the source is mirrored.
    pub(crate) fn enters(&self, device: u64) -> bool {
        let top = self.roots.source.as_ref().map(|source| source.top.stat.device);
        !self.options.one_file_system || top == Some(device)
    }

    /// Returns whether the source itself is a file system that the kernel makes up, or in one.
    pub(crate) fn source_is_synthetic(&self) -> bool {
        let source = self.roots.source.as_ref();
        source.is_some_and(|source| source.is_synthetic)
    }

    /// Returns the file system that a directory of a device is on.
    pub(crate) fn volume(&self, dir: &Dir, device: u64) -> std::io::Result<Volume> {
        let mut volumes = self.volumes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(&known) = volumes.get(&device) {
            return Ok(known);
        }
        let volume = dir.volume()?;
        volumes.insert(device, volume);
        Ok(volume)
    }

    /// Tells of a change, if anybody wants to know.
    pub(crate) fn report(&self, change: impl FnOnce() -> Change) {
        if let Some(on_change) = self.on_change {
            on_change(&change());
        }
    }
}
