//! The messages between a client and a watcher: one question, one answer, then the connection ends.
//!
//! A message consists of a head of eight bytes (four bytes that name the protocol, and the length
//! in little-endian order) and its fields in the format of postcard. Both sides have the same
//! version of lop in most cases; a side that does not know the protocol of the other fails with an
//! error. A length never makes a reader allocate more than the bytes that arrive.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::answer::Position;

/// Names the protocol. The last byte is its number.
const MAGIC: [u8; 4] = *b"lpw\x02";

/// Maximum length of a question: thousands of roots with long paths.
pub(crate) const MAX_QUESTION_BYTES: u32 = 4 << 20;

/// Maximum length of an answer. The notes of a watcher take less memory, but many directories can
/// have long paths in common.
pub(crate) const MAX_ANSWER_BYTES: u32 = 64 << 20;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// A scan asks for everything that has changed. An [`crate::Answer`] follows.
    Changes(Question),
    /// Someone wants to know what no scan has seen yet, below these roots since these positions. An
    /// [`crate::Unseen`] follows.
    Unseen(Vec<(Vec<u8>, Option<Position>)>),
}

/// The question of a scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// Absolute paths of directories.
    pub(crate) roots: Vec<Vec<u8>>,
    /// The position since which changes count.
    pub(crate) since: Option<Position>,
}

/// Encodes a message with its head. Returns `None` if it is longer than `max` bytes.
pub(crate) fn encode(message: &impl Serialize, max: u32) -> Option<Vec<u8>> {
    let head = [MAGIC, [0; 4]].concat();
    let mut bytes = postcard::to_extend(message, head).ok()?;
    let length = u32::try_from(bytes.len() - 8).ok().filter(|&length| length <= max)?;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    Some(bytes)
}

/// A connection whose operations fail after a point in time, however slowly the peer works.
pub(crate) struct Connection {
    stream: UnixStream,
    deadline: Instant,
}

impl Connection {
    pub(crate) fn new(stream: UnixStream, timeout: Duration) -> Connection {
        Connection { stream, deadline: Instant::now() + timeout }
    }

    /// Moves the deadline.
    pub(crate) fn extend(&mut self, timeout: Duration) {
        self.deadline = Instant::now() + timeout;
    }

    /// Sends encoded bytes.
    ///
    /// # Errors
    ///
    /// Fails if the peer is gone, and with `TimedOut` after the deadline. The peer may have received
    /// a part.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    /// Receives a message of at most `max` bytes.
    ///
    /// # Errors
    ///
    /// Fails if the peer is gone, sends something else, or is too slow.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self, max: u32) -> io::Result<T> {
        let mut head = [0; 8];
        self.read_exact(&mut head)?;
        let [a, b, c, d, length @ ..] = head;
        if [a, b, c, d] != MAGIC {
            return Err(invalid("another protocol; stop the watcher and start it again"));
        }
        let length = u32::from_le_bytes(length);
        if length > max {
            return Err(invalid("a message is too long"));
        }
        let mut bytes = Vec::new();
        let received = self.take(length.into()).read_to_end(&mut bytes)?;
        if received < length as usize {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match postcard::take_from_bytes(&bytes) {
            Ok((message, [])) => Ok(message),
            _ => Err(invalid("a message is malformed")),
        }
    }

    /// Returns the time that is left.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for Connection {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(self.left()?)?;
        self.stream.read(buffer).map_err(timed_out)
    }
}

impl Write for Connection {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(self.left()?)?;
        self.stream.write(bytes).map_err(timed_out)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A socket with a timeout fails with `EAGAIN`.
pub(crate) fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests;
