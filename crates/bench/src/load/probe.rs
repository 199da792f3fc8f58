//! Single requests, each on a connection of its own.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::response::{Head, Parser, end_of_head};
use crate::Failure;

/// The time limit of a response.
const LIMIT: Duration = Duration::from_secs(30);

/// A complete response.
#[derive(Debug)]
pub struct Response {
    /// The head, with its empty line.
    head: String,
    status: u16,
    /// The body.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns the value of a field of the head.
    pub fn field(&self, name: &str) -> Option<&str> {
        let fields = self.head.lines().filter_map(|line| line.split_once(':'));
        let mut values = fields.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        values.next().map(|(_, value)| value.trim())
    }

    /// Returns the length of the head in bytes.
    pub fn head_bytes(&self) -> usize {
        self.head.len()
    }

    /// Returns the response if it has this status.
    ///
    /// # Errors
    ///
    /// It has another status.
    pub fn with_status(self, status: u16) -> Result<Self, Failure> {
        if self.status == status {
            return Ok(self);
        }
        Err(Failure::new(format!("status {} instead of {status}", self.status)))
    }
}

/// Sends a request and receives the response.
///
/// # Errors
///
/// The server refuses the connection, or sends no complete response.
pub fn send(address: SocketAddr, text: &str) -> Result<Response, Failure> {
    let line = text.lines().next().unwrap_or_default();
    let (_, head, mut bytes) =
        exchange(address, text).map_err(|e| Failure::new(format!("{address}, {line}: {e}")))?;
    let body = bytes.split_off(end_of_head(&bytes).unwrap_or(bytes.len()));
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok(Response { head: text, status: head.status, body })
}

/// Sends a request on a new connection and receives all bytes of the response.
///
/// # Errors
///
/// Same as [`send`].
pub(super) fn exchange(
    address: SocketAddr,
    text: &str,
) -> std::io::Result<(TcpStream, Head, Vec<u8>)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.write_all(text.as_bytes())?;
    let mut parser = Parser::default();
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..count]);
        if let Some(head) = parser.feed(&buffer[..count]).map_err(std::io::Error::other)? {
            return Ok((stream, head, bytes));
        }
    }
}

/// Returns the status of the response to a request, without its body.
///
/// # Errors
///
/// The server refuses the connection, or sends no complete head.
pub fn status(address: SocketAddr, text: &str) -> Result<u16, Failure> {
    let head = || -> std::io::Result<u16> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(LIMIT))?;
        stream.write_all(text.as_bytes())?;
        let mut start = [0; 12];
        stream.read_exact(&mut start)?;
        let status = std::str::from_utf8(&start[9..]).ok().and_then(|status| status.parse().ok());
        status.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
    };
    head().map_err(|e| Failure::new(format!("{address}: {e}")))
}
