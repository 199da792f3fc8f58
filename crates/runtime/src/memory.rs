//! Keeps the memory of the process within a bound.
//!
//! What grows with the number of files are tables of many megabytes; everything else is small. So
//! [`Allocator`] looks at large allocations only. As long as they fit into their part of the bound
//! they are memory like any other. Beyond it they are mapped from files without a name in a folder for
//! temporary files: the kernel can write such pages out and read them again, and when an
//! eighth of the bound is mapped all of them are let go of at once, to come back one by one as they are
//! used.
//!
//! A table does not know which of the two it is. That is fast as long as tables are gone through in
//! order, and right in any case. The bound is not strict: where a table is gone through in leaps, more
//! can come back between two looks than fits. What was taken is known at the end.

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use rustix::mm::{MapFlags, MremapFlags, ProtFlags, mmap_anonymous, mremap, munmap};

use crate::spill;

/// Allocations from this size on are looked at: smaller ones are less than 1/256 of the least bound.
const LARGE: usize = 1 << 20;

/// Large allocations are aligned to pages of this size; those that want more are left alone.
const PAGE: usize = 4096;

/// The least bound that a scan keeps. The program, buffers of 16 threads and what a catalog holds take
/// 20 to 50 MiB; the rest is for what the kernel maps between two looks: it maps 64 KiB around each
/// page that is used, up to 60 MiB in a millisecond, and a thread that looks may have to wait for a
/// turn of some milliseconds.
pub const LEAST: u64 = 256 << 20;

/// What large allocations may take before further ones are put into files.
static SHARE: AtomicUsize = AtomicUsize::new(usize::MAX);

/// What large allocations that are not in files take.
static PLAIN: AtomicUsize = AtomicUsize::new(0);

/// Bounds the memory of the process to `bytes`, from now on, as far as large allocations of an
/// [`Allocator`] go; what does not fit is put into files without a name in `folder`.
///
/// Where that fails ([`Spilled::failed`]) memory is taken all the same.
pub fn bound(bytes: u64, folder: &Path) {
    let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
    // The rest is for small allocations, and for those pages of the files that are in use.
    let small = 64 << 20;
    SHARE.store((bytes / 2).saturating_sub(small).max(bytes / 4), Relaxed);
    spill::start(bytes, folder);
}

pub use spill::{Spilled, spilled};

