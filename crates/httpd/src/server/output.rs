//! Sends a response. A response that the socket does not take at once waits in its connection.

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::clock::Tail;
use super::limits::{CALL, TURN};
use super::rates::{Allowance, Quota, Rates};
use super::response::{Body, Bytes, FileRange, Part, Parts, Response, read_exactly};
use super::stream::Stream;

/// Bytes of a file that are read at a time if they have to be encrypted.
const PIECE: usize = 32 << 10;

/// Number of `sendfile` calls whose bytes are looked up in the page cache at a time.
const CALLS_AHEAD: u64 = 8;

/// Number of bytes that are left of a file from which on it is sent in full segments. This saves a quarter of the
/// processor time for a file of 4 GiB, but costs more for files of 1 MiB (docs/design/sharing.md).
const CORKED: u64 = 16 << 20;

/// Time that a program needs at most, as a rule, between the changes of the times and of the size of a file.
const APPEND_TIME: Duration = Duration::from_millis(20);

/// A response that is being sent.
pub(super) struct Output {
    head: Option<Bytes>,
    tail: Option<Tail>,
    body: Option<Bytes>,
    /// Number of bytes of `head`, `tail` and `body` that were sent.
    at: usize,
    file: Option<FileRange>,
    /// Offset up to which the bytes of the file were in the page cache.
    cached: u64,
    parts: Option<Box<dyn Parts>>,
    sent: u64,
}

/// How far a response got.
pub(super) enum Progress {
    /// Everything was sent.
    Done,
    /// The turn of the connection is over; the socket may take more.
    Again,
    /// The rate limits allow no bytes until this time has passed.
    Wait(Duration),
    /// Another thread has to do some work first.
    Work(Work),
}

/// Work that may wait for a disk.
pub(super) enum Work {
    /// Send bytes of a file.
    Send(FileRange, usize),
    /// Read bytes of a file.
    Read(FileRange, usize),
    /// Get the next part.
    Next(Box<dyn Parts>),
}

/// The result of work.
pub(super) enum Worked {
    Sent(io::Result<usize>),
    Read(io::Result<Bytes>),
    Next(Box<dyn Parts>, io::Result<Option<Part>>),
}

impl Work {
    /// Does the work. `socket` is that of the connection.
    pub(super) fn run(self, socket: &Arc<OwnedFd>) -> Worked {
        match self {
            Work::Send(range, length) => {
                Worked::Sent(unless_growing(|| send_several(&range, socket, length)))
            }
            Work::Read(range, length) => {
                let read_at =
                    |buffer: &mut [u8], at| range.served.file.read_at(buffer, at).map(Some);
                let read = unless_growing(|| read(&range, length, read_at));
                Worked::Read(read.and_then(|read| read.ok_or(io::ErrorKind::UnexpectedEof.into())))
            }
            Work::Next(mut parts) => {
                let part = parts.next();
                Worked::Next(parts, part)
            }
        }
    }
}

impl Output {
    /// Prepares a response. `tail` is the end of its head.
    pub(super) fn new(response: Response, tail: Tail, is_head: bool) -> Output {
        let mut output = Output {
            head: Some(response.head),
            tail: Some(tail),
            body: None,
            at: 0,
            file: None,
            cached: 0,
            parts: None,
            sent: 0,
        };
        match response.body {
            _ if is_head => {}
            Body::Empty => {}
            Body::Bytes(bytes) => output.body = Some(bytes),
            Body::File(range) => output.file = Some(range),
            Body::Parts(parts) => output.parts = Some(parts),
        }
        output
    }

    /// Returns the number of bytes that were sent.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends as much as the socket takes and the rate limits allow, until the turn of the connection is over.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::WouldBlock`] if the socket takes nothing now. After any other error,
    /// the response cannot be completed and the connection has to be closed.
    pub(super) fn write(
        &mut self,
        stream: &mut Stream,
        quota: &mut Quota,
        rates: &Rates,
        now: Instant,
    ) -> io::Result<Progress> {
        let end = self.sent + TURN as u64;
        while self.sent < end {
            let in_memory = self.in_memory();
            let in_file = self.file.as_ref().map_or(0, |file| file.end - file.at);
            if in_memory == 0 && in_file == 0 {
                self.forget_memory();
                if let Some(parts) = self.parts.take() {
                    return Ok(Progress::Work(Work::Next(parts)));
                }
                stream.flush()?;
                return Ok(Progress::Done);
            }
            let wanted = if in_memory > 0 { in_memory } else { to_usize(in_file) };
            let allowed = match quota.allow(wanted, self.sent, rates, now) {
                Allowance::Bytes(allowed) => allowed,
                Allowance::Wait(time) => return Ok(Progress::Wait(time)),
            };
            let sent = if in_memory > 0 {
                let more = in_file > 0 || self.parts.is_some();
                let sent = self.send_memory(stream, allowed, more)?;
                self.at += sent;
                sent
            } else {
                match self.send_file(stream, allowed)? {
                    Ok(sent) => sent,
                    Err(work) => return Ok(Progress::Work(work)),
                }
            };
            self.count(sent, quota, rates);
        }
        Ok(Progress::Again)
    }

    /// Takes the result of work.
    ///
    /// # Errors
    ///
    /// Fails if the work failed; [`io::ErrorKind::WouldBlock`] only means that the socket was full.
    pub(super) fn take(
        &mut self,
        worked: Worked,
        quota: &mut Quota,
        rates: &Rates,
    ) -> io::Result<()> {
        match worked {
            Worked::Sent(sent) => {
                let sent = sent?;
                self.advance_file(sent);
                self.count(sent, quota, rates);
            }
            Worked::Read(bytes) => {
                let bytes = bytes?;
                self.advance_file(bytes.len());
                self.set_memory(bytes);
            }
            Worked::Next(parts, part) => match part? {
                Some(Part::Bytes(bytes)) => {
                    self.parts = Some(parts);
                    self.set_memory(bytes);
                }
                Some(Part::File(range)) => {
                    self.parts = Some(parts);
                    self.cached = range.at;
                    self.file = Some(range);
                }
                None => {}
            },
        }
        Ok(())
    }

