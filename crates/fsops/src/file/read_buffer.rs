//! Memory that files are read into.

/// Alignment of a buffer: the size of a page.
const PAGE_BYTES: usize = 4096;

/// Memory that files are read into. It starts at a page boundary, and is reused between reads.
///
/// The kernel copies file contents with `rep movsb`. On AMD Zen 3, that instruction is 4 to 8 times
/// slower if the destination is 1 to 31 bytes further past a page boundary than the source. The
/// source is a page of the cache. A large allocation of the C library starts 16 bytes past a page
/// boundary, so reading into an ordinary `Vec` is slow there. `docs/io.md` has the measurement.
#[derive(Debug, Default)]
pub struct ReadBuffer(Vec<u8>);

impl ReadBuffer {
    /// Returns `length` bytes with arbitrary content. Allocates if the buffer is too short.
    pub fn bytes(&mut self, length: usize) -> &mut [u8] {
        if self.0.len() < length + PAGE_BYTES {
            // Allocating again instead of extending avoids copying the old content.
            let old = std::mem::take(&mut self.0).len();
            self.0 = vec![0; (length + PAGE_BYTES).max(2 * old)];
        }
        let start = self.0.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        &mut self.0[start..start + length]
    }
}

#[cfg(test)]
mod tests {
    use super::ReadBuffer;

    #[test]
    fn buffers_start_at_a_page_boundary() {
        let mut buffer = ReadBuffer::default();
        for length in [1, 0, 100, 4096, 4097, 300_000, 17] {
            let bytes = buffer.bytes(length);
            assert_eq!(bytes.len(), length);
            assert_eq!(bytes.as_ptr() as usize % 4096, 0, "{length}");
            bytes.fill(1);
        }
    }
}