/// Returns how much memory there is for this process, in bytes: that of the machine, or what its
/// control groups (version 2) leave of it.
pub fn available() -> u64 {
    let system = rustix::system::sysinfo();
    let unit = u64::from(system.mem_unit.max(1));
    // A word of the kernel, of 32 bits on some machines.
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

/// What a large allocation is: decided by its layout alone, so that who frees it knows too.
fn is_large(size: usize, align: usize) -> bool {
    size >= LARGE && align <= PAGE
}

fn pages(size: usize) -> usize {
    size.next_multiple_of(PAGE)
}

// SAFETY: small allocations are `System`'s. A large one is a mapping of its own, from `mmap`, which is
// aligned to pages and overlaps no other; it is unmapped as a whole when it is freed. Nothing here
// unwinds: no lock is poisoned, no arithmetic overflows (a layout is at most `isize::MAX` bytes).
#[expect(unsafe_code, reason = "an allocator")]
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            map(pages(layout.size()))
        } else {
            // SAFETY: as the caller promises.
            unsafe { System.alloc(layout) }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if is_large(layout.size(), layout.align()) {
            // What is mapped afresh is zero.
            map(pages(layout.size()))
        } else {
            // SAFETY: as the caller promises.
            unsafe { System.alloc_zeroed(layout) }
        }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if is_large(layout.size(), layout.align()) {
            // SAFETY: it was mapped with this length, and is not used any more.
            unsafe { unmap(at, pages(layout.size())) };
        } else {
            // SAFETY: as the caller promises.
            unsafe { System.dealloc(at, layout) }
        }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (before, after) = (layout.size(), size);
        let large = [before, after].map(|size| is_large(size, layout.align()));
        if large == [false, false] {
            // SAFETY: as the caller promises.
            return unsafe { System.realloc(at, layout, size) };
        }
        if large == [true, true] {
            if pages(before) == pages(after) {
                return at;
            }
            // SAFETY: it was mapped with the length of before.
            let moved = unsafe { resize(at, pages(before), pages(after)) };
            if !moved.is_null() {
                return moved;
            }
        }
        // SAFETY: the caller promises that `size` fits this alignment; what is copied is within both,
        // which do not overlap; and the old one is not used any more.
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

/// Takes from the share of large allocations; returns whether that is enough.
fn take(length: usize) -> bool {
    let share = SHARE.load(Relaxed);
    let fits = |taken: usize| taken.checked_add(length).filter(|&sum| sum <= share);
    PLAIN.fetch_update(Relaxed, Relaxed, fits).is_ok()
}

/// Maps zeroes; null if there is no memory.
fn map(length: usize) -> *mut u8 {
    if !take(length) {
        if let Some(spilled) = spill::map(length) {
            return spilled;
        }
        PLAIN.fetch_add(length, Relaxed);
    }
    let (read_write, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
    // SAFETY: the kernel chooses the place, so that no other mapping is touched.
    #[expect(unsafe_code, reason = "an allocator")]
    let mapped = unsafe { mmap_anonymous(null_mut(), length, read_write, private) };
    mapped.map_or_else(
        |_| {
            PLAIN.fetch_sub(length, Relaxed);
            null_mut()
        },
        <*mut _>::cast,
    )
}

/// Gives a mapping back.
///
/// # Safety
///
/// It MUST be one of [`map`] or [`resize`], of this length, and not be used any more.
#[expect(unsafe_code, reason = "an allocator")]
unsafe fn unmap(at: *mut u8, length: usize) {
    // SAFETY: as the caller promises.
    if unsafe { spill::unmap(at, length) } {
        return;
    }
    // SAFETY: as the caller promises. It fails for no mapping that there is.
    let _done = unsafe { munmap(at.cast(), length) };
    PLAIN.fetch_sub(length, Relaxed);
}

/// Makes a mapping longer or shorter where that takes no copy, which may move it; returns null if it
/// is left as it was.
///
/// # Safety
///
/// As for [`unmap`], with the length of before.
#[expect(unsafe_code, reason = "an allocator")]
unsafe fn resize(at: *mut u8, before: usize, after: usize) -> *mut u8 {
    if spill::holds(at) {
        return null_mut();
    }
    if after > before && !take(after - before) {
        return null_mut();
    }
    // SAFETY: as the caller promises.
    let moved = unsafe { mremap(at.cast(), before, after, MremapFlags::MAYMOVE) };
    let (moved, back) = match moved {
        Ok(moved) => (moved.cast(), before.saturating_sub(after)),
        Err(_) => (without_provenance_mut(0), after.saturating_sub(before)),
    };
    PLAIN.fetch_sub(back, Relaxed);
    moved
}

#[cfg(test)]
#[expect(unsafe_code, reason = "an allocator")]
mod tests {
    use std::alloc::{GlobalAlloc, Layout};
    use std::slice;

    use super::{Allocator, LARGE, PAGE, bound, spilled};
    use crate::spill;

    fn layout(size: usize) -> Layout {
        Layout::from_size_align(size, 8).expect("a layout")
    }

    fn pattern(at: usize) -> u8 {
        u8::try_from(at * 7 / 64 % 251).expect("below 251")
    }

    /// Fills `range` of an allocation.
    fn fill(at: *mut u8, range: std::ops::Range<usize>) {
        // SAFETY: the tests fill what they allocated.
        let bytes = unsafe { slice::from_raw_parts_mut(at.add(range.start), range.len()) };
        range.zip(bytes).for_each(|(n, byte)| *byte = pattern(n));
    }

    fn is_filled(at: *const u8, length: usize) -> bool {
        // SAFETY: the tests look at what they allocated and filled.
        let bytes = unsafe { slice::from_raw_parts(at, length) };
        (0..).zip(bytes).all(|(n, byte)| *byte == pattern(n))
    }

    /// All in one test, as there is one bound in a process.
    #[test]
    fn what_exceeds_the_bound_is_in_files_and_keeps_its_bytes() {
        let folder = tempfile::tempdir().expect("a folder");
        bound(16 << 20, folder.path());
        let tables = [LARGE, 3 * LARGE + 1, 5 * LARGE, 9 * LARGE - 1, LARGE + PAGE];
        let mut at: Vec<(*mut u8, usize)> = Vec::new();
        for size in tables {
            // SAFETY: the layout has a size.
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
        spill::let_go();
        assert!(at.iter().all(|&(at, size)| is_filled(at, size)));
        // Larger, smaller, small, and large again.
        for to in [11 * LARGE, 2 * LARGE, LARGE - 1, 100, 4 * LARGE] {
            for (at, size) in &mut at {
                // SAFETY: it was allocated with this layout.
                *at = unsafe { Allocator.realloc(*at, layout(*size), to) };
                assert!(!at.is_null() && is_filled(*at, to.min(*size)));
                fill(*at, to.min(*size)..to);
                *size = to;
            }
            spill::let_go();
        }
        for (at, size) in at {
            assert!(is_filled(at, size));
            // SAFETY: it was allocated with this layout and is not used any more.
            unsafe { Allocator.dealloc(at, layout(size)) };
            assert!(!spill::holds(at));
        }
        let spilled = spilled();
        assert!(spilled.most > 11 << 20 && spilled.failed.is_none(), "{spilled:?}");
    }

    #[test]
    fn memory_that_the_process_has_is_known() {
        assert!(super::available() > 32 << 20);
    }
}
