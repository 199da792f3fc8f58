//! The state that all workers of a run share. [`crate::engine::worker::Worker`] uses it.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, MutexGuard, OnceLock};

use device::{Disk, Queue};
use fsops::{Dir, Volume};
use runtime::{Mutex, Progress};
use wire::{Change, Counts};

use crate::engine::extraneous::Extraneous;
use crate::engine::task::Task;
use crate::hardlinks::birth::BirthClock;
use crate::hardlinks::groups::LinkGroups;
use crate::hardlinks::inode_set::InodeSet;
use crate::model::metadata_support::SupportByDevice;
use crate::model::ownership::Privileges;
use crate::model::temp_name::TempNames;
use crate::reuse::contents::ContentIndex;
use crate::roots::Roots;
use crate::{OnChange, Options};

/// One mirror run.
pub(crate) struct Job<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) options: &'a Options,
    pub(crate) progress: &'a Progress,
    pub(crate) on_change: Option<OnChange<'a>>,
    pub(crate) privileges: Privileges,
    /// The temporary names of this run.
    pub(crate) temp_names: TempNames,
    pub(crate) queue: Queue<Task>,
    pub(crate) birth_clock: BirthClock,
    pub(crate) link_groups: LinkGroups,
    pub(crate) claimed_inodes: InodeSet,
    /// Held while a worker makes another copy of a file that reached the link limit.
    pub(crate) second_copy_lock: Mutex<()>,
    /// Number of workers that have a copy buffer.
    pub(crate) large_buffers: AtomicUsize,
    /// Index of the file contents whose digests the sender reported.
    pub(crate) contents: ContentIndex,
    /// Whether files in the destination can share extents; set after the first attempt.
    pub(crate) dest_clones: OnceLock<bool>,
    /// Number of directories that were renamed to their final names. If this number changes during a failed open, the
    /// open is retried.
    pub(crate) published_dirs: AtomicU64,
    /// Sum of all workers' counts, if a report needs intermediate results.
    pub(crate) running_totals: Option<&'a Mutex<Counts>>,
    /// True if `disk` holds the source. It holds the destination if the source is on another host.
    has_source_disk: bool,
    /// Metadata support of the file systems in the destination.
    pub(crate) support: SupportByDevice,
    /// Number of deferred files that have not been copied yet.
    pub(crate) deferred_files: AtomicUsize,
    /// Whether the disk of the source has been probed.
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
        has_source_disk: bool,
    ) -> Job<'a> {
        Job {
            roots,
            options,
            progress,
            on_change,
            privileges: Privileges::of_process(),
            temp_names: TempNames::new(),
            queue: Queue::new(start),
            birth_clock: BirthClock::start(),
            link_groups: LinkGroups::default(),
            claimed_inodes: InodeSet::default(),
            second_copy_lock: Mutex::default(),
            large_buffers: AtomicUsize::new(0),
            contents: ContentIndex::default(),
            dest_clones: OnceLock::new(),
            published_dirs: AtomicU64::new(0),
            running_totals: None,
            has_source_disk,
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
    /// Returns whether workers follow disk order instead of tree order. They do so if the disk of the source is
    /// seek-bound or has not been classified yet.
    pub(crate) fn uses_disk_order(&self) -> bool {
        let disk = &self.disk;
        let is_open =
            || disk.is_auto() && !disk.is_classified() && !self.is_disk_probed.load(Relaxed);
        self.has_source_disk && disk.is_cold() && (disk.is_seek_bound() || is_open())
    }

    /// Limits the pool of a hard disk to one worker, which reads in disk order. For 30,000 files on the simulated disk,
    /// two workers take a third longer than one, and sixteen take twice as long.
    pub(crate) fn limit_pool(&self) {
        let is_one =
            self.options.threads.grows && self.disk.is_classified() && self.uses_disk_order();
        self.queue.limit(if is_one { 1 } else { usize::MAX });
    }

    pub(crate) fn extraneous(&self) -> MutexGuard<'_, Extraneous> {
        self.extraneous.lock()
    }

    /// Returns the file system of a directory. Asks the kernel only once per device.
    pub(crate) fn volume(&self, dir: &Dir, device: u64) -> std::io::Result<Volume> {
        let mut volumes = self.volumes.lock();
        if let Some(&known) = volumes.get(&device) {
            return Ok(known);
        }
        let volume = dir.volume()?;
        volumes.insert(device, volume);
        Ok(volume)
    }

    /// Reports a change, if the user asked for a list of changes.
    pub(crate) fn report(&self, change: impl FnOnce() -> Change) {
        if let Some(on_change) = self.on_change {
            on_change(&change());
        }
    }
}
