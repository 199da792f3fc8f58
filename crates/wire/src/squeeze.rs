//! Packs messages where that is faster than to send more.
//!
//! Whether it is depends on the connection, on the processors and on the data, so it is tried: of each
//! [`ROUND`] bytes the first [`PROBE`] go one way and the next the other, and the rest the way that took less time
//! for a byte, packing and writing together. A write takes long where the connection is what there is too little
//! of.
//!
//! All that is packed in one direction is one stream of Zstandard, flushed after each message: small files are like
//! those before them. 14,000 files of headers and documentation, 217 MiB, took 104 MB each by
//! itself (level 1), and 83 MB so.

use std::fmt;
use std::time::{Duration, Instant};

use zstd::stream::raw::{CParameter, DParameter, Decoder, Encoder, InBuffer, Operation, OutBuffer};

use crate::{Broken, MOST};

/// Zstandard's own choice of a level: a processor packs 200 to 300 MB a second.
const LEVEL: i32 = 3;

/// How far back it looks, as a power of two of bytes: what both sides keep for it.
const WINDOW_LOG: u32 = 19;

/// Messages that are shorter have nothing to gain.
const SHORT: usize = 128;

/// Those that are longer might get too long, as what cannot be packed grows a little.
const LONG: usize = MOST / 2;

/// What a message grows by at most at first: blocks have heads.
const GROWTH: usize = 1 << 10;

/// Bytes that are sent one way to see how long that takes: more than a pipe and the buffers of a connection hold
/// would be exact, and much too much of a small tree.
const PROBE: u64 = 2 << 20;

/// Bytes after which it is tried again.
const ROUND: u64 = 64 << 20;

#[derive(Default)]
pub(crate) struct Squeeze {
    packer: Option<Encoder<'static>>,
    room: Vec<u8>,
    /// Bytes of this round, before they were packed.
    round: u64,
    /// Of each way: plain, packed.
    plain: Trial,
    packed: Trial,
    is_packing: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    bytes: u64,
    time: Duration,
}

impl Trial {
    /// Returns whether it took less time for a byte.
    fn is_faster_than(self, other: Trial) -> bool {
        let time = |trial: Trial, of: Trial| trial.time.as_nanos() * u128::from(of.bytes);
        time(self, other) < time(other, self)
    }
}

impl Squeeze {
    /// Packs what begins at `start`, if that pays; returns whether it did.
    ///
    /// # Errors
    ///
    /// That it could not, so that nothing can be packed or unpacked any more.
    pub(crate) fn pack(&mut self, buffer: &mut Vec<u8>, start: usize) -> Result<bool, Broken> {
        let length = buffer.len() - start;
        self.turn(length as u64);
        if !self.is_packing || !(SHORT..=LONG).contains(&length) {
            return Ok(false);
        }
        let begin = Instant::now();
        self.pack_now(&buffer[start..])?;
        buffer.truncate(start);
        buffer.extend_from_slice(&self.room);
        self.packed.time += begin.elapsed();
        Ok(true)
    }

    /// Puts what is packed of a message into the room.
    fn pack_now(&mut self, message: &[u8]) -> Result<(), Broken> {
        let packer = match &mut self.packer {
            Some(packer) => packer,
            none => {
                let mut packer = Encoder::new(LEVEL)?;
                packer.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
                none.insert(packer)
            }
        };
        let mut input = InBuffer::around(message);
        self.room.resize(message.len() + GROWTH, 0);
        let mut done = 0;
        loop {
            let mut out = OutBuffer::around(&mut self.room[done..]);
            let is_in = input.pos() == message.len();
            let rest =
                if is_in { packer.flush(&mut out)? } else { packer.run(&mut input, &mut out)? };
            done += out.pos();
            if is_in && rest == 0 {
                self.room.truncate(done);
                return Ok(());
            }
            if done == self.room.len() {
                self.room.resize(done + GROWTH, 0);
            }
        }
    }

    /// Counts bytes, and chooses the way that they go.
    fn turn(&mut self, length: u64) {
        self.round += length;
        if self.round > ROUND {
            (self.round, self.plain, self.packed) = (length, Trial::default(), Trial::default());
        }
        self.is_packing = if self.plain.bytes < PROBE {
            false
        } else if self.packed.bytes < PROBE {
            true
        } else {
            self.packed.is_faster_than(self.plain)
        };
        self.trial().bytes += length;
    }

    /// Notes how long it took to write.
    pub(crate) fn wrote(&mut self, time: Duration) {
        self.trial().time += time;
    }

    fn trial(&mut self) -> &mut Trial {
        if self.is_packing { &mut self.packed } else { &mut self.plain }
    }
}

impl fmt::Debug for Squeeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Squeeze { plain, packed, is_packing, .. } = self;
        write!(f, "Squeeze({plain:?}, {packed:?}, {is_packing})")
    }
}

