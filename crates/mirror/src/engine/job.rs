//! One mirroring, and what the workers at it share.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use device::{Disk, Queue};
use fsops::{Dir, Volume};
use runtime::Progress;
use wire::Summary;

use crate::engine::extraneous::Surplus;
use crate::engine::task::Task;
use crate::hardlinks::groups::Links;
use crate::hardlinks::inode_set::Claimed;
use crate::model::change::Change;
use crate::model::metadata_support::Kept;
use crate::model::ownership::Rights;
use crate::model::temp_name::Parts;
use crate::remote::receiver::session::Far;
use crate::reuse::contents::Contents;
use crate::roots::Roots;
use crate::{Options, Tell};

/// One mirroring.
pub(crate) struct Job<'a> {
    pub(crate) roots: &'a Roots,
    pub(crate) options: &'a Options,
    pub(crate) progress: &'a Progress,
    pub(crate) tell: Option<Tell<'a>>,
    pub(crate) rights: Rights,
    /// The temporary names of this run.
    pub(crate) parts: Parts,
    pub(crate) queue: Queue<Task>,
    pub(crate) links: Links,
    pub(crate) claimed: Claimed,
    /// Held by who begins another copy of a file that has too many names.
    pub(crate) splitting: Mutex<()>,
    /// Workers that have room for bytes on their way.
    pub(crate) buffers: AtomicUsize,
    /// Contents of which the source has said the digests.
    pub(crate) contents: Contents,
    /// Whether files of the destination can share extents, once that was tried.
    pub(crate) clones: OnceLock<bool>,
    /// Directories that were given their names.
    pub(crate) placed: AtomicU64,
    /// What has come of it so far, if somebody wants to know meanwhile.
    pub(crate) so_far: Option<&'a Mutex<Summary>>,
    /// Where the source is, if that is another host.
    pub(crate) far: Option<Arc<Far>>,
    /// What the file systems of the destination keep of metadata.
    pub(crate) kept: Kept,
    /// Files that were put off and not copied yet.
    pub(crate) put_off: AtomicUsize,
    /// There was a trial of the source's disk.
    pub(crate) is_tried: AtomicBool,
    surplus: Mutex<Surplus>,
    volumes: Mutex<HashMap<u64, Volume>>,
    pub(crate) disk: Arc<Disk>,
}

impl<'a> Job<'a> {
    pub(crate) fn new(
        roots: &'a Roots,
        options: &'a Options,
        progress: &'a Progress,
        tell: Option<Tell<'a>>,
        (start, device): (Task, u64),
        far: Option<Arc<Far>>,
    ) -> Job<'a> {
        Job {
            roots,
            options,
            progress,
            tell,
            rights: Rights::of_process(),
            parts: Parts::new(),
            queue: Queue::new(start),
            links: Links::default(),
            claimed: Claimed::default(),
            splitting: Mutex::default(),
            buffers: AtomicUsize::new(0),
            contents: Contents::default(),
            clones: OnceLock::new(),
            placed: AtomicU64::new(0),
            so_far: None,
            far,
            kept: Kept::default(),
            put_off: AtomicUsize::new(0),
            is_tried: AtomicBool::new(false),
            surplus: Mutex::default(),
            volumes: Mutex::default(),
            disk: options.disks.of(device),
        }
    }
}

impl Job<'_> {
    /// Returns whether to go by the order of the source's disk rather than by that of the tree: if it has an
    /// arm, or that is to be found out.
    pub(crate) fn goes_by_place(&self) -> bool {
        let disk = &self.disk;
        let is_open = || disk.is_auto() && !disk.is_classified() && !self.is_tried.load(Relaxed);
        self.far.is_none() && disk.is_cold() && (disk.is_seek_bound() || is_open())
    }

    /// Leaves an arm to one worker: it goes where that sends it. Two take a third longer, and sixteen twice as
    /// long, for 30,000 files on the simulated disk.
    pub(crate) fn limit_pool(&self) {
        let is_one =
            self.options.threads.grows && self.disk.is_classified() && self.goes_by_place();
        self.queue.limit(if is_one { 1 } else { usize::MAX });
    }

    pub(crate) fn surplus(&self) -> MutexGuard<'_, Surplus> {
        self.surplus.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the top directory is finished, and all in it.
    pub(crate) fn finish(&self) {
        if let Some(far) = &self.far {
            far.connection.finish();
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
    pub(crate) fn tell(&self, change: impl FnOnce() -> Change) {
        if let Some(tell) = self.tell {
            tell(&change());
        }
    }
}
