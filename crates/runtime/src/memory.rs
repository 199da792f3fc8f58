//! A global allocator that keeps the process within a memory bound (`--memory`).
//!
//! # The promise
//!
//! lop's memory grows with the number of files. Ten million files need more than a small NAS has.
//! With `--memory 256M`, a scan of any number of files finishes; it becomes slower instead of being
//! killed. The bound is soft: see below.
//!
//! # How it works
//!
//! Tables with a row per file account for the growth, and each of them is a single allocation of
//! many megabytes. [`Allocator`] therefore handles only allocations of at least 1 MiB;
//! smaller ones go to the system's allocator.
//!
//! 1. Up to their share of the bound, large allocations are anonymous mappings.
//! 2. Beyond the share, each is a shared mapping of an unlinked file in a temporary folder
//!    (`spill`). The kernel can write such pages to the disk and drop them, which it cannot do with
//!    anonymous memory on a machine without swap.
//! 3. Once file mappings of an eighth of the bound are resident, all of their pages are dropped at
//!    once. Pages return one by one when they are next used.
//!
//! No table needs to know which kind of memory it has, and no algorithm has a second, external
//! form.
//!
//! # What callers must do
//!
//! - Go through tables in order. Access in random order is correct but slow, as it reads a page
//!   from the disk for each row.
//! - Call [`crate::Progress::poll_stop`] or [`crate::Progress::check`] often. They also check the
//!   amount of resident spilled memory, and may block for some milliseconds while pages are
//!   dropped.
//! - Sort large tables with [`crate::Progress::sort`] and its variants, whose comparisons pause
//!   while pages are dropped. A sort that continued would bring pages back faster than they are
//!   dropped.
//!
//! # Limits
//!
//! The bound is not strict. Between two checks, random access can bring back more than fits.
//! [`spilled`] reports the peak. If a file cannot be created or extended, the allocation takes
//! anonymous memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

use crate::spill;

/// Minimum size of an allocation that this allocator handles. Smaller ones are below 1/256 of the
/// smallest bound.
const LARGE_BYTES: usize = 1 << 20;

/// Alignment of large allocations. Layouts with a larger alignment go to the system's allocator.
const PAGE_BYTES: usize = 4096;

/// The smallest bound that a scan keeps.
///
/// The program, the buffers of 16 threads and a catalog's cache take 20 to 50 MiB. The rest allows
/// for pages that return between two checks: the kernel maps 64 KiB around each page that is used,
/// up to 60 MiB in a millisecond, and a checking thread may wait some milliseconds for its turn.
pub const MIN_BOUND_BYTES: u64 = 256 << 20;

/// Bytes that large allocations may take before further ones are spilled.
static SHARE_BYTES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Bytes of the large allocations that are not spilled.
static UNSPILLED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Sets the memory bound of the process to `bytes`. Large allocations beyond their share of it go
/// to unlinked files in `folder`.
///
/// If that fails, memory is taken all the same; [`Spilled::failed`] has the reason.
pub fn bound(bytes: u64, folder: &Path) {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    // Reserved for small allocations and for resident pages of spilled ones.
    let small = 64 << 20;
    SHARE_BYTES.store((bytes / 2).saturating_sub(small).max(bytes / 4), Relaxed);
    spill::start(bytes, folder);
}

pub use spill::{Spilled, spilled};

/// Returns the memory available to this process, in bytes: that of the machine, or what its control
/// groups (version 2) leave of it.
pub fn available() -> u64 {
    let system = rustix::system::sysinfo();
    let unit = u64::from(system.mem_unit.max(1));
    // The field is a kernel word, of 32 bits on some machines.
    #[allow(clippy::useless_conversion, reason = "it is no u64 everywhere")]
    let machine = u64::from(system.totalram).saturating_mul(unit);
    machine.min(in_control_group().unwrap_or(u64::MAX))
}

fn in_control_group() -> Option<u64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let own = Path::new("/sys/fs/cgroup").join(own);
    let limit = |group: &Path| {
        std::fs::read_to_string(group.join("memory.max")).ok()?.trim_end().parse::<u64>().ok()
    };
    own.ancestors().filter_map(limit).min()
}

