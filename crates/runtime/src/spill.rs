//! Memory in files without a name, and the thread that lets go of it.
//!
//! A mapping is known here from after it was made until before it is unmapped, and pages are let go of
//! under the same lock: doing that to something else that has come to its place would lose what is in
//! it.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::fs::{FallocateFlags, IFlags, Mode, OFlags, fallocate, ioctl_setflags, open, unlink};
use rustix::io::retry_on_intr;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};

/// What was put into files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spilled {
    /// The most that there was in them at a time, in bytes.
    pub most: u64,
    /// Why something could not be put there, as an error number of the system.
    pub failed: Option<i32>,
}

/// The bound, and the folder for what exceeds it.
static BOUND: OnceLock<(usize, PathBuf)> = OnceLock::new();

/// Whether anything was ever put into a file.
static IN_USE: AtomicBool = AtomicBool::new(false);

/// Whether pages are being let go of.
static LETTING_GO: AtomicBool = AtomicBool::new(false);

static REGIONS: Mutex<Regions> = Mutex::new(Regions::new());

/// Mappings, in a table that needs no memory of its own.
struct Regions {
    /// Address and length; unused ones have length 0.
    all: [(usize, usize); Regions::MOST],
    /// Bytes in them, and the most so far.
    bytes: usize,
    most: usize,
    failed: Option<i32>,
}

/// Bytes that may come back in a microsecond: the kernel maps 64 KiB around a page that is in the page
/// cache, in about that time.
const BACK_PER_US: usize = 64 << 10;

impl Regions {
    /// A scan has some ten tables per thread.
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

/// Returns what was put into files so far.
pub fn spilled() -> Spilled {
    let regions = regions();
    Spilled { most: regions.most as u64, failed: regions.failed }
}

/// Makes it possible to put something into files.
pub(crate) fn start(bound: usize, folder: &Path) {
    // The first bound stands.
    let _set = BOUND.set((bound, folder.to_path_buf()));
}

/// Returns whether a mapping is one of those.
pub(crate) fn holds(at: *mut u8) -> bool {
    regions().used().any(|(address, _)| address == at.addr())
}

/// Maps `length` zeroes from a new file; `None` if there is no bound or no place for it.
pub(crate) fn map(length: usize) -> Option<*mut u8> {
    let (_, folder) = BOUND.get()?;
    let mapped = nameless(folder).and_then(|file| {
        reserve(&file, length)?;
        let (read_write, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: the kernel chooses the place; the file is nobody else's and as long as that.
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
        // SAFETY: it was mapped a moment ago and nobody knows of it.
        #[expect(unsafe_code, reason = "memory in a file")]
        let _done = unsafe { munmap(at.cast(), length) };
        return None;
    };
    regions.all[free] = (at.expose_provenance(), length);
    regions.bytes += length;
    regions.most = regions.most.max(regions.bytes);
    drop(regions);
    if !IN_USE.swap(true, Relaxed) {
        // Without it there is still `relieve`.
        let _unstarted = std::thread::Builder::new().spawn(progress_over);
    }
    Some(at)
}

/// Unmaps a mapping if it is one of those; returns whether it was.
///
/// # Safety
///
/// It MUST not be used any more.
#[expect(unsafe_code, reason = "memory in a file")]
pub(crate) unsafe fn unmap(at: *mut u8, length: usize) -> bool {
    let mut regions = regions();
    let Some(region) = regions.all.iter_mut().find(|region| **region == (at.addr(), length)) else {
        return false;
    };
    *region = (0, 0);
    regions.bytes -= length;
    // Giving back the pages of a large file takes long.
    drop(regions);
    // SAFETY: it is a mapping of `map`, of this length, and the caller promises the rest. It is not
    // known here any more, so that nobody takes what comes to its place for it.
    let _done = unsafe { munmap(at.cast(), length) };
    true
}

/// Opens a new file that has no name.
fn nameless(folder: &Path) -> io::Result<File> {
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
    // On btrfs a page that is written again would take new space, which may be none.
    let _elsewhere = ioctl_setflags(&file, IFlags::NOCOW);
    Ok(file.into())
}

/// Takes space for a file: a page without would end the process when it is written.
fn reserve(file: &File, length: usize) -> io::Result<()> {
    // A signal interrupts it on some file systems.
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

/// Lets go of pages if an eighth of the bound is mapped; costs nothing as long as nothing is in
/// files.
pub(crate) fn relieve() {
    /// How often it is called for each look: a look takes as long as some ten pages to come back.
    const TURNS: usize = 8;
    static TURN: AtomicUsize = AtomicUsize::new(0);
    if !IN_USE.load(Relaxed) {
        return;
    }
    give_way();
    if TURN.fetch_add(1, Relaxed).is_multiple_of(TURNS) {
        let _room = look();
    }
}

/// Waits while pages are let go of: more would come back meanwhile than goes.
#[inline]
pub(crate) fn give_way() {
    if LETTING_GO.load(Relaxed) {
        drop(regions());
    }
}

/// Looks again and again, for the sake of work that is long without asking [`relieve`]: sorts, and
/// copies of tables that grow.
fn progress_over() {
    close_inherited_descriptors();
    loop {
        let pause = (look() / BACK_PER_US).clamp(250, 20_000);
        std::thread::sleep(Duration::from_micros(pause as u64));
    }
}

/// Lets go of pages if more than an eighth of the bound is mapped; returns how much more may be.
fn look() -> usize {
    // Several times as much may be back before the next look.
    let most = BOUND.get().map_or(usize::MAX, |(bound, _)| bound / 8);
    if regions().bytes <= most {
        return usize::MAX;
    }
    let room = most.saturating_sub(mapped());
    if room > 0 {
        return room;
    }
    let_go();
    most.saturating_sub(mapped())
}

pub(crate) fn let_go() {
    let regions = regions();
    LETTING_GO.store(true, Relaxed);
    for (address, length) in regions.used() {
        // SAFETY: it is a mapping of `map`, and stays one as long as the lock is held. What was written
        // to it is in the file.
        #[expect(unsafe_code, reason = "memory in a file")]
        let _done = unsafe {
            let at = std::ptr::with_exposed_provenance_mut(address);
            madvise(at, length, Advice::LinuxDontNeed)
        };
    }
    LETTING_GO.store(false, Relaxed);
}

/// Closes what the thread has inherited, in a table of its own: a lock would be held and a pipe stay
/// open as long as it lives.
fn close_inherited_descriptors() {
    // SAFETY: it either gives the thread a table of its own and closes what is in that, which nothing
    // that the thread can reach refers to, or fails and does nothing.
    #[expect(unsafe_code, reason = "close_range has no safe wrapper")]
    let _kept =
        unsafe { libc::syscall(libc::SYS_close_range, 3u32, u32::MAX, libc::CLOSE_RANGE_UNSHARE) };
}

/// Returns how many bytes of files are mapped and in memory; 0 if that cannot be told.
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

    use super::{mapped, nameless, reserve};

    #[test]
    fn a_file_without_space_is_refused_before_it_is_used() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = nameless(folder.path()).expect("a file");
        assert!(reserve(&file, 1 << 16).is_ok());
        assert!(reserve(&file, 1 << 60).is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
    }

    #[test]
    fn a_folder_that_is_none_is_an_error() {
        assert!(nameless(Path::new("/nonexistent")).is_err());
        assert!(nameless(Path::new("/proc")).is_err());
    }

    #[test]
    fn some_files_are_mapped() {
        assert!(mapped() > 100_000);
    }
}
