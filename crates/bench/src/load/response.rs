//! Reads responses of HTTP/1: the status, the length of the body, and whether the server closes.
//!
//! Bytes arrive in pieces of any size. A response needs a `Content-Length`, or a status that has no
//! body. Chunked bodies are refused, because their length is not known beforehand.

/// The largest accepted head in bytes.
const HEAD_LIMIT: usize = 64 << 10;

/// The beginning of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) status: u16,
    /// The length of the body in bytes.
    pub(super) length: u64,
    /// True if the server closes the connection after this response.
    pub(super) closes: bool,
}

/// The state of one connection between two pieces.
#[derive(Debug, Default)]
pub(super) struct Parser {
    /// The beginning of a head that is not complete.
    partial: Vec<u8>,
    /// The head of a response whose body is not complete.
    current: Option<Head>,
    /// The number of bytes of the body that are still to come.
    left: u64,
}

impl Parser {
    /// Takes the next bytes. Returns the head of the response if they complete it.
    ///
    /// # Errors
    ///
    /// The bytes are not a response, or more than one. The message says why.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Result<Option<Head>, String> {
        if self.current.is_some() {
            return self.skip(bytes.len() as u64);
        }
        let Some((head, body_bytes)) = self.head(bytes)? else { return Ok(None) };
        self.partial.clear();
        (self.current, self.left) = (Some(head), head.length);
        self.skip(body_bytes as u64)
    }

    /// Takes bytes of the body without their values.
    ///
    /// # Errors
    ///
    /// The body has fewer bytes.
    pub(super) fn skip(&mut self, bytes: u64) -> Result<Option<Head>, String> {
        let left = self.left.checked_sub(bytes);
        self.left = left.ok_or_else(|| format!("{bytes} bytes instead of {}", self.left))?;
        Ok(if self.left == 0 { self.current.take() } else { None })
    }

    /// Returns the number of bytes of the body that are still to come; 0 within a head.
    pub(super) fn body_left(&self) -> u64 {
        self.left
    }

    /// Returns true if nothing of a response has arrived.
    pub(super) fn is_fresh(&self) -> bool {
        self.partial.is_empty() && self.current.is_none()
    }

    /// Returns the head if it is complete, with the number of bytes that follow it.
    fn head(&mut self, bytes: &[u8]) -> Result<Option<(Head, usize)>, String> {
        // Heads nearly always arrive in one piece.
        if self.partial.is_empty()
            && let Some(end) = end_of_head(bytes)
        {
            return Ok(Some((parse(&bytes[..end])?, bytes.len() - end)));
        }
        self.partial.extend_from_slice(bytes);
        match end_of_head(&self.partial) {
            Some(end) => Ok(Some((parse(&self.partial[..end])?, self.partial.len() - end))),
            None if self.partial.len() > HEAD_LIMIT => Err("a head without an end".into()),
            None => Ok(None),
        }
    }
}

/// Returns the length of the head, including its empty line.
pub(super) fn end_of_head(bytes: &[u8]) -> Option<usize> {
    bytes.windows(4).position(|window| window == b"\r\n\r\n").map(|at| at + 4)
}

fn parse(head: &[u8]) -> Result<Head, String> {
    let text = std::str::from_utf8(head).map_err(|_| "a head that is not text")?;
    let mut lines = text.split("\r\n");
    let first = lines.next().unwrap_or_default();
    let version = first.strip_prefix("HTTP/1.");
    let status = version.and_then(|rest| rest.get(2..5)?.parse().ok());
    let status: u16 = status.ok_or_else(|| format!("not a status line: {first}"))?;
    let mut length = matches!(status, 100..200 | 204 | 304).then_some(0);
    let mut closes = first.starts_with("HTTP/1.0");
    for line in lines.filter(|line| line.starts_with(['c', 'C'])) {
        let Some((name, value)) = line.split_once(':') else { continue };
        let value = value.trim();
        if name.eq_ignore_ascii_case("connection") {
            closes = value.eq_ignore_ascii_case("close");
        } else if name.eq_ignore_ascii_case("content-length") && length.is_none() {
            length = Some(value.parse().map_err(|_| format!("not a length: {value}"))?);
        }
    }
    let length = length.ok_or_else(|| format!("a response without Content-Length: {first}"))?;
    Ok(Head { status, length, closes })
}

#[cfg(test)]
mod tests {
    use super::{Head, Parser};

    const RESPONSE: &[u8] =
        b"HTTP/1.1 200 OK\r\nServer: x\r\ncontent-LENGTH: 12\r\n\r\nHello\r\n\r\nbye";
    const HEAD: Head = Head { status: 200, length: 12, closes: false };

    #[test]
    fn a_response_may_be_split_at_every_byte() {
        for at in 0..RESPONSE.len() {
            let mut parser = Parser::default();
            let (first, rest) = RESPONSE.split_at(at);
            assert_eq!(parser.feed(first), Ok(None), "split at {at}");
            assert_eq!(parser.is_fresh(), at == 0);
            assert_eq!(parser.feed(rest), Ok(Some(HEAD)), "split at {at}");
            assert!(parser.is_fresh());
        }
    }

    #[test]
    fn a_response_may_arrive_byte_by_byte() {
        let mut parser = Parser::default();
        for round in 0..2 {
            for (at, byte) in RESPONSE.iter().enumerate() {
                let last = at + 1 == RESPONSE.len();
                assert_eq!(parser.feed(&[*byte]), Ok(last.then_some(HEAD)), "{round}, byte {at}");
            }
        }
    }

    #[test]
    fn a_body_can_be_skipped_without_its_bytes() {
        let mut parser = Parser::default();
        let head = b"HTTP/1.1 206 Partial Content\r\nContent-Length: 5000000000\r\n\r\n12345";
        assert_eq!(parser.feed(head), Ok(None));
        assert_eq!(parser.body_left(), 4_999_999_995);
        assert_eq!(parser.skip(4_999_999_994), Ok(None));
        let whole = Head { status: 206, length: 5_000_000_000, closes: false };
        assert_eq!(parser.skip(1), Ok(Some(whole)));
    }

    #[test]
    fn some_statuses_have_no_body() {
        let head = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n";
        let expected = Head { status: 304, length: 0, closes: false };
        assert_eq!(Parser::default().feed(head), Ok(Some(expected)));
    }

    #[test]
    fn servers_say_whether_they_close() {
        let closes = |head: &str| {
            let response = format!("{head}\r\nContent-Length: 0\r\n\r\n");
            Parser::default().feed(response.as_bytes()).expect("well-formed").expect("whole").closes
        };
        assert!(!closes("HTTP/1.1 404 Not Found"));
        assert!(closes("HTTP/1.1 404 Not Found\r\nConnection: Close"));
        assert!(closes("HTTP/1.0 200 OK"));
        assert!(!closes("HTTP/1.0 200 OK\r\nConnection: keep-alive"));
    }

    #[test]
    fn other_bytes_are_refused() {
        let fails = |bytes: &[u8]| Parser::default().feed(bytes).expect_err("malformed");
        assert!(fails(b"SSH-2.0-x\r\n\r\n").contains("not a status line"));
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert!(fails(chunked).contains("without Content-Length"));
        assert!(fails(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n").contains("not a length"));
        let two = [RESPONSE, RESPONSE].concat();
        assert!(fails(&two).contains("instead of 12"));
        assert!(fails(&vec![b'a'; 70_000]).contains("without an end"));
    }
}
