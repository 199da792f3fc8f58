//! A global allocator that keeps the process within a memory bound (`--memory`).
//!
//! # Guarantee
//!
//! The memory that lop needs grows with the number of files. For ten million files, it needs more
//! memory than a small NAS has. With `--memory 256M`, a scan can process any number of files. The
//! scan becomes slower, but it is not killed for lack of memory. The bound is soft, as explained
//! below.
//!
//! # How it works
//!
//! The memory is needed for tables with one row per file. Each table is a single allocation of many
//! megabytes. [`Allocator`] therefore handles only allocations of at least 1 MiB. Smaller
//! allocations are passed to the system's allocator.
//!
//! 1. Large allocations are anonymous mappings until they use up their share of the bound.
//! 2. After that, each large allocation is a shared mapping of an unlinked file in a temporary
//!    directory (`spill`). The kernel can write the pages of a file to the disk and drop them,
//!    which it cannot do with anonymous memory if there is no swap space.
//! 3. When the resident pages of these files exceed an eighth of the bound, all of them are dropped
//!    at once. Each page is read back when it is next used.
//!
//! Tables in both kinds of memory are used in the same way, so algorithms do not need a separate
//! version for external memory.
//!
//! # What callers must do
//!
//! - Process tables in order. Random access works but is slow, because it reads a page from the
//!   disk for each row.
//! - Call [`crate::Progress::poll_stop`] or [`crate::Progress::check`] often. Both methods also
//!   check how much spilled memory is resident, and may block for a few milliseconds while pages
//!   are dropped.
//! - Sort large tables with [`crate::Progress::sort`] and its variants. While pages are being
//!   dropped, the comparisons in these sorts block. Otherwise a sort would read pages back faster
//!   than they are dropped.
//!
//! # Limits
//!
//! The bound is not strict. Between two checks, random access can read back more pages than the
//! bound allows. If a file cannot be created or extended, the allocation uses anonymous memory
//! instead. [`spilled`] reports the peak size of the files and the last failure.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

use crate::spill;

/// Minimum size of the allocations that this allocator handles: 1/256 of the smallest bound.
const LARGE_BYTES: usize = 1 << 20;

/// Alignment of large allocations. Layouts with a larger alignment are passed to the system's
/// allocator.
const PAGE_BYTES: usize = 4096;

/// The smallest bound that a scan can stay within.
///
/// The program, the buffers of 16 threads and the cache of a catalog take 20 to 50 MiB. The rest is
/// for pages that become resident again between two checks. When a page is used, the kernel maps
/// the 64 KiB around it. This can amount to 60 MiB per millisecond. A check can be delayed by a few
/// milliseconds if its thread has to wait for a processor.
pub const MIN_BOUND_BYTES: u64 = 256 << 20;

/// Number of bytes that large allocations may occupy before further ones are spilled.
static SHARE_BYTES: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Total size of the large allocations that are not spilled.
static UNSPILLED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Sets the memory bound of the process to `bytes`. Once large allocations have used up their share
/// of the bound, further ones are placed in unlinked files in `folder`.
///
/// If a file cannot be created, the allocation uses anonymous memory, and [`Spilled::failed`] is
/// set to the reason.
pub fn bound(bytes: u64, folder: &Path) {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    // Reserved for small allocations and for resident pages of spilled allocations.
    let small = 64 << 20;
    SHARE_BYTES.store((bytes / 2).saturating_sub(small).max(bytes / 4), Relaxed);
    spill::start(bytes, folder);
}

pub use spill::{Spilled, spilled};

