//! The messages between a client and a watcher. A client sends one question, the watcher sends one
//! answer, and the connection ends.
//!
//! A message consists of a header of eight bytes (four bytes that identify the protocol, and the length
//! in little-endian order) and its fields in the format of postcard. Usually, both sides have the same
//! version of lop. A side that does not know the protocol of the other fails with an error. A reader
//! does not trust the length in the header: it allocates memory only for bytes that arrive.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::answer::Position;

/// Identifies the protocol. The last byte is the version.
const MAGIC: [u8; 4] = *b"lpw\x02";

/// Maximum length of a question: thousands of roots with long paths.
pub(crate) const MAX_QUESTION_BYTES: u32 = 4 << 20;

/// Maximum length of an answer. An answer can be longer than the notes of the watcher, because it repeats
/// long paths that many directories have in common.
pub(crate) const MAX_ANSWER_BYTES: u32 = 64 << 20;

/// A question of a client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// Asks for all changes that a scan has to examine. The watcher replies with an [`crate::Answer`].
    Changes(Question),
    /// Asks for the changes below these roots since these positions, to show them to a person. The
    /// watcher replies with an [`crate::Unseen`].
    Unseen(Vec<(Vec<u8>, Option<Position>)>),
}

/// The question of a scan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Question {
    /// Absolute paths of directories.
    pub(crate) roots: Vec<Vec<u8>>,
    /// The position of the last scan. The answer contains the changes since then.
    pub(crate) since: Option<Position>,
}

/// Encodes a message with its header. Returns `None` as soon as the message gets longer than `max` bytes.
pub(crate) fn encode(message: &impl Serialize, max: u32) -> Option<Vec<u8>> {
    let mut encoded = Limited { bytes: [MAGIC, [0; 4]].concat(), left: max as usize };
    postcard::to_io(message, &mut encoded).ok()?;
    let mut bytes = encoded.bytes;
    let length = u32::try_from(bytes.len() - 8).ok()?;
    bytes[4..8].copy_from_slice(&length.to_le_bytes());
    Some(bytes)
}

/// Bytes in memory, up to a maximum length.
struct Limited {
    bytes: Vec<u8>,
    left: usize,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(io::ErrorKind::FileTooLarge)?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
    /// Fails if the peer is gone, and with `TimedOut` after the deadline. The peer may then have received
    /// a part of the message.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    /// Receives a message of at most `max` bytes.
    ///
    /// # Errors
    ///
    /// Fails if the peer is gone, sends something else, or does not send the message before the deadline.
    pub(crate) fn receive<T: DeserializeOwned>(&mut self, max: u32) -> io::Result<T> {
        let mut head = [0; 8];
        self.read_exact(&mut head)?;
        let [a, b, c, d, length @ ..] = head;
        if [a, b, c, d] != MAGIC {
            return Err(invalid("the watcher uses another protocol; restart it"));
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

    /// Returns the time until the deadline.
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

/// Turns `EAGAIN`, with which a socket reports a timeout, into `TimedOut`.
pub(crate) fn timed_out(error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock { io::ErrorKind::TimedOut.into() } else { error }
}

fn invalid(text: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

#[cfg(test)]
mod tests;
