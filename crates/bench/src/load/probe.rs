//! Single requests, each on a connection of its own, and the comparison of bodies with files.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use super::request::{self, Request, ranges, text};
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

/// Compares the body of each file with the file below `root`. Paths begin with a slash.
///
/// # Errors
///
/// A response differs from the file, or the server sends none.
pub fn verify(address: SocketAddr, root: &Path, paths: &[String]) -> Result<(), Failure> {
    for path in paths {
        let file = root.join(path.trim_start_matches('/'));
        let expected = std::fs::read(&file).map_err(|e| Failure::at(&file, e))?;
        let response = send(address, &text(address, path, ""))?.with_status(200)?;
        if response.body != expected {
            return Err(Failure::new(format!("the body of {path} differs from the file")));
        }
    }
    Ok(())
}

/// Compares random ranges of a large file with the file below `root`.
///
/// # Errors
///
/// A response differs from the file, or the server sends none.
pub fn verify_ranges(
    address: SocketAddr,
    root: &Path,
    target: &(String, u64),
    count: usize,
) -> Result<(), Failure> {
    let path = root.join(target.0.trim_start_matches('/'));
    let file = File::open(&path).map_err(|e| Failure::at(&path, e))?;
    for Request { text, length, .. } in ranges(address, target, count) {
        let from = text.split("bytes=").nth(1).and_then(|range| range.split('-').next());
        let from = from.and_then(|from| from.parse().ok()).unwrap_or(0);
        let mut expected = vec![0; request::RANGE_BYTES];
        expected.truncate(usize::try_from(length).unwrap_or(request::RANGE_BYTES));
        file.read_exact_at(&mut expected, from).map_err(|e| Failure::at(&path, e))?;
        if send(address, &text)?.with_status(206)?.body != expected {
            return Err(Failure::new(format!("the range from {from} differs from the file")));
        }
    }
    Ok(())
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
