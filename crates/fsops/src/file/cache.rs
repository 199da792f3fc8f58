//! Checks whether a file's pages are in the page cache.

use std::os::fd::{AsRawFd, BorrowedFd};

/// System call number of `cachestat`, from include/uapi/asm-generic/unistd.h. System calls added
/// since Linux 5.1 have the same number on every architecture. On some architectures, the libc
/// crate does not define this number.
const CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` of include/uapi/linux/mman.h.
#[repr(C)]
struct Range {
    offset: u64,
    length: u64,
}

/// `struct cachestat`.
#[repr(C)]
#[derive(Default)]
struct Counts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Returns the number of cached pages in a range of a file, or `None` if the kernel does not report
/// it.
#[expect(unsafe_code, reason = "cachestat has no safe wrapper")]
fn pages_cached(file: BorrowedFd<'_>, offset: u64, length: u64) -> Option<u64> {
    let mut range = Range { offset, length };
    let mut counts = Counts::default();
    // SAFETY: both structs have the kernel's layout and outlive the call. The kernel reads `range`
    // and writes `counts`. The descriptor is open.
    let answer = unsafe {
        let (range, counts) = (&raw mut range, &raw mut counts);
        libc::syscall(CACHESTAT, file.as_raw_fd(), range, counts, 0)
    };
    (answer == 0).then_some(counts.cached)
}

/// Returns whether a range of a file is completely in the page cache, or `None` if the kernel does
/// not report this.
pub(crate) fn is_cached(file: BorrowedFd<'_>, offset: u64, length: u64) -> Option<bool> {
    Some(pages_cached(file, offset, length)? >= pages_of(offset, length))
}

/// Returns the number of pages that a range overlaps.
fn pages_of(offset: u64, length: u64) -> u64 {
    let page = rustix::param::page_size() as u64;
    match length {
        0 => 0,
        _ => offset.saturating_add(length - 1) / page - offset / page + 1,
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::{is_cached, pages_of};

    #[test]
    fn freshly_written_pages_are_cached() {
        let mut file = tempfile::tempfile().expect("a file");
        std::io::Write::write_all(&mut file, &[1; 5000]).expect("written");
        assert_ne!(is_cached(file.as_fd(), 0, 5000), Some(false));
    }

    #[test]
    fn a_range_touches_whole_pages() {
        let page = rustix::param::page_size() as u64;
        assert_eq!(pages_of(0, 0), 0);
        assert_eq!(pages_of(0, 1), 1);
        assert_eq!(pages_of(0, page), 1);
        assert_eq!(pages_of(page - 1, 2), 2);
        assert_eq!(pages_of(3 * page, page + 1), 2);
    }
}
