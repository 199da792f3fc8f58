//! Memory in unlinked files, and a thread that drops resident pages of this memory.
//!
//! [`REGIONS`] lists every mapping. A mapping is added after it is created and removed before it is
//! unmapped. Pages may be dropped only while this list is locked. Otherwise an address range could
//! be reused for another mapping in the meantime, and dropping its pages would destroy their
//! content.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::fs::{FallocateFlags, IFlags, Mode, OFlags, fallocate, ioctl_setflags, open, unlink};
use rustix::io::retry_on_intr;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

use crate::process::keep_standard_descriptors;

/// Statistics about spilled memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spilled {
    /// Peak size of the files, in bytes.
    pub most: u64,
    /// Error number of the most recent failure to spill memory.
    pub failed: Option<i32>,
}

/// The memory bound in bytes, and the directory in which the files are created.
static BOUND: OnceLock<(usize, PathBuf)> = OnceLock::new();

/// True as soon as any memory has been spilled.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// True while pages are being dropped.
static DROPPING: AtomicBool = AtomicBool::new(false);

static REGIONS: Mutex<Regions> = Mutex::new(Regions::new());

/// Number of further calls of [`relieve`] until one of them checks the resident pages.
static CALLS_LEFT: AtomicIsize = AtomicIsize::new(0);

/// A fixed-size table of mappings. It must not allocate memory.
struct Regions {
    /// Addresses and lengths of mappings. A free slot has length 0.
    all: [(usize, usize); Regions::MOST],
    /// Total length of all mappings, and the peak of this length.
    bytes: usize,
    most: usize,
    failed: Option<i32>,
}

/// Number of bytes around an accessed page that the kernel maps if they are in the page cache. This
/// takes about a microsecond.
const MAPPED_AROUND: usize = 64 << 10;

impl Regions {
    /// Maximum number of mappings. A scan uses about ten tables per thread.
    const MOST: usize = 1024;

    const fn new() -> Regions {
        Regions { all: [(0, 0); Regions::MOST], bytes: 0, most: 0, failed: None }
    }

    fn used(&self) -> impl Iterator<Item = (usize, usize)> {
        self.all.iter().copied().filter(|&(_, length)| length > 0)
    }
}

fn regions() -> MutexGuard<'static, Regions> {
    REGIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the statistics so far.
pub fn spilled() -> Spilled {
    let regions = regions();
    Spilled { most: regions.most as u64, failed: regions.failed }
}

/// Enables spilling to files in `folder`, with the given memory bound in bytes.
pub(crate) fn start(bound: usize, folder: &Path) {
    // A second call has no effect.
    let _set = BOUND.set((bound, folder.to_path_buf()));
}

/// Returns true if a mapping is spilled.
pub(crate) fn holds(at: *mut u8) -> bool {
    regions().used().any(|(address, _)| address == at.addr())
}

/// Creates a file of `length` zeroed bytes and maps it into memory. Returns `None` if spilling is
/// disabled or fails.
pub(crate) fn map(length: usize) -> Option<*mut u8> {
    let (_, folder) = BOUND.get()?;
    let mapped = unnamed_file(folder).and_then(|file| {
        reserve(&file, length)?;
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the kernel chooses the address. The file is at least as long as the mapping, and
        // nobody else can open it.
        #[expect(unsafe_code, reason = "memory in a file")]
        let at = unsafe { mmap(null_mut(), length, read_write, shared, &file, 0)? };
        Ok(at.cast::<u8>())
    });
    let mut regions = regions();
    let at = match mapped {
        Ok(at) => at,
        Err(error) => {
            regions.failed = error.raw_os_error().or(Some(libc::EIO));
            return None;
        }
    };
    let Some(free) = regions.all.iter().position(|&(_, length)| length == 0) else {
        drop(regions);
        // SAFETY: this mapping has just been created and is not used anywhere else.
        #[expect(unsafe_code, reason = "memory in a file")]
        let _done = unsafe { munmap(at.cast(), length) };
        return None;
    };
    regions.all[free] = (at.expose_provenance(), length);
    regions.bytes += length;
    regions.most = regions.most.max(regions.bytes);
    drop(regions);
    // The last check did not know this mapping.
    CALLS_LEFT.store(0, Relaxed);
    if !IN_USE.swap(true, Relaxed) {
        // If the thread cannot be started, [`relieve`] still drops pages.
        let _unstarted = std::thread::Builder::new().spawn(watch_memory);
    }
    Some(at)
}

/// Unmaps a spilled mapping. Returns false if the mapping is not spilled.
///
/// # Safety
///
/// The mapping MUST NOT be in use.
#[expect(unsafe_code, reason = "memory in a file")]
pub(crate) unsafe fn unmap(at: *mut u8, length: usize) -> bool {
    let mut regions = regions();
    let Some(region) = regions.all.iter_mut().find(|region| **region == (at.addr(), length)) else {
        return false;
    };
    *region = (0, 0);
    regions.bytes -= length;
    // Unmapping a large file takes a long time, so the lock is released first.
    drop(regions);
    // SAFETY: `map` created the mapping with this length, and the caller guarantees that it is not
    // in use. The mapping has been removed from the table, so its address range may be reused.
    let _done = unsafe { munmap(at.cast(), length) };
    true
}