    fn in_memory(&self) -> usize {
        self.slices().iter().map(|slice| slice.len()).sum::<usize>() - self.at
    }

    fn slices(&self) -> [&[u8]; 3] {
        [
            self.head.as_deref().unwrap_or_default(),
            self.tail.as_ref().map_or(&[], Tail::bytes),
            self.body.as_deref().unwrap_or_default(),
        ]
    }

    fn send_memory(&self, stream: &mut Stream, allowed: usize, more: bool) -> io::Result<usize> {
        let mut skip = self.at;
        let mut left = allowed;
        let rest = self.slices().map(|slice| {
            let start = skip.min(slice.len());
            let end = (start + left).min(slice.len());
            skip -= start;
            left -= end - start;
            IoSlice::new(&slice[start..end])
        });
        stream.send(&rest, more || left == 0 && allowed < self.in_memory())
    }

    fn forget_memory(&mut self) {
        (self.head, self.tail, self.body, self.at) = (None, None, None, 0);
    }

    fn set_memory(&mut self, bytes: Bytes) {
        self.forget_memory();
        self.body = Some(bytes);
    }

    /// Sends bytes of the file if they are in the page cache. Returns work for another thread if not.
    fn send_file(
        &mut self,
        stream: &mut Stream,
        allowed: usize,
    ) -> io::Result<Result<usize, Work>> {
        let Some(range) = &mut self.file else { return Ok(Ok(0)) };
        if !stream.is_plain() {
            let length = allowed.min(PIECE);
            let file = &range.served.file;
            let bytes = match read(range, length, |buffer, at| file.read_cached(buffer, at)) {
                Ok(Some(bytes)) => bytes,
                Err(error) if !has_changed(&error) => return Err(error),
                Ok(None) | Err(_) => return Ok(Err(Work::Read(range.clone(), length))),
            };
            self.advance_file(bytes.len());
            self.set_memory(bytes);
            return Ok(Ok(0));
        }
        if range.end - range.at > CORKED {
            stream.cork();
        }
        if range.at >= self.cached {
            let Some(cached) = cached(range, allowed) else {
                return Ok(Err(Work::Send(range.clone(), allowed)));
            };
            self.cached = range.at + cached;
        }
        let length = allowed.min(to_usize(self.cached - range.at));
        match send(range, stream.socket(), length) {
            Err(error) if has_changed(&error) => Ok(Err(Work::Send(range.clone(), allowed))),
            sent => {
                let sent = sent?;
                self.advance_file(sent);
                Ok(Ok(sent))
            }
        }
    }

    fn advance_file(&mut self, bytes: usize) {
        if let Some(range) = &mut self.file {
            range.at += bytes as u64;
        }
    }

    fn count(&mut self, bytes: usize, quota: &mut Quota, rates: &Rates) {
        quota.spend(bytes, self.sent, rates);
        self.sent += bytes as u64;
    }
}

/// Does the work again after a while if the file has changed. A program that appends to a file changes its times
/// first and its size afterwards. In between, the file looks as if other bytes had replaced the old ones.
fn unless_growing<T>(work: impl Fn() -> io::Result<T>) -> io::Result<T> {
    match work() {
        Err(error) if has_changed(&error) => {
            std::thread::sleep(APPEND_TIME);
            work()
        }
        done => done,
    }
}

/// Returns whether work failed because the file has changed.
fn has_changed(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::InvalidData
}

/// Returns how many bytes at the start of a range are known to be in the page cache: those of
/// [`CALLS_AHEAD`] calls that send `length` bytes each, or only those of the first call. Returns `None` if
/// bytes of the first call are missing, or if the kernel does not report this.
fn cached(range: &FileRange, length: usize) -> Option<u64> {
    [length as u64 * CALLS_AHEAD, length as u64]
        .map(|length| length.min(range.end - range.at))
        .into_iter()
        .find(|&length| range.served.file.is_cached(range.at, length) == Some(true))
}

/// Sends bytes of a file. Fails if the file has changed or is shorter than it was.
fn send(range: &FileRange, socket: &Arc<OwnedFd>, length: usize) -> io::Result<usize> {
    range.served.check()?;
    match range.served.file.send_to(socket.as_fd(), range.at, length.min(CALL))? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        sent => Ok(sent),
    }
}

/// Sends bytes of a file until the socket is full. An error after the first bytes is left to the next call.
fn send_several(range: &FileRange, socket: &Arc<OwnedFd>, length: usize) -> io::Result<usize> {
    let mut sent = send(range, socket, length)?;
    let length = length.min(TURN);
    while sent < length {
        let rest = FileRange { at: range.at + sent as u64, ..range.clone() };
        match send(&rest, socket, length - sent) {
            Ok(more) => sent += more,
            Err(_) => break,
        }
    }
    Ok(sent)
}

/// Reads `length` bytes of a file. `read` fills a buffer from an offset.
fn read(
    range: &FileRange,
    length: usize,
    read: impl FnOnce(&mut [u8], u64) -> io::Result<Option<usize>>,
) -> io::Result<Option<Bytes>> {
    range.served.check()?;
    read_exactly(length, |buffer| read(buffer, range.at))
}

fn to_usize(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
