//! Where bytes are on their way from one file to another.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Bytes read and written at once where the kernel does not copy by itself. Of a file of 500 MB in the page cache
/// that takes 200 ms with 256 KiB at any address, 155 ms with 256 KiB that begin with a page, 140 ms with this
/// and with 1 MiB, from which on allocations may be put into files ([`runtime::memory`]).
const LARGE_BYTES: usize = 960 << 10;

/// So many workers have that much; where there are more, they wait for a disk most of the time, and less does.
const LARGE_BUFFERS: usize = 2;
const SMALL_BYTES: usize = 64 << 10;

/// Processors copy fastest between places that begin with a page.
const PAGE_BYTES: usize = 4096;

/// Room that begins with a page.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    /// Returns the room of a worker; `taken` counts those that have some.
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
