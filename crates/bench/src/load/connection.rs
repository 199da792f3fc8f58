//! A client: a connection without blocking, and the request that it waits for.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use rustix::net::{RecvFlags, recv};

use super::response::{Head, Parser};

/// The number of bytes that are discarded at a time.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// The number of bytes received at a time, as many clients do.
const PIECE_BYTES: usize = 16 << 10;

/// The outcome of receiving.
#[derive(Debug)]
pub(super) enum Received {
    /// The response is not complete. The number of bytes that arrived.
    Part(u64),
    /// The response is complete.
    Whole(Head),
    /// The server closed the connection before it sent any part of the response.
    Closed,
    /// Any other end of the connection.
    Broken(String),
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    parser: Parser,
    /// The index of the current request.
    pub(super) request: usize,
    /// The time from which the latency of the current request counts.
    pub(super) since: Instant,
    /// The number of responses that were received.
    pub(super) responses: u64,
}

impl Connection {
    /// Connects to a server.
    ///
    /// # Errors
    ///
    /// The server refuses the connection.
    pub(super) fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let parser = Parser::default();
        Ok(Self { stream, parser, request: 0, since: Instant::now(), responses: 0 })
    }

    /// Sends a request, which the buffer of the socket always has room for.
    ///
    /// # Errors
    ///
    /// The server closed the connection.
    pub(super) fn send(&mut self, text: &str) -> io::Result<()> {
        let sent = self.stream.write(text.as_bytes())?;
        if sent < text.len() { Err(ErrorKind::WriteZero.into()) } else { Ok(()) }
    }

    /// Receives what has arrived. Most bytes of large bodies are discarded by the kernel
    /// (`MSG_TRUNC`). The buffer has [`BUFFER_BYTES`].
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> Received {
        let mut arrived = 0;
        loop {
            let left = self.parser.body_left();
            let discard = left >= buffer.len() as u64;
            let wanted = if discard { buffer.len() } else { PIECE_BYTES };
            let bytes = match self.take(&mut buffer[..wanted], discard) {
                Ok(0) if self.parser.is_fresh() => return Received::Closed,
                Ok(0) => return Received::Broken("the response ends too early".into()),
                Ok(bytes) => bytes,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Received::Part(arrived),
                Err(e) if e.kind() == ErrorKind::ConnectionReset && self.parser.is_fresh() => {
                    return Received::Closed;
                }
                Err(e) => return Received::Broken(e.to_string()),
            };
            arrived += bytes as u64;
            let complete = if discard {
                self.parser.skip(bytes as u64)
            } else {
                self.parser.feed(&buffer[..bytes])
            };
            match complete {
                Ok(Some(head)) => {
                    self.responses += 1;
                    return Received::Whole(head);
                }
                // More has arrived only if the piece was filled.
                Ok(None) if bytes < wanted || discard => return Received::Part(arrived),
                Ok(None) => {}
                Err(complaint) => return Received::Broken(complaint),
            }
        }
    }

    fn take(&self, buffer: &mut [u8], discard: bool) -> io::Result<usize> {
        if discard {
            return Ok(recv(&self.stream, buffer, RecvFlags::TRUNC)?.1);
        }
        (&self.stream).read(buffer)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
