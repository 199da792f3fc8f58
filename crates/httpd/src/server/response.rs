//! Responses: a head that is ready to send, and a body that may be a file.

use std::fmt::{self, Write as _};
use std::io;
use std::sync::Arc;

use fsops::{File, Stat};

/// Bytes that several responses can share.
pub type Bytes = Arc<[u8]>;

/// A response.
#[derive(Debug)]
pub struct Response {
    /// The status line and the fields, each with its line end. The server adds `Date`, `Connection`
    /// and the empty line.
    pub head: Bytes,
    /// The body. The server does not send it if the method is `HEAD`.
    pub body: Body,
}

/// The body of a response. Its length MUST be the one in the head.
pub enum Body {
    /// No bytes.
    Empty,
    /// Bytes in memory.
    Bytes(Bytes),
    /// A part of a file.
    File(FileRange),
    /// Several parts, one after the other.
    Parts(Box<dyn Parts>),
}

/// A body that is produced in parts while it is sent.
pub trait Parts: Send {
    /// Returns the next part, or `None` after the last one. The server calls this on a thread that
    /// may wait for a disk.
    ///
    /// # Errors
    ///
    /// After an error, the server closes the connection, so the client notices that bytes are missing.
    fn next(&mut self) -> io::Result<Option<Part>>;
}

/// A part of a body.
#[derive(Debug)]
pub enum Part {
    /// Bytes in memory.
    Bytes(Bytes),
    /// A part of a file.
    File(FileRange),
}

/// A file that is sent.
#[derive(Debug)]
pub struct Served {
    /// The open file.
    pub file: File,
    /// Its metadata when the response was made.
    pub stat: Stat,
    /// True if the response promises these very bytes, for example by a strong entity tag. Then any
    /// change of the file ends the response. Otherwise, the file may grow.
    pub is_exact: bool,
}

impl Served {
    /// Checks whether the file still has the bytes that the response announced.
    ///
    /// # Errors
    ///
    /// Fails if the file has changed, or if its metadata cannot be read.
    pub fn check(&self) -> io::Result<()> {
        let now = self.file.stat()?;
        let same =
            now.same_content(&self.stat) && (!self.is_exact || now.ctime_ns == self.stat.ctime_ns);
        let has_grown = !self.is_exact && now.size > self.stat.size;
        if same || has_grown { Ok(()) } else { Err(io::ErrorKind::InvalidData.into()) }
    }
}

/// The bytes of a file from one offset up to another.
#[derive(Clone, Debug)]
pub struct FileRange {
    /// The file.
    pub served: Arc<Served>,
    /// Offset of the next byte to send.
    pub at: u64,
    /// Offset after the last byte.
    pub end: u64,
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Body::Empty => f.write_str("Empty"),
            Body::Bytes(bytes) => write!(f, "Bytes({})", bytes.len()),
            Body::File(range) => range.fmt(f),
            Body::Parts(_) => f.write_str("Parts(..)"),
        }
    }
}

/// Returns `length` bytes that `read` reads into a buffer, or `None` if `read` returns `None`. `read` returns
/// the number of bytes that it has read.
///
/// # Errors
///
/// Fails if `read` fails, and with [`io::ErrorKind::UnexpectedEof`] if it reads fewer bytes.
pub fn read_exactly(
    length: usize,
    read: impl FnOnce(&mut [u8]) -> io::Result<Option<usize>>,
) -> io::Result<Option<Bytes>> {
    let mut bytes: Bytes = std::iter::repeat_n(0, length).collect();
    // The bytes have no other owner yet.
    let buffer = Arc::get_mut(&mut bytes).ok_or(io::ErrorKind::Other)?;
    match read(buffer)? {
        None => Ok(None),
        Some(filled) if filled == length => Ok(Some(bytes)),
        Some(_) => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// A head under construction.
#[derive(Debug)]
pub struct Head(String);

impl Head {
    /// Starts a head with a status.
    pub fn new(status: u16) -> Head {
        let mut text = String::with_capacity(256);
        // Writing to a string cannot fail.
        let _always = write!(text, "HTTP/1.1 {status} {}\r\n", reason(status));
        Head(text)
    }

    /// Adds a field.
    ///
    /// # Panics
    ///
    /// If the value contains a control character, which would start another field. Callers encode
    /// names of files before.
    #[must_use]
    pub fn field(mut self, name: &str, value: impl fmt::Display) -> Head {
        let start = self.0.len();
        let _always = write!(self.0, "{name}: {value}");
        assert!(!self.0[start..].chars().any(char::is_control), "a field of one line");
        self.0.push_str("\r\n");
        self
    }

    /// Ends a response with a body in memory: adds `Content-Length`.
    pub fn with_bytes(self, body: impl Into<Bytes>) -> Response {
        let body = body.into();
        Response { head: self.with_length(body.len() as u64), body: Body::Bytes(body) }
    }

    /// Ends a response without a body, such as 304.
    pub fn without_body(self) -> Response {
        Response { head: self.0.into_bytes().into(), body: Body::Empty }
    }

    /// Returns the head of a response with a body of `length` bytes.
    pub fn with_length(self, length: u64) -> Bytes {
        self.field("content-length", length).0.into_bytes().into()
    }
}

impl Response {
    /// Returns a response with a line of plain text.
    pub fn text(status: u16, text: &str) -> Response {
        let head = Head::new(status).field("content-type", "text/plain; charset=utf-8");
        let head = head.field("x-content-type-options", "nosniff");
        head.with_bytes(format!("{text}\n").into_bytes())
    }

    /// Returns the status in the head.
    pub fn status(&self) -> u16 {
        let digits = self.head.get(9..12).and_then(|digits| std::str::from_utf8(digits).ok());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }
}

/// Returns the reason phrase of a status (RFC 9110, section 15).
pub(super) fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        206 => "Partial Content",
        301 => "Moved Permanently",
        303 => "See Other",
        304 => "Not Modified",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        416 => "Range Not Satisfiable",
        421 => "Misdirected Request",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{Body, Head, Response};

    #[test]
    fn a_head_is_built_field_by_field() {
        let response = Head::new(206).field("content-type", "text/plain").with_bytes(*b"abc");
        let head = String::from_utf8(response.head.to_vec()).expect("ASCII");
        let expected =
            "HTTP/1.1 206 Partial Content\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n";
        assert_eq!((head.as_str(), response.status()), (expected, 206));
        assert!(matches!(response.body, Body::Bytes(bytes) if *bytes == *b"abc"));
    }

    #[test]
    #[should_panic(expected = "a field of one line")]
    fn a_value_cannot_start_another_field() {
        let _head = Head::new(200).field("x", "a\r\nset-cookie: b");
    }

    #[test]
    fn a_text_has_a_length() {
        assert!(
            String::from_utf8_lossy(&Response::text(404, "no").head)
                .contains("content-length: 3\r\n")
        );
    }
}
