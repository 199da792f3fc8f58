//! Tables of requests: files, ranges of a large file, names that do not exist, and files that the
//! client already has.
//!
//! Each request is prepared completely, with the status and the length of its response. Clients only
//! choose among them.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::probe;
use crate::Failure;
use crate::corpus::Dice;

/// The length of a range in bytes.
pub const RANGE_BYTES: usize = 64 << 10;

/// A request, and the response that it must get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// All bytes of the request.
    pub text: String,
    /// The expected status.
    pub status: u16,
    /// The expected length of the body in bytes.
    pub length: u64,
}

/// Returns the bytes of a request. `fields` are further lines of the head, each with its line end.
pub fn text(address: SocketAddr, path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n{fields}\r\n")
}

/// Returns a request for each file, given its path and its size.
pub fn files(address: SocketAddr, files: &[(String, u64)]) -> Vec<Request> {
    let request = |(path, length): &(String, u64)| Request {
        text: text(address, path, ""),
        status: 200,
        length: *length,
    };
    files.iter().map(request).collect()
}

/// Returns requests for ranges of [`RANGE_BYTES`] at random offsets of a file.
pub fn ranges(address: SocketAddr, (path, size): &(String, u64), count: usize) -> Vec<Request> {
    let length = (RANGE_BYTES as u64).min(*size);
    let mut dice = Dice::new(size ^ length);
    let range = |_| {
        let from = dice.below(size - length + 1);
        let to = from + length - 1;
        let text = text(address, path, &format!("Range: bytes={from}-{to}\r\n"));
        Request { text, status: 206, length }
    };
    (0..count).map(range).collect()
}

/// Returns requests for names that do not exist. Asks the server once for each, to learn the length
/// of its response.
///
/// # Errors
///
/// The server does not answer with 404 and a length.
pub fn missing(address: SocketAddr, count: usize) -> Result<Vec<Request>, Failure> {
    let request = |number| {
        let text = text(address, &format!("/missing-{number:06}"), "");
        let length = probe::send(address, &text)?.with_status(404)?.body.len() as u64;
        Ok(Request { text, status: 404, length })
    };
    (0..count).map(request).collect()
}

/// Returns requests for files on condition that they changed. Asks the server once for each, to
/// learn its `ETag` or, without one, its `Last-Modified`.
///
/// # Errors
///
/// The server does not answer with 200 and one of the two fields.
pub fn unchanged(address: SocketAddr, files: &[(String, u64)]) -> Result<Vec<Request>, Failure> {
    let request = |(path, _): &(String, u64)| {
        let response = probe::send(address, &text(address, path, ""))?.with_status(200)?;
        let condition = response.field("ETag").map(|tag| format!("If-None-Match: {tag}\r\n"));
        let condition = condition.or_else(|| {
            response.field("Last-Modified").map(|time| format!("If-Modified-Since: {time}\r\n"))
        });
        let condition = condition.ok_or_else(|| Failure::new("no ETag and no Last-Modified"))?;
        Ok(Request { text: text(address, path, &condition), status: 304, length: 0 })
    };
    files.iter().map(request).collect()
}

#[cfg(test)]
mod tests {
    use super::{RANGE_BYTES, files, ranges};
    use std::net::SocketAddr;

    fn address() -> SocketAddr {
        ([127, 0, 0, 1], 8080).into()
    }

    #[test]
    fn a_request_is_complete() {
        let table = files(address(), &[("/small/f1".into(), 8_192), ("/big".into(), 7)]);
        assert_eq!(table[0].text, "GET /small/f1 HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n");
        assert_eq!((table[0].status, table[0].length, table[1].length), (200, 8_192, 7));
    }

    #[test]
    fn ranges_lie_within_the_file() {
        let size = 100_000;
        let table = ranges(address(), &("/big".into(), size), 1_000);
        let mut starts = Vec::new();
        for request in &table {
            let range = request.text.split("bytes=").nth(1).expect("a range");
            let (from, to) = range.trim().split_once('-').expect("two numbers");
            let (from, to): (u64, u64) = (from.parse().expect("n"), to.parse().expect("n"));
            assert_eq!((to - from + 1, request.length), (RANGE_BYTES as u64, RANGE_BYTES as u64));
            assert!(to < size, "{range}");
            starts.push(from);
        }
        starts.sort_unstable();
        starts.dedup();
        assert!(starts.len() > 900, "random offsets");
    }

    #[test]
    fn a_range_of_a_small_file_is_the_file() {
        let table = ranges(address(), &("/f".into(), 10), 1);
        assert!(table[0].text.contains("Range: bytes=0-9\r\n"), "{table:?}");
        assert_eq!(table[0].length, 10);
    }
}
