//! Messages as bytes: four bytes that say how many follow, and these, packed where it pays.

use std::io::{self, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::CREDIT;
use crate::squeeze::{Squeeze, Unsqueeze};

/// Most bytes of a message: a listing's of [`CREDIT`], and as much again for what one file more has of attributes.
pub const MOST: usize = 2 * CREDIT;

/// The bit of the length that says that the bytes are packed.
const PACKED: u32 = 1 << 31;

/// Bytes that are collected before they are written.
const COLLECTED: usize = 64 << 10;

/// How often it is looked whether to stop while nothing comes.
const LOOK: Duration = Duration::from_millis(100);

/// Why the conversation ended.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// The other side is gone.
    #[error("the connection was lost")]
    Lost,
    /// It could not be read or written.
    #[error("the connection failed: {0}")]
    Failed(#[from] io::Error),
    /// The other side said what makes no sense.
    #[error("the other side said what it must not: {0}")]
    Nonsense(&'static str),
    /// Who asked to stop.
    #[error("interrupted")]
    Stopped,
    /// The other side was told to stop, and said so.
    #[error("the other side was stopped")]
    StoppedThere,
}

/// What is said to the other side; any number of threads may say things.
#[derive(Debug)]
pub struct Outgoing<W> {
    inner: Mutex<Inner<W>>,
}

#[derive(Debug)]
struct Inner<W> {
    /// Nothing if there is nothing more to say.
    to: Option<W>,
    buffer: Vec<u8>,
    squeeze: Squeeze,
    /// Whether something could not be written: then nothing more is.
    is_broken: bool,
}

impl<W: Write> Outgoing<W> {
    /// Returns one that writes to `to`, packed where that is faster.
    pub fn new(to: W) -> Outgoing<W> {
        let (buffer, squeeze) = (Vec::new(), Squeeze::default());
        Outgoing { inner: Mutex::new(Inner { to: Some(to), buffer, squeeze, is_broken: false }) }
    }

    /// Says something, and after it bytes that belong to it; it may stay here until [`Outgoing::flush`].
    ///
    /// # Errors
    ///
    /// That it cannot be said, as the other side is gone. Nothing is said after that.
    pub fn say(&self, message: &impl Serialize, bytes: &[u8]) -> Result<(), Broken> {
        self.add(|buffer| {
            let added = postcard::to_extend(message, std::mem::take(buffer));
            *buffer = added.map_err(|_| UNENCODED)?;
            buffer.extend_from_slice(bytes);
            Ok(())
        })
    }

    /// Says what was encoded before ([`encode`]).
    pub fn say_encoded(&self, message: &[u8]) -> Result<(), Broken> {
        self.add(|buffer| {
            buffer.extend_from_slice(message);
            Ok(())
        })
    }

    fn add(&self, put: impl FnOnce(&mut Vec<u8>) -> Result<(), Broken>) -> Result<(), Broken> {
        let mut inner = self.lock();
        if inner.is_broken {
            return Err(Broken::Lost);
        }
        let said = inner.add(put);
        if said.is_ok() && inner.buffer.len() < COLLECTED {
            return Ok(());
        }
        said.and_then(|()| inner.write())
    }

    /// Says a line of text.
    pub(crate) fn say_line(&self, line: &str) -> Result<(), Broken> {
        let mut inner = self.lock();
        inner.buffer.extend_from_slice(line.as_bytes());
        inner.write()
    }

    /// Has the other side see that there is nothing more to come.
    pub fn close(&self) {
        self.lock().to = None;
    }

    /// Sends what was said.
    pub fn flush(&self) -> Result<(), Broken> {
        self.lock().write()
    }

    fn lock(&self) -> MutexGuard<'_, Inner<W>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Write> Inner<W> {
    fn add(&mut self, put: impl FnOnce(&mut Vec<u8>) -> Result<(), Broken>) -> Result<(), Broken> {
        let start = self.buffer.len();
        self.buffer.extend_from_slice(&[0; 4]);
        put(&mut self.buffer)?;
        if self.buffer.len() - start - 4 > MOST {
            self.buffer.truncate(start);
            return Err(Broken::Nonsense("a message that is too long"));
        }
        let packed = self.squeeze.pack(&mut self.buffer, start + 4);
        self.is_broken |= packed.is_err();
        let packed = packed?;
        let length = self.buffer.len() - start - 4;
        let length = u32::try_from(length).unwrap_or(0) | if packed { PACKED } else { 0 };
        self.buffer[start..start + 4].copy_from_slice(&length.to_le_bytes());
        Ok(())
    }

    fn write(&mut self) -> Result<(), Broken> {
        if self.is_broken {
            return Err(Broken::Lost);
        }
        if self.buffer.is_empty() {
            return Ok(());
        }
        let begin = Instant::now();
        let Some(to) = &mut self.to else { return Err(Broken::Lost) };
        let written = to.write_all(&self.buffer).and_then(|()| to.flush());
        self.squeeze.wrote(begin.elapsed());
        self.buffer.clear();
        self.is_broken = written.is_err();
        match written {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(Broken::Lost),
            written => Ok(written?),
        }
    }
}

/// What the other side says.
#[derive(Debug)]
pub struct Incoming<R> {
    pub(crate) from: BufReader<Patient<R>>,
    message: Vec<u8>,
    packed: Unsqueeze,
}

impl<R: Read + AsFd> Incoming<R> {
    /// Returns one that reads from `from`.
    pub fn new(from: R) -> Incoming<R> {
        let from = BufReader::with_capacity(128 << 10, Patient { from, is_waiting: true });
        Incoming { from, message: Vec::new(), packed: Unsqueeze::default() }
    }

    /// Returns whether the next message is here already.
    pub fn has_more(&self) -> bool {
        let here = self.from.buffer();
        let rest = here.split_first_chunk().map(|(head, rest)| (u32::from_le_bytes(*head), rest));
        rest.is_some_and(|(head, rest)| rest.len() >= (head & !PACKED) as usize)
    }

    /// Waits for the next message; `stopped` is asked now and then whether to go on waiting. To be given to
    /// [`decode`].
    ///
    /// # Errors
    ///
    /// [`Broken::Lost`] where there are no more, others as they say.
    pub fn next(&mut self, stopped: &dyn Fn() -> bool) -> Result<&[u8], Broken> {
        let mut head = [0; 4];
        self.fill(&mut head, stopped)?;
        let head = u32::from_le_bytes(head);
        let length = (head & !PACKED) as usize;
        if length > MOST {
            return Err(Broken::Nonsense("a message that is too long"));
        }
        let mut message = std::mem::take(&mut self.message);
        message.resize(length, 0);
        let filled = self.fill(&mut message, stopped);
        self.message = message;
        filled?;
        if head & PACKED == 0 {
            return Ok(&self.message);
        }
        self.packed.unpack(&self.message)
    }

    fn fill(&mut self, mut room: &mut [u8], stopped: &dyn Fn() -> bool) -> Result<(), Broken> {
        while !room.is_empty() {
            match self.from.read(room) {
                Ok(0) => return Err(Broken::Lost),
                Ok(read) => room = &mut room[read..],
                Err(e) if e.kind() == io::ErrorKind::WouldBlock && stopped() => {
                    return Err(Broken::Stopped);
                }
                Err(e) if is_passing(&e) => {}
                Err(e) if e.kind() == io::ErrorKind::ConnectionReset => return Err(Broken::Lost),
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }
}

pub(crate) fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

/// Reads as soon as there is something, and looks up now and then ([`io::ErrorKind::WouldBlock`]) if there is not.
#[derive(Debug)]
pub(crate) struct Patient<R> {
    from: R,
    /// False where there is always something: a file, memory.
    is_waiting: bool,
}

impl<R: Read + AsFd> Read for Patient<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if self.is_waiting && !is_ready(self.from.as_fd())? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.from.read(room)
    }
}

/// Waits a while; returns whether there is something to read, or the end.
fn is_ready(fd: BorrowedFd<'_>) -> io::Result<bool> {
    let mut fds = [PollFd::new(&fd, PollFlags::IN)];
    let wait = Timespec::try_from(LOOK).map_err(io::Error::other)?;
    match poll(&mut fds, Some(&wait)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}

const UNENCODED: Broken = Broken::Nonsense("what cannot be encoded");

/// Returns a message as [`Outgoing::say_encoded`] takes it.
///
/// # Errors
///
/// That it cannot be one: it is longer than [`MOST`].
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, Broken> {
    let encoded = postcard::to_stdvec(message).map_err(|_| UNENCODED)?;
    if encoded.len() > MOST { Err(UNENCODED) } else { Ok(encoded) }
}

/// Returns a message, and the bytes that came with it.
///
/// # Errors
///
/// That it is none.
pub fn decode<'m, M: Deserialize<'m>>(message: &'m [u8]) -> Result<(M, &'m [u8]), Broken> {
    postcard::take_from_bytes(message).map_err(|_| Broken::Nonsense("no message that there is"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{Broken, Incoming, MOST, Outgoing, decode};
    use crate::{FromReceiver, FromSender, Have};

    fn pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
        std::io::pipe().expect("there are pipes")
    }

    #[test]
    fn what_is_said_is_heard_with_its_bytes() {
        let (from, to) = pipe();
        let have = Some(Have { length: 7, digest: [3; 32], only: false });
        let said = FromReceiver::Fetch { request: 1, window: u64::MAX, item: 3, have };
        let bytes: Vec<u8> = (0..200_000u32).map(|i| (i / 7).to_le_bytes()[0]).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let out = Outgoing::new(to);
                for round in 0..50 {
                    out.say(&said, &bytes[..round * 4_000]).expect("said");
                }
                out.flush().expect("flushed");
                drop(out);
            });
            let mut incoming = Incoming::new(from);
            for round in 0..50 {
                let message = incoming.next(&|| false).expect("heard");
                let (heard, with) = decode::<FromReceiver<'_>>(message).expect("understood");
                assert_eq!((heard, with.len()), (said.clone(), round * 4_000));
                assert!(*with == bytes[..with.len()]);
            }
            assert!(matches!(incoming.next(&|| false), Err(Broken::Lost)));
        });
    }

    #[test]
    fn nothing_is_taken_that_is_too_long_and_a_half_message_is_a_loss() {
        let (from, mut to) = pipe();
        to.write_all(&u32::try_from(MOST + 1).expect("fits").to_le_bytes()).expect("written");
        assert!(matches!(Incoming::new(from).next(&|| false), Err(Broken::Nonsense(_))));
        let (from, mut to) = pipe();
        to.write_all(&[9, 0, 0, 0, 1]).expect("written");
        drop(to);
        assert!(matches!(Incoming::new(from).next(&|| false), Err(Broken::Lost)));
        assert!(decode::<FromSender<'_>>(&[200]).is_err());
    }

    #[test]
    fn who_waits_can_be_stopped() {
        let (from, _to) = pipe();
        assert!(matches!(Incoming::new(from).next(&|| true), Err(Broken::Stopped)));
    }
}
