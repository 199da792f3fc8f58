//! A worker's buffer for bytes that the kernel cannot copy directly, so that they have to be read and written.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Size of a large buffer in bytes. Copying a 500 MB file in the page cache takes 140 ms with this size or with 1 MiB.
/// With 256 KiB, it takes 155 ms if the buffer starts at a page boundary, and 200 ms if it does not. Allocations of 1
/// MiB or more may be backed by files ([`runtime::memory`]).
const LARGE_BYTES: usize = 960 << 10;

/// Number of workers that get a large buffer. With more workers than this, most of them wait for a disk, so a small
/// buffer is enough for the rest.
const LARGE_BUFFERS: usize = 2;
const SMALL_BYTES: usize = 64 << 10;

/// Alignment of the buffer. Processors copy fastest between page-aligned addresses.
const PAGE_BYTES: usize = 4096;

/// A heap allocation that is used from its first page boundary on.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    /// Returns the worker's buffer, and allocates it on the first call. `taken` counts the workers that have a buffer.
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
