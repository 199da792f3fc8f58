//! Request heads: parsing, limits, and the fields that a server of files looks at.
//!
//! `httparse` splits the head. This module decides what a valid request is (RFC 9112). When two
//! readings of a request are possible, it is refused, so a proxy in front of the server cannot be
//! made to see other requests than the server does.

use httparse::Status;

/// Maximum size of a request head in bytes.
pub(super) const MAX_HEAD: usize = 32 * 1024;

/// Maximum number of fields in a head.
const MAX_FIELDS: usize = 100;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Asks for a resource.
    Get,
    /// Asks for the head of the response to `Get`.
    Head,
    /// Any other method. The server refuses it itself.
    Other,
}

/// A request, borrowed from the bytes of its head.
///
/// A field of the head is `None` if it is missing.
#[derive(Clone, Debug)]
pub struct Request<'b> {
    /// The method.
    pub method: Method,
    /// The path, percent-encoded as the client sent it. It starts with a slash.
    pub path: &'b [u8],
    /// The part after the question mark.
    pub query: Option<&'b [u8]>,
    /// The host that the client asked, with its port: the authority of the target, or `Host`.
    pub host: Option<&'b [u8]>,
    /// `Authorization`.
    pub authorization: Option<&'b [u8]>,
    /// `Cookie`.
    pub cookie: Option<&'b [u8]>,
    /// `Accept`.
    pub accept: Option<&'b [u8]>,
    /// `Sec-Fetch-Site`.
    pub sec_fetch: Option<&'b [u8]>,
    /// `If-Match`.
    pub if_match: Option<&'b [u8]>,
    /// `If-None-Match`.
    pub if_none_match: Option<&'b [u8]>,
    /// `If-Modified-Since`.
    pub if_modified_since: Option<&'b [u8]>,
    /// `If-Unmodified-Since`.
    pub if_unmodified_since: Option<&'b [u8]>,
    /// `If-Range`.
    pub if_range: Option<&'b [u8]>,
    /// `Range`.
    pub range: Option<&'b [u8]>,
    /// True if the client speaks HTTP/1.1, not 1.0.
    pub(super) is_1_1: bool,
    /// True if the client allows further requests on the connection.
    pub(super) keep_alive: bool,
    /// True if a body follows, which the server does not read.
    pub(super) has_body: bool,
    head: &'b [u8],
}

/// A request that outlives the buffer of its connection.
#[derive(Clone, Debug)]
pub struct OwnedRequest(Box<[u8]>);

/// The state of the bytes received so far.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is taken apart at once")]
pub(super) enum Parsed<'b> {
    /// The head is not complete.
    Incomplete,
    /// A request, and the length of its head.
    Complete(Request<'b>, usize),
    /// The bytes are no valid request. The response has this status.
    Invalid(u16),
}

/// Parses the head at the start of `bytes`.
pub(super) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let length = match parsed.parse(bytes) {
        Ok(Status::Complete(length)) if length <= MAX_HEAD => length,
        Ok(Status::Partial) if bytes.len() < MAX_HEAD => return Parsed::Incomplete,
        // Without a line end, the target of the request is too long.
        Ok(_) if !bytes.contains(&b'\n') => return Parsed::Invalid(414),
        Ok(_) | Err(httparse::Error::TooManyHeaders) => return Parsed::Invalid(431),
        Err(httparse::Error::Version) if has_another_version(bytes) => return Parsed::Invalid(505),
        Err(_) => return Parsed::Invalid(400),
    };
    match read(&parsed, &bytes[..length]) {
        Ok(request) => Parsed::Complete(request, length),
        Err(status) => Parsed::Invalid(status),
    }
}

/// Returns whether the request line is one of another version of HTTP.
fn has_another_version(bytes: &[u8]) -> bool {
    let line = bytes.split(|&byte| matches!(byte, b'\r' | b'\n')).next().unwrap_or_default();
    let mut words = line.split(|&byte| byte == b' ').skip(2);
    words.next().is_some_and(|word| word.starts_with(b"HTTP/")) && words.next().is_none()
}

fn read<'b>(parsed: &httparse::Request<'_, 'b>, head: &'b [u8]) -> Result<Request<'b>, u16> {
    let is_1_1 = parsed.version == Some(1);
    let method = match parsed.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        _ => Method::Other,
    };
    let target = parsed.path.unwrap_or_default().as_bytes();
    let (authority, path, query) = split_target(target, method)?;
    let mut request = Request {
        method,
        path,
        query,
        host: None,
        authorization: None,
        cookie: None,
        accept: None,
        sec_fetch: None,
        if_match: None,
        if_none_match: None,
        if_modified_since: None,
        if_unmodified_since: None,
        if_range: None,
        range: None,
        is_1_1,
        keep_alive: is_1_1,
        has_body: false,
        head,
    };
    for field in parsed.headers.iter() {
        request.take(field.name, field.value)?;
    }
    // RFC 9112, section 3.2.
    if is_1_1 && request.host.is_none() {
        return Err(400);
    }
    request.host = authority.or(request.host);
    Ok(request)
}