/// Unpacks what the other side packed.
#[derive(Default)]
pub(crate) struct Unsqueeze {
    unpacker: Option<Decoder<'static>>,
    room: Vec<u8>,
}

impl Unsqueeze {
    /// Returns the message that came packed.
    ///
    /// # Errors
    ///
    /// That it is none, or has more than [`MOST`] bytes, or is of a stream that looks back too far.
    pub(crate) fn unpack(&mut self, packed: &[u8]) -> Result<&[u8], Broken> {
        let broken = |_| Broken::Nonsense("a packed message that is none");
        let unpacker = match &mut self.unpacker {
            Some(unpacker) => unpacker,
            none => {
                let mut unpacker = Decoder::new()?;
                unpacker.set_parameter(DParameter::WindowLogMax(WINDOW_LOG))?;
                none.insert(unpacker)
            }
        };
        let mut input = InBuffer::around(packed);
        self.room.resize(self.room.capacity().max(GROWTH), 0);
        let mut done = 0;
        loop {
            let mut out = OutBuffer::around(&mut self.room[done..]);
            unpacker.run(&mut input, &mut out).map_err(broken)?;
            done += out.pos();
            if done < self.room.len() && input.pos() == packed.len() {
                break;
            }
            if done > MOST {
                return Err(Broken::Nonsense("a packed message that is too long"));
            }
            if done == self.room.len() {
                self.room.resize((2 * done).min(MOST + 1), 0);
            }
        }
        Ok(&self.room[..done])
    }
}

impl fmt::Debug for Unsqueeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unsqueeze({})", self.unpacker.is_some())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::MOST;

    use super::{PROBE, ROUND, Squeeze, Unsqueeze};

    /// Sends messages of 64 KiB to a connection that takes so long for a byte; returns how many were packed of those after
    /// the trials.
    fn packed(nanoseconds: u64, byte: impl Fn(usize) -> u8) -> (usize, usize) {
        let (mut squeeze, mut unsqueeze) = (Squeeze::default(), Unsqueeze::default());
        let message: Vec<u8> = (0..64 << 10).map(byte).collect();
        let (mut packed, mut all, mut sent) = (0, 0, 0);
        while sent < ROUND {
            let mut buffer = b"head".to_vec();
            buffer.extend_from_slice(&message);
            let is_packed = squeeze.pack(&mut buffer, 4).expect("packed");
            squeeze.wrote(Duration::from_nanos(buffer.len() as u64 * nanoseconds));
            sent += message.len() as u64;
            if sent > 2 * PROBE + (1 << 20) {
                all += 1;
                packed += usize::from(is_packed);
            }
            if is_packed {
                assert!(unsqueeze.unpack(&buffer[4..]).expect("unpacked") == message);
            }
        }
        (packed, all)
    }

    #[test]
    fn a_slow_connection_gets_packed_what_can_be_packed() {
        // 1 MB a second.
        let (packed, all) = packed(1_000, |i| (i / 100).to_le_bytes()[0]);
        assert_eq!(packed, all);
    }

    #[test]
    fn an_endless_connection_gets_it_plain() {
        let (packed, _) = packed(0, |i| (i / 100).to_le_bytes()[0]);
        assert_eq!(packed, 0);
    }

    #[test]
    fn what_was_not_packed_or_is_too_long_is_refused() {
        assert!(Unsqueeze::default().unpack(b"anything").is_err());
        for level in [1, 19] {
            let bomb = zstd::bulk::compress(&vec![0; 64 << 20], level).expect("packed");
            let mut unsqueeze = Unsqueeze::default();
            assert!(unsqueeze.unpack(&bomb).is_err(), "{level} {}", bomb.len());
            assert!(unsqueeze.room.capacity() <= 2 * MOST, "{}", unsqueeze.room.capacity());
        }
    }

    /// Messages of all lengths, some of them packed, come out as they went in.
    #[test]
    fn messages_come_out_as_they_went_in() {
        let (mut squeeze, mut unsqueeze) = (Squeeze::default(), Unsqueeze::default());
        squeeze.plain.bytes = PROBE;
        let mut state = 1u64;
        for number in 0..400u32 {
            let length = (number as usize * 7919) % 300_000;
            let mut random = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                state.to_be_bytes()[0]
            };
            let message: Vec<u8> = if number % 2 == 0 {
                (0..length).map(|_| random()).collect()
            } else {
                b"the same again and again, ".iter().copied().cycle().take(length).collect()
            };
            squeeze.packed.bytes = 0;
            let mut buffer = message.clone();
            if squeeze.pack(&mut buffer, 0).expect("packed") {
                assert!(unsqueeze.unpack(&buffer).expect("unpacked") == message, "{number}");
            } else {
                assert!(buffer == message && length < 128, "{number}");
            }
        }
    }
}
