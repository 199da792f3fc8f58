//! The buffer through which a worker copies bytes that the kernel does not copy by itself.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes of a large buffer. Copying a file of 500 MB in the page cache takes 200 ms with 256 KiB at any address, 155 ms
/// with 256 KiB at a page boundary, and 140 ms with this size or 1 MiB. From 1 MiB on, allocations may be put into
/// files ([`runtime::memory`]).
const LARGE_BYTES: usize = 960 << 10;

/// The number of workers that get a large buffer. Where there are more workers, they wait for a disk most of the time,
/// and a small buffer is enough.
const LARGE_BUFFERS: usize = 2;
const SMALL_BYTES: usize = 64 << 10;

/// Processors copy fastest between page boundaries.
const PAGE_BYTES: usize = 4096;

/// Memory that is used from a page boundary on.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    /// Returns the worker's buffer, and allocates it on the first call. `taken` counts the workers that have one.
    pub(crate) fn get(&mut self, taken: &AtomicUsize) -> &mut [u8] {
        if self.0.is_empty() {
            let length =
                if taken.fetch_add(1, Relaxed) < LARGE_BUFFERS { LARGE_BYTES } else { SMALL_BYTES };
            self.0 = vec![0; length + PAGE_BYTES];
        }
        let length = self.0.len() - PAGE_BYTES;
        let start = self.0.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        &mut self.0[start..start + length]
    }
}
