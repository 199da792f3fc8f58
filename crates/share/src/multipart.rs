//! Several ranges of a file in one response (RFC 9110, section 14.6).

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::OnceLock;

use httpd::server::{Body, FileRange, Head, Part, Parts, Response};

/// Returns the text between the parts. It must not be in the file, so it is random, and new at each
/// start of the program.
fn boundary() -> &'static str {
    static BOUNDARY: OnceLock<String> = OnceLock::new();
    BOUNDARY.get_or_init(|| {
        let word = || RandomState::new().hash_one(0);
        format!("lop-{:016x}{:016x}", word(), word())
    })
}

/// The parts that are not sent yet.
pub(crate) struct Multipart(VecDeque<Part>);

impl Multipart {
    /// Returns the response with these parts of a file. `head` has the fields about the file, except its
    /// media type.
    pub(crate) fn response(head: Head, media_type: &str, ranges: Vec<FileRange>) -> Response {
        let boundary = boundary();
        let mut parts = VecDeque::new();
        let mut length = 0;
        for range in ranges {
            let (last, size) = (range.end - 1, range.served.stat.size);
            let text = format!(
                "\r\n--{boundary}\r\ncontent-type: {media_type}\r\ncontent-range: bytes {}-{last}/{size}\r\n\r\n",
                range.at
            );
            length += text.len() as u64 + (range.end - range.at);
            parts.push_back(Part::Bytes(text.into_bytes().into()));
            parts.push_back(Part::File(range));
        }
        let end = format!("\r\n--{boundary}--\r\n");
        length += end.len() as u64;
        parts.push_back(Part::Bytes(end.into_bytes().into()));
        let media_type = format_args!("multipart/byteranges; boundary={boundary}");
        let head = head.field("content-type", media_type).with_length(length);
        Response { head, body: Body::Parts(Box::new(Multipart(parts))) }
    }
}

impl Parts for Multipart {
    fn next(&mut self) -> io::Result<Option<Part>> {
        Ok(self.0.pop_front())
    }
}
