//! Memory that a thread reads files into.

use fsops::ReadBuffer;

/// Alignment of the buffers of files that are read side by side: a cache line. [`ReadBuffer`] explains
/// why a buffer must not start at an arbitrary address.
pub(crate) const PIECE_ALIGNMENT: usize = 64;

/// Buffers of one thread, reused between calls.
#[derive(Debug, Default)]
pub struct Scratch {
    buffer: ReadBuffer,
}

impl Scratch {
    /// Returns a buffer of `length` bytes with arbitrary content.
    ///
    /// # Panics
    ///
    /// Panics if `length` exceeds the address space.
    pub fn bytes(&mut self, length: u64) -> &mut [u8] {
        self.buffer.bytes(usize::try_from(length).expect("a buffer fits the address space"))
    }

    /// Returns `count` buffers of `length` bytes with arbitrary content.
    ///
    /// # Panics
    ///
    /// Panics if `length` is 0, or if the buffers exceed the address space.
    pub fn pieces(&mut self, count: usize, length: usize) -> impl Iterator<Item = &mut [u8]> {
        let distance = length.next_multiple_of(PIECE_ALIGNMENT);
        let buffer = self.buffer.bytes(distance * count);
        buffer.chunks_exact_mut(distance).map(move |piece| &mut piece[..length])
    }
}

#[cfg(test)]
mod tests {
    use super::Scratch;

    #[test]
    fn pieces_start_at_cache_lines() {
        let mut scratch = Scratch::default();
        for (count, length) in [(1, 1), (3, 64), (5, 8_200), (2, 262_144), (0, 7)] {
            let pieces: Vec<&mut [u8]> = scratch.pieces(count, length).collect();
            assert_eq!(pieces.len(), count);
            for piece in pieces {
                assert_eq!((piece.len(), piece.as_ptr() as usize % 64), (length, 0));
            }
        }
    }
}