/// Creates an unnamed file in `folder`, which only its owner can access. The file is gone when its last descriptor is
/// closed.
///
/// # Errors
///
/// Fails if `folder` does not exist or cannot be written.
pub fn unnamed_file(folder: &Path) -> io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let file = match open(folder, flags | OFlags::TMPFILE, mode) {
        Ok(file) => file,
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR) => {
            static NUMBER: AtomicUsize = AtomicUsize::new(0);
            let number = NUMBER.fetch_add(1, Relaxed);
            let name = folder.join(format!(".lop-{}-{number}.tmp", std::process::id()));
            let file = open(&name, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            unlink(&name)?;
            file
        }
        Err(error) => return Err(error.into()),
    };
    // Without this flag, btrfs needs new disk space each time a page is written again, and the disk
    // may be full.
    let _elsewhere = ioctl_setflags(&file, IFlags::NOCOW);
    Ok(file.into())
}

/// Reserves disk space for a file. If no space is left when a mapped page is written, the kernel
/// kills the process (`SIGBUS`).
///
/// # Errors
///
/// Fails if there is not enough disk space.
fn reserve(file: &File, length: usize) -> io::Result<()> {
    // On some file systems, this call can be interrupted by a signal.
    match retry_on_intr(|| fallocate(file, FallocateFlags::empty(), 0, length as u64)) {
        Err(rustix::io::Errno::OPNOTSUPP) => {
            static ZEROES: [u8; 1 << 16] = [0; 1 << 16];
            (0..length).step_by(ZEROES.len()).try_for_each(|at| {
                file.write_all_at(&ZEROES[..ZEROES.len().min(length - at)], at as u64)
            })
        }
        done => Ok(done?),
    }
}

/// Drops resident pages if they exceed an eighth of the bound. Returns at once if no memory has
/// been spilled.
///
/// A check opens a file in /proc, which takes as long as mapping ten pages. After a check, calls
/// return at once until they could have filled the room that the check found.
pub(crate) fn relieve() {
    if !IN_USE.load(Relaxed) {
        return;
    }
    wait_for_release();
    if CALLS_LEFT.fetch_sub(1, Relaxed) <= 0 {
        // Meanwhile, other threads need not check.
        CALLS_LEFT.store(MIN_CALLS_PER_CHECK, Relaxed);
        CALLS_LEFT.store(calls_in(drop_excess()), Relaxed);
    }
}

/// Minimum number of calls of [`relieve`] per check.
const MIN_CALLS_PER_CHECK: isize = 8;

/// Returns the number of calls of [`relieve`] that cannot fill `room` bytes.
fn calls_in(room: usize) -> isize {
    /// Estimated number of bytes that become resident between two calls, assuming four page faults.
    const BYTES_PER_CALL: usize = 4 * MAPPED_AROUND;
    const MAX_CALLS_PER_CHECK: isize = 4096;
    let calls = isize::try_from(room / BYTES_PER_CALL).unwrap_or(isize::MAX);
    calls.clamp(MIN_CALLS_PER_CHECK, MAX_CALLS_PER_CHECK)
}

/// Blocks while pages are being dropped. Otherwise pages would be read back faster than they are
/// dropped.
#[inline]
pub(crate) fn wait_for_release() {
    if DROPPING.load(Relaxed) {
        drop(regions());
    }
}

/// Checks the resident pages periodically. This is needed for long operations that do not call
/// [`relieve`], such as sorting tables or copying them when they grow.
fn watch_memory() {
    keep_standard_descriptors();
    loop {
        // The pause is no longer than it takes to fill the remaining room.
        let pause = (drop_excess() / MAPPED_AROUND).clamp(250, 20_000);
        std::thread::sleep(Duration::from_micros(pause as u64));
    }
}

/// Drops resident pages if they exceed an eighth of the bound. Returns the number of bytes that may
/// still become resident.
fn drop_excess() -> usize {
    // The limit is far below the bound because several times this amount can become resident before
    // the next check.
    let most = BOUND.get().map_or(usize::MAX, |(bound, _)| bound / 8);
    if regions().bytes <= most {
        return usize::MAX;
    }
    let room = most.saturating_sub(mapped());
    if room > 0 {
        return room;
    }
    drop_pages();
    most.saturating_sub(mapped())
}

pub(crate) fn drop_pages() {
    let regions = regions();
    DROPPING.store(true, Relaxed);
    for (address, length) in regions.used() {
        // SAFETY: `map` created the mapping, and it stays mapped while the lock is held. The
        // content of its pages is kept in the file.
        #[expect(unsafe_code, reason = "memory in a file")]
        let _done = unsafe {
            let at = std::ptr::with_exposed_provenance_mut(address);
            madvise(at, length, Advice::LinuxDontNeed)
        };
    }
    DROPPING.store(false, Relaxed);
}

/// Returns the number of resident bytes of file mappings, or 0 if the number is unknown.
fn mapped() -> usize {
    let mut text = [0; 128];
    let read = File::open("/proc/self/statm").and_then(|mut statm| statm.read(&mut text));
    let text = std::str::from_utf8(&text[..read.unwrap_or(0)]).unwrap_or_default();
    let pages = text.split(' ').nth(2).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0).saturating_mul(rustix::param::page_size())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{calls_in, mapped, reserve, unnamed_file};

    #[test]
    fn checks_are_rarer_if_there_is_room() {
        let room = [0, 1 << 20, 32 << 20, 256 << 20, usize::MAX];
        assert_eq!(room.map(calls_in), [8, 8, 128, 1024, 4096]);
    }

    #[test]
    fn lack_of_space_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = unnamed_file(folder.path()).expect("a file");
        assert!(reserve(&file, 1 << 16).is_ok());
        assert!(reserve(&file, 1 << 60).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
    }

    #[test]
    fn missing_folder_is_an_error() {
        assert!(unnamed_file(Path::new("/nonexistent")).is_err());
        assert!(unnamed_file(Path::new("/proc")).is_err());
    }

    #[test]
    fn resident_pages_are_counted() {
        assert!(mapped() > 100_000);
    }
}