/// The allocator of a program that calls [`bound`].
#[derive(Debug)]
pub struct Allocator;

/// Returns whether an allocation is large. The layout alone decides, so that deallocation decides
/// alike.
fn is_large(size: usize, align: usize) -> bool {
    size >= LARGE_BYTES && align <= PAGE_BYTES
}

fn pages(size: usize) -> usize {
    size.next_multiple_of(PAGE_BYTES)
}

// SAFETY: small allocations are `System`'s. A large one is a mapping of its own from `mmap`, which
// is page-aligned and overlaps no other; deallocation unmaps it as a whole. Nothing here unwinds:
// no lock is poisoned and no arithmetic overflows (a layout is at most `isize::MAX` bytes).
#[expect(unsafe_code, reason = "an allocator")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            map(pages(layout.size()))
        } else {
            // SAFETY: the caller upholds the contract of `GlobalAlloc`.
            unsafe { System.alloc(layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            // A new mapping is zeroed.
            map(pages(layout.size()))
        } else {
            // SAFETY: the caller upholds the contract of `GlobalAlloc`.
            unsafe { System.alloc_zeroed(layout) }
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if is_large(layout.size(), layout.align()) {
            // SAFETY: it was mapped with this length, and the caller no longer uses it.
            unsafe { unmap(at, pages(layout.size())) };
        } else {
            // SAFETY: the caller upholds the contract of `GlobalAlloc`.
            unsafe { System.dealloc(at, layout) }
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (before, after) = (layout.size(), size);
        let large = [before, after].map(|size| is_large(size, layout.align()));
        if large == [false, false] {
            // SAFETY: the caller upholds the contract of `GlobalAlloc`.
            return unsafe { System.realloc(at, layout, size) };
        }
        if large == [true, true] {
            if pages(before) == pages(after) {
                return at;
            }
            // SAFETY: it was mapped with the old length.
            let moved = unsafe { resize(at, pages(before), pages(after)) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller guarantees that `size` fits this alignment. The copy stays within both
        // allocations, which do not overlap, and the caller no longer uses the old one.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(at, new, before.min(after));
                self.dealloc(at, layout);
            }
            new
        }
    }
}

/// Takes from the share of large allocations. Returns whether the share suffices.
fn take(length: usize) -> bool {
    let share = SHARE_BYTES.load(Relaxed);
    let fits = |taken: usize| taken.checked_add(length).filter(|&sum| sum <= share);
    UNSPILLED_BYTES.fetch_update(Relaxed, Relaxed, fits).is_ok()
}

/// Maps zeroed memory. Returns null if there is none.
fn map(length: usize) -> *mut u8 {
    if !take(length) {
        if let Some(spilled) = spill::map(length) {
            return spilled;
        }
        UNSPILLED_BYTES.fetch_add(length, Relaxed);
    }
    let (read_write, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: the kernel chooses the address, so no other mapping is affected.
    #[expect(unsafe_code, reason = "an allocator")]
    let mapped = unsafe { mmap_anonymous(null_mut(), length, read_write, private) };
    mapped.map_or_else(
        |_| {
            UNSPILLED_BYTES.fetch_sub(length, Relaxed);
            null_mut()
        },
        <*mut _>::cast,
    )
}

/// Unmaps a mapping.
///
/// # Safety
///
/// It MUST come from [`map`] or [`resize`] with this length, and no longer be in use.
#[expect(unsafe_code, reason = "an allocator")]
unsafe fn unmap(at: *mut u8, length: usize) {
    // SAFETY: the caller guarantees the same.
    if unsafe { spill::unmap(at, length) } {
        return;
    }
    // SAFETY: the caller guarantees that this is a whole mapping, for which `munmap` does not fail.
    let _done = unsafe { munmap(at.cast(), length) };
    UNSPILLED_BYTES.fetch_sub(length, Relaxed);
}

/// Changes the length of a mapping where that needs no copy; the mapping may move. Returns null and
/// leaves it unchanged otherwise.
///
/// # Safety
///
/// As for [`unmap`], with the old length.
#[expect(unsafe_code, reason = "an allocator")]
unsafe fn resize(at: *mut u8, before: usize, after: usize) -> *mut u8 {
    if spill::holds(at) {
        return null_mut();
    }
    if after > before && !take(after - before) {
        return null_mut();
    }
    // SAFETY: the caller guarantees that this is a whole mapping of the old length.
    let moved = unsafe { mremap(at.cast(), before, after, MremapFlags::MAYMOVE) };
    let (moved, back) = match moved {
        Ok(moved) => (moved.cast(), before.saturating_sub(after)),
        Err(_) => (without_provenance_mut(0), after.saturating_sub(before)),
    };
    UNSPILLED_BYTES.fetch_sub(back, Relaxed);
    moved
}

#[cfg(test)]
#[expect(unsafe_code, reason = "an allocator")]
mod tests {
    use std::alloc::{GlobalAlloc, Layout};
    use std::slice;

    use super::{Allocator, LARGE_BYTES, PAGE_BYTES, bound, spilled};
    use crate::spill;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).expect("a layout")
    }

    fn pattern(at: usize) -> u8 {
        u8::try_from(at * 7 / 64 % 251).expect("below 251")
    }

    /// Fills `range` of an allocation.
    fn fill(at: *mut u8, range: std::ops::Range<usize>) {
        // SAFETY: the tests fill their own allocations.
        let bytes = unsafe { slice::from_raw_parts_mut(at.add(range.start), range.len()) };
        range.zip(bytes).for_each(|(n, byte)| *byte = pattern(n));
    }

    fn is_filled(at: *const u8, length: usize) -> bool {
        // SAFETY: the tests read allocations that they have filled.
        let bytes = unsafe { slice::from_raw_parts(at, length) };
        (0..).zip(bytes).all(|(n, byte)| *byte == pattern(n))
    }

    /// A single test, because a process has a single bound.
    #[test]
    fn memory_beyond_the_bound_is_spilled_and_keeps_its_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        bound(16 << 20, folder.path());
        let tables = [
            LARGE_BYTES,
            3 * LARGE_BYTES + 1,
            5 * LARGE_BYTES,
            9 * LARGE_BYTES - 1,
            LARGE_BYTES + PAGE_BYTES,
        ];
        let mut at: Vec<(*mut u8, usize)> = Vec::new();
        for size in tables {
            // SAFETY: the layout has a size above zero.
            let new = unsafe { Allocator.alloc_zeroed(layout(size)) };
            assert!(!new.is_null());
            // SAFETY: it was allocated with this size.
            assert!(unsafe { slice::from_raw_parts(new, size) }.iter().all(|&byte| byte == 0));
            fill(new, 0..size);
            at.push((new, size));
        }
        let in_files = at.iter().filter(|(at, _)| spill::holds(*at)).count();
        assert!((1..tables.len()).contains(&in_files), "{in_files} in files");
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0, "no names");
        spill::drop_pages();
        assert!(at.iter().all(|&(at, size)| is_filled(at, size)));
        // Larger, smaller, small, and large again.
        for to in [11 * LARGE_BYTES, 2 * LARGE_BYTES, LARGE_BYTES - 1, 100, 4 * LARGE_BYTES] {
            for (at, size) in &mut at {
                // SAFETY: it was allocated with this layout.
                *at = unsafe { Allocator.realloc(*at, layout(*size), to) };
                assert!(!at.is_null() && is_filled(*at, to.min(*size)));
                fill(*at, to.min(*size)..to);
                *size = to;
            }
            spill::drop_pages();
        }
        for (at, size) in at {
            assert!(is_filled(at, size));
            // SAFETY: it was allocated with this layout and is no longer used.
            unsafe { Allocator.dealloc(at, layout(size)) };
            assert!(!spill::holds(at));
        }
        let spilled = spilled();
        assert!(spilled.most > 11 << 20 && spilled.failed.is_none(), "{spilled:?}");
    }

    #[test]
    fn available_memory_is_known() {
        assert!(super::available() > 32 << 20);
    }
}