/// Returns the memory available to this process, in bytes. This is the memory of the machine, or
/// the limit of the process's control groups (version 2) if that is lower.
pub fn available() -> u64 {
    let system = rustix::system::sysinfo();
    let unit = u64::from(system.mem_unit.max(1));
    // On some machines, the field has only 32 bits.
    #[allow(clippy::useless_conversion, reason = "it is not a u64 everywhere")]
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

/// The global allocator of a program that calls [`bound`].
#[derive(Debug)]
pub struct Allocator;

/// Returns true if an allocation is large. The result depends only on the layout, so it is the same
/// for allocation and deallocation.
fn is_large(size: usize, align: usize) -> bool {
    size >= LARGE_BYTES && align <= PAGE_BYTES
}

fn pages(size: usize) -> usize {
    size.next_multiple_of(PAGE_BYTES)
}

// SAFETY: small allocations come from `System`. A large allocation is a separate mapping created
// with `mmap`, which is page-aligned and does not overlap any other mapping. Deallocation unmaps
// the whole mapping. No method unwinds: a poisoned lock does not cause a panic, and no arithmetic
// overflows because a layout is at most `isize::MAX` bytes.
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
            // The kernel zeroes a new mapping.
            map(pages(layout.size()))
        } else {
            // SAFETY: the caller upholds the contract of `GlobalAlloc`.
            unsafe { System.alloc_zeroed(layout) }
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if is_large(layout.size(), layout.align()) {
            // SAFETY: the memory was mapped with this length, and the caller no longer uses it.
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
            // SAFETY: the memory was mapped with the old length.
            let moved = unsafe { resize(at, pages(before), pages(after)) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller guarantees that `size` is valid for this alignment. The copy stays
        // within both allocations, which do not overlap, and the caller no longer uses the old
        // allocation.
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

/// Takes `length` bytes from the share of large allocations. If fewer bytes are left, takes none
/// and returns false.
fn take(length: usize) -> bool {
    let share = SHARE_BYTES.load(Relaxed);
    let fits = |taken: usize| taken.checked_add(length).filter(|&sum| sum <= share);
    UNSPILLED_BYTES.fetch_update(Relaxed, Relaxed, fits).is_ok()
}

/// Maps zeroed memory. Returns null if memory is exhausted.
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
/// The mapping MUST come from [`map`] or [`resize`] with this length, and MUST NOT be in use.
#[expect(unsafe_code, reason = "an allocator")]
unsafe fn unmap(at: *mut u8, length: usize) {
    // SAFETY: the caller upholds the same contract.
    if unsafe { spill::unmap(at, length) } {
        return;
    }
    // SAFETY: the caller guarantees that this is a whole mapping, for which `munmap` does not fail.
    let _done = unsafe { munmap(at.cast(), length) };
    UNSPILLED_BYTES.fetch_sub(length, Relaxed);
}

/// Changes the length of a mapping if this is possible without copying bytes. Returns the new
/// address of the mapping, which may differ from the old one. Otherwise returns null and leaves the
/// mapping unchanged.
///
/// # Safety
///
/// Same as for [`unmap`], where `before` is the length.
#[expect(unsafe_code, reason = "an allocator")]
unsafe fn resize(at: *mut u8, before: usize, after: usize) -> *mut u8 {
    if spill::holds(at) {
        return null_mut();
    }
    if after > before && !take(after - before) {
        return null_mut();
    }
    // SAFETY: the caller guarantees that this is a whole mapping of length `before`.
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

    /// These checks are combined in a single test because the bound can be set only once per
    /// process.
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
            // SAFETY: the memory was allocated with this size.
            assert!(unsafe { slice::from_raw_parts(new, size) }.iter().all(|&byte| byte == 0));
            fill(new, 0..size);
            at.push((new, size));
        }
        let in_files = at.iter().filter(|(at, _)| spill::holds(*at)).count();
        assert!((1..tables.len()).contains(&in_files), "{in_files} in files");
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0, "no names");
        spill::drop_pages();
        assert!(at.iter().all(|&(at, size)| is_filled(at, size)));
        // The new sizes: larger, smaller, just below the minimum of a large allocation, tiny, and
        // large again.
        for to in [11 * LARGE_BYTES, 2 * LARGE_BYTES, LARGE_BYTES - 1, 100, 4 * LARGE_BYTES] {
            for (at, size) in &mut at {
                // SAFETY: the memory was allocated with this layout.
                *at = unsafe { Allocator.realloc(*at, layout(*size), to) };
                assert!(!at.is_null() && is_filled(*at, to.min(*size)));
                fill(*at, to.min(*size)..to);
                *size = to;
            }
            spill::drop_pages();
        }
        for (at, size) in at {
            assert!(is_filled(at, size));
            // SAFETY: the memory was allocated with this layout and is no longer used.
            unsafe { Allocator.dealloc(at, layout(size)) };
            assert!(!spill::holds(at));
        }
        let spilled = spilled();
        assert!(spilled.most > 11 << 20 && spilled.failed.is_none(), "{spilled:?}");
    }

    #[test]
    fn available_memory_is_reported() {
        assert!(super::available() > 32 << 20);
    }
}
