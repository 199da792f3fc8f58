//! Where bytes are on their way from one file to another.

/// Bytes read and written at once where the kernel does not copy by itself. Of a file of 500 MB in the page cache
/// that takes 200 ms with 256 KiB at any address, 155 ms with 256 KiB that begin with a page, 140 ms with this
/// and with 1 MiB, from which on allocations may be put into files ([`fsops::memory`]).
pub(crate) const BUFFER: usize = 960 << 10;

/// Processors copy fastest between places that begin with a page.
const PAGE: usize = 4096;

/// Room for [`BUFFER`] bytes that begins with a page.
#[derive(Debug, Default)]
pub(crate) struct Buffer(Vec<u8>);

impl Buffer {
    pub(crate) fn get(&mut self) -> &mut [u8] {
        if self.0.is_empty() {
            self.0 = vec![0; BUFFER + PAGE];
        }
        let start = self.0.as_ptr().align_offset(PAGE).min(PAGE);
        &mut self.0[start..start + BUFFER]
    }
}
