//! Framing of messages. A message is sent as a 4-byte length followed by its bytes, which are
//! compressed if that is faster.

use std::io::{self, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::LISTING_CREDIT_BYTES;
use crate::compress::{Compressor, Decompressor};

/// Maximum length of a message. A listing batch may take [`LISTING_CREDIT_BYTES`], and the extended
/// attributes of its last file may take the same amount again.
pub const MAX_MESSAGE_BYTES: usize = 2 * LISTING_CREDIT_BYTES;

/// Bit of the length field that marks a compressed message.
const COMPRESSED_BIT: u32 = 1 << 31;

/// Number of bytes to buffer before a write.
const BUFFER_BYTES: usize = 64 << 10;

/// Interval at which a blocked read checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Reason why a connection ended.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// The peer closed the connection.
    #[error("the connection was lost")]
    Lost,
    /// A read or write failed.
    #[error("the connection failed: {0}")]
    Failed(#[from] io::Error),
    /// The peer violated the protocol.
    #[error("the remote lop violated the protocol: {0}")]
    ProtocolViolation(&'static str),
    /// The user interrupted the run on this host.
    #[error("interrupted")]
    Stopped,
    /// The peer reported that it was interrupted.
    #[error("the remote lop was interrupted")]
    StoppedRemotely,
}

/// The sending half of a connection. It can be shared between threads.
#[derive(Debug)]
pub struct Outgoing<W> {
    inner: Mutex<Inner<W>>,
}

#[derive(Debug)]
struct Inner<W> {
    /// The connection, or `None` once the sending half is closed.
    to: Option<W>,
    buffer: Vec<u8>,
    compressor: Compressor,
    /// True after a write failed. Further writes are then refused.
    is_broken: bool,
}

impl<W: Write> Outgoing<W> {
    /// Returns a sending half that writes to `to`.
    pub fn new(to: W) -> Outgoing<W> {
        let (buffer, compressor) = (Vec::new(), Compressor::default());
        Outgoing { inner: Mutex::new(Inner { to: Some(to), buffer, compressor, is_broken: false }) }
    }

    /// Sends a message, followed by the file data in `bytes`. The data may stay in the buffer until
    /// [`Outgoing::flush`].
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost, or if the message is longer than [`MAX_MESSAGE_BYTES`].
    /// Once the connection is lost, all further calls fail.
    pub fn send(&self, message: &impl Serialize, bytes: &[u8]) -> Result<(), ConnectionError> {
        self.add(|buffer| {
            let added = postcard::to_extend(message, std::mem::take(buffer));
            *buffer = added.map_err(|_| NOT_ENCODABLE)?;
            buffer.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// Sends a message encoded by [`encode`].
    ///
    /// # Errors
    ///
    /// The same as for [`Outgoing::send`].
    pub fn send_encoded(&self, message: &[u8]) -> Result<(), ConnectionError> {
        self.add(|buffer| {
            buffer.extend_from_slice(message);
            Ok(())
        })
    }

    fn add(
        &self,
        put: impl FnOnce(&mut Vec<u8>) -> Result<(), ConnectionError>,
    ) -> Result<(), ConnectionError> {
        let mut inner = self.lock();
        if inner.is_broken {
            return Err(ConnectionError::Lost);
        }
        let said = inner.add(put);
        if said.is_ok() && inner.buffer.len() < BUFFER_BYTES {
            return Ok(());
        }
        said.and_then(|()| inner.write())
    }

    /// Sends a line of text, which must end with a newline.
    pub(crate) fn say_line(&self, line: &str) -> Result<(), ConnectionError> {
        let mut inner = self.lock();
        inner.buffer.extend_from_slice(line.as_bytes());
        inner.write()
    }

    /// Closes the sending half. The peer then reads the end of the stream.
    pub fn close(&self) {
        self.lock().to = None;
    }

    /// Writes all buffered messages to the connection.
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost, or if an earlier write failed.
    pub fn flush(&self) -> Result<(), ConnectionError> {
        self.lock().write()
    }

    fn lock(&self) -> MutexGuard<'_, Inner<W>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Inner<W> {
    fn add(
        &mut self,
        put: impl FnOnce(&mut Vec<u8>) -> Result<(), ConnectionError>,
    ) -> Result<(), ConnectionError> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        put(&mut self.buffer)?;
        if self.buffer.len() - start - 4 > MAX_MESSAGE_BYTES {
            self.buffer.truncate(start);
            return Err(ConnectionError::ProtocolViolation("the message is too long"));
        }
        let compressed = self.compressor.compress(&mut self.buffer, start + 4);
        self.is_broken |= compressed.is_err();
        let compressed = compressed?;
        let length = self.buffer.len() - start - 4;
        let length = u32::try_from(length).expect("checked above")
            | if compressed { COMPRESSED_BIT } else { 0 };
        self.buffer[start..start + 4].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    fn write(&mut self) -> Result<(), ConnectionError> {
        if self.is_broken {
            return Err(ConnectionError::Lost);
        }
        if self.buffer.is_empty() {
            return Ok(());
        }
        let begin = Instant::now();
        let Some(to) = &mut self.to else { return Err(ConnectionError::Lost) };
        let written = to.write_all(&self.buffer).and_then(|()| to.flush());
        self.compressor.wrote(begin.elapsed());
        self.buffer.clear();
        self.is_broken = written.is_err();
        match written {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(ConnectionError::Lost),
            written => Ok(written?),
        }
    }
}

/// The receiving half of a connection.
#[derive(Debug)]
pub struct Incoming<R> {
    pub(crate) from: BufReader<PolledReader<R>>,
    message: Vec<u8>,
    compressed: Decompressor,
}

impl<R: Read + AsFd> Incoming<R> {
    /// Returns a receiving half that reads from `from`.
    pub fn new(from: R) -> Incoming<R> {
        let from = BufReader::with_capacity(128 << 10, PolledReader { from, is_waiting: true });
        Incoming { from, message: Vec::new(), compressed: Decompressor::default() }
    }

    /// Returns whether the whole next message is already in the buffer.
    pub fn has_more(&self) -> bool {
        let here = self.from.buffer();
        let rest = here.split_first_chunk().map(|(head, rest)| (u32::from_le_bytes(*head), rest));
        rest.is_some_and(|(head, rest)| rest.len() >= (head & !COMPRESSED_BIT) as usize)
    }

    /// Waits for the next message and returns its bytes, to be passed to [`decode`]. Calls
    /// `stopped` periodically and stops waiting if it returns true.
    ///
    /// # Errors
    ///
    /// Returns
    ///
    /// - [`ConnectionError::Stopped`] if `stopped` returned true,
    /// - [`ConnectionError::Lost`] at the end of the stream,
    /// - [`ConnectionError::ProtocolViolation`] if the length exceeds [`MAX_MESSAGE_BYTES`], or if
    ///   the message cannot be decompressed,
    /// - [`ConnectionError::Failed`] if a read fails.
    pub fn next(&mut self, stopped: &dyn Fn() -> bool) -> Result<&[u8], ConnectionError> {
        let mut head = [0; 4];
        self.fill(&mut head, stopped)?;
        let head = u32::from_le_bytes(head);
        let length = (head & !COMPRESSED_BIT) as usize;
        if length > MAX_MESSAGE_BYTES {
            return Err(ConnectionError::ProtocolViolation("the message is too long"));
        }
        let mut message = std::mem::take(&mut self.message);
        message.resize(length, 0);
        let filled = self.fill(&mut message, stopped);
        self.message = message;
        filled?;
        if head & COMPRESSED_BIT == 0 {
            return Ok(&self.message);
        }
        self.compressed.decompress(&self.message)
    }

    fn fill(
        &mut self,
        mut room: &mut [u8],
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), ConnectionError> {
        while !room.is_empty() {
            match self.from.read(room) {
                Ok(0) => return Err(ConnectionError::Lost),
                Ok(read) => room = &mut room[read..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && stopped() => {
                    return Err(ConnectionError::Stopped);
                }
                Err(e) if is_transient(&e) => {}
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => {
                    return Err(ConnectionError::Lost);
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

pub(crate) fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// A reader that returns [`io::ErrorKind::WouldBlock`] after [`POLL_INTERVAL`] without data. The
/// caller can then check for a request to stop.
#[derive(Debug)]
pub(crate) struct PolledReader<R> {
    from: R,
    /// True if reads can block, false for files and memory.
    is_waiting: bool,
}

impl<R: Read + AsFd> Read for PolledReader<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.is_waiting && !is_ready(self.from.as_fd())? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.from.read(room)
    }
}

/// Waits up to [`POLL_INTERVAL`] for data or the end of the stream. Returns false on timeout.
fn is_ready(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    let wait = Timespec::try_from(POLL_INTERVAL).map_err(io::Error::other)?;
    match poll(&mut fds, Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

const NOT_ENCODABLE: ConnectionError =
    ConnectionError::ProtocolViolation("the message cannot be encoded");

/// Encodes a message for [`Outgoing::send_encoded`].
///
/// # Errors
///
/// Fails if the message is longer than [`MAX_MESSAGE_BYTES`].
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, ConnectionError> {
    let encoded = postcard::to_stdvec(message).map_err(|_| NOT_ENCODABLE)?;
    if encoded.len() > MAX_MESSAGE_BYTES { Err(NOT_ENCODABLE) } else { Ok(encoded) }
}

/// Decodes a message. Returns the message and the data that follows it.
///
/// # Errors
///
/// Fails if the bytes are not a valid message of type `M`.
pub fn decode<'m, M: Deserialize<'m>>(message: &'m [u8]) -> Result<(M, &'m [u8]), ConnectionError> {
    postcard::take_from_bytes(message)
        .map_err(|_| ConnectionError::ProtocolViolation("the message is invalid"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{ConnectionError, Incoming, MAX_MESSAGE_BYTES, Outgoing, decode};
    use crate::{FromReceiver, FromSender, KnownPrefix};

    fn pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
        std::io::pipe().expect("a pipe")
    }

    #[test]
    fn messages_arrive_with_their_data() {
        let (from, to) = pipe();
        let have = Some(KnownPrefix { length: 7, digest: [3; 32], only: false });
        let said = FromReceiver::Fetch { request: 1, window: u64::MAX, item: 3, have };
        let bytes: Vec<u8> = (0..200_000u32).map(|i| (i / 7).to_le_bytes()[0]).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let out = Outgoing::new(to);
                for round in 0..50 {
                    out.send(&said, &bytes[..round * 4_000]).expect("send");
                }
                out.flush().expect("flush");
                drop(out);
            });
            let mut incoming = Incoming::new(from);
            for round in 0..50 {
                let message = incoming.next(&|| false).expect("receive");
                let (heard, with) = decode::<FromReceiver<'_>>(message).expect("decode");
                assert_eq!((heard, with.len()), (said.clone(), round * 4_000));
                assert!(*with == bytes[..with.len()]);
            }
            assert!(matches!(incoming.next(&|| false), Err(ConnectionError::Lost)));
        });
    }

    #[test]
    fn oversized_and_truncated_messages_are_refused() {
        let (from, mut to) = pipe();
        to.write_all(&u32::try_from(MAX_MESSAGE_BYTES + 1).expect("fits").to_le_bytes())
            .expect("write");
        assert!(matches!(
            Incoming::new(from).next(&|| false),
            Err(ConnectionError::ProtocolViolation(_))
        ));
        let (from, mut to) = pipe();
        to.write_all(&[9, 0, 0, 0, 1]).expect("write");
        drop(to);
        assert!(matches!(Incoming::new(from).next(&|| false), Err(ConnectionError::Lost)));
        assert!(decode::<FromSender<'_>>(&[200]).is_err());
    }

    #[test]
    fn a_blocked_read_can_be_stopped() {
        let (from, _to) = pipe();
        assert!(matches!(Incoming::new(from).next(&|| true), Err(ConnectionError::Stopped)));
    }
}