/// The host, the path and the query of a request target.
type Target<'b> = (Option<&'b [u8]>, &'b [u8], Option<&'b [u8]>);

/// Splits the target of a request (RFC 9112, section 3.2).
fn split_target(target: &[u8], method: Method) -> Result<Target<'_>, u16> {
    let (authority, rest) = match target.first() {
        Some(b'/') => (None, target),
        // Other methods have other targets, such as `*`. They are refused by their method.
        _ if method == Method::Other => (None, &b"/"[..]),
        _ => {
            let (scheme, rest) = split_at_text(target, b"://").ok_or(400u16)?;
            if !scheme.eq_ignore_ascii_case(b"http") && !scheme.eq_ignore_ascii_case(b"https") {
                return Err(400);
            }
            let end = rest.iter().position(|b| matches!(b, b'/' | b'?')).unwrap_or(rest.len());
            (Some(&rest[..end]), &rest[end..])
        }
    };
    if rest.contains(&b'#') {
        return Err(400);
    }
    let mut parts = rest.splitn(2, |&byte| byte == b'?');
    let path = parts.next().filter(|path| !path.is_empty()).unwrap_or(b"/");
    Ok((authority, path, parts.next()))
}

fn split_at_text<'b>(bytes: &'b [u8], text: &[u8]) -> Option<(&'b [u8], &'b [u8])> {
    let at = bytes.windows(text.len()).position(|window| window == text)?;
    Some((&bytes[..at], &bytes[at + text.len()..]))
}

impl<'b> Request<'b> {
    /// Notes a field. Fails with a status if the field makes the request ambiguous.
    fn take(&mut self, name: &str, value: &'b [u8]) -> Result<(), u16> {
        // The length decides first, because most fields of a browser are of no interest.
        let slot = match name.len() {
            4 if name.eq_ignore_ascii_case("host") => return only(&mut self.host, value),
            5 if name.eq_ignore_ascii_case("range") => &mut self.range,
            6 if name.eq_ignore_ascii_case("cookie") => &mut self.cookie,
            6 if name.eq_ignore_ascii_case("accept") => &mut self.accept,
            8 if name.eq_ignore_ascii_case("if-match") => &mut self.if_match,
            8 if name.eq_ignore_ascii_case("if-range") => &mut self.if_range,
            10 if name.eq_ignore_ascii_case("connection") => {
                self.take_connection(value);
                return Ok(());
            }
            13 if name.eq_ignore_ascii_case("if-none-match") => &mut self.if_none_match,
            13 if name.eq_ignore_ascii_case("authorization") => &mut self.authorization,
            14 if name.eq_ignore_ascii_case("sec-fetch-site") => &mut self.sec_fetch,
            14 if name.eq_ignore_ascii_case("content-length") => {
                let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
                if !is_number || self.has_body {
                    return Err(400);
                }
                self.has_body = value.iter().any(|&digit| digit != b'0');
                return Ok(());
            }
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if self.has_body {
                    return Err(400);
                }
                self.has_body = true;
                return Ok(());
            }
            17 if name.eq_ignore_ascii_case("if-modified-since") => &mut self.if_modified_since,
            19 if name.eq_ignore_ascii_case("if-unmodified-since") => &mut self.if_unmodified_since,
            _ => return Ok(()),
        };
        // Of a field that must not be repeated, the first one counts. A conditional request whose
        // condition is repeated is refused, because the client would rely on both.
        if slot.is_some() { Err(400) } else { only(slot, value) }
    }

    fn take_connection(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            if option.eq_ignore_ascii_case(b"close") {
                self.keep_alive = false;
                return;
            }
            if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            }
        }
    }

    /// Returns a copy, for work that goes on after the buffer of the connection has other bytes.
    pub fn to_owned(&self) -> OwnedRequest {
        OwnedRequest(self.head.into())
    }
}

fn only<'b>(slot: &mut Option<&'b [u8]>, value: &'b [u8]) -> Result<(), u16> {
    if slot.replace(value).is_some() { Err(400) } else { Ok(()) }
}

impl OwnedRequest {
    /// Parses a complete request head. Returns `None` if the server would refuse it.
    pub fn of(head: &[u8]) -> Option<OwnedRequest> {
        match parse(head) {
            Parsed::Complete(request, _) => Some(request.to_owned()),
            Parsed::Incomplete | Parsed::Invalid(_) => None,
        }
    }

    /// Returns the request, or `None` if the bytes are none, which cannot happen for a copy.
    pub fn get(&self) -> Option<Request<'_>> {
        match parse(&self.0) {
            Parsed::Complete(request, _) => Some(request),
            Parsed::Incomplete | Parsed::Invalid(_) => None,
        }
    }
}

#[cfg(test)]
mod tests;
