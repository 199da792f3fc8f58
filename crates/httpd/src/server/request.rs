//! Request heads: parsing, limits, and the fields that a server of files looks at.
//!
//! `httparse` splits the head. This module decides what a valid request is (RFC 9112). When two
//! readings of a request are possible, it is refused, so a proxy in front of the server cannot be
//! made to see other requests than the server does.

use httparse::Status;

use crate::conditions::Conditions;

/// Maximum size of a request head in bytes.
pub(super) const MAX_HEAD: usize = 32 * 1024;

/// Maximum number of fields in a head.
const MAX_FIELDS: usize = 100;

/// The method of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Asks for a resource.
    Get,
    /// Asks for the head that the response to `Get` would have.
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
    /// The conditions of the request.
    pub conditions: Conditions<'b>,
    /// True if the client speaks HTTP/1.1, not 1.0.
    pub(super) is_1_1: bool,
    /// The choice of the client whether the connection stays open after the response, if it made one.
    stays_open: Option<bool>,
    /// `Content-Length`.
    length: Option<&'b [u8]>,
    /// `Transfer-Encoding`.
    encoding: Option<&'b [u8]>,
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

/// Parses the head at the start of `bytes`. The result does not depend on how many bytes after the
/// head have arrived already.
pub(super) fn parse(bytes: &[u8]) -> Parsed<'_> {
    let bytes = &bytes[..bytes.len().min(MAX_HEAD)];
    let (is_full, has_line) = (bytes.len() == MAX_HEAD, || bytes.contains(&b'\n'));
    let mut fields = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Request::new(&mut fields);
    let length = match parsed.parse(bytes) {
        Ok(Status::Complete(length)) => length,
        Ok(Status::Partial) if !is_full => return Parsed::Incomplete,
        // Without a line end, the target of the request is too long.
        Ok(Status::Partial) if !has_line() => return Parsed::Invalid(414),
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => return Parsed::Invalid(431),
        // The rest of the line decides whether it is one of another version.
        Err(httparse::Error::Version) if !is_full && !has_line() => return Parsed::Incomplete,
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
    let version = words.next().and_then(|word| word.strip_prefix(b"HTTP/"));
    version.and_then(<[u8]>::first).is_some_and(u8::is_ascii_digit) && words.next().is_none()
}

fn read<'b>(parsed: &httparse::Request<'_, 'b>, head: &'b [u8]) -> Result<Request<'b>, u16> {
    if has_bare_line_feed(head) {
        return Err(400);
    }
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
        conditions: Conditions::default(),
        is_1_1,
        stays_open: None,
        length: None,
        encoding: None,
        head,
    };
    for field in parsed.headers.iter() {
        request.take(field.name, field.value)?;
    }
    // RFC 9112, section 3.2.
    if is_1_1 && request.host.is_none() || !request.host.is_none_or(is_host) {
        return Err(400);
    }
    let is_number = |value: &[u8]| !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    if !request.length.is_none_or(is_number) || request.length.and(request.encoding).is_some() {
        return Err(400);
    }
    request.check_encoding()?;
    request.host = authority.or(request.host);
    if method == Method::Head {
        // RFC 9110, section 14.2: ranges are those of the body of a GET request.
        request.conditions.range = None;
    }
    Ok(request)
}

/// Returns whether a line of a head ends without a carriage return. A proxy may take such a line and
/// the next one for a single line, and so see another request.
fn has_bare_line_feed(head: &[u8]) -> bool {
    let is_bare = |(before, byte): (&u8, &u8)| *byte == b'\n' && *before != b'\r';
    // Without an early end, the compiler compares many bytes at once.
    let bare = head.iter().zip(&head[1..]).filter(|pair| is_bare(*pair)).count();
    bare > 0 || head.starts_with(b"\n")
}

/// Returns whether a text consists of the bytes that a host and a port can have (RFC 3986, section 3.2).
fn is_host(text: &[u8]) -> bool {
    text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(byte))
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
            let end = rest.iter().position(|b| b"/?#".contains(b)).unwrap_or(rest.len());
            let (host, rest) = rest.split_at(end);
            if host.is_empty() || host.starts_with(b":") || !is_host(host) {
                return Err(400);
            }
            (Some(host), rest)
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
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let conditions = &mut self.conditions;
        match name.len() {
            6 if is("cookie") => first(&mut self.cookie, value),
            6 if is("accept") => first(&mut self.accept, value),
            8 if is("if-match") => first(&mut conditions.if_match, value),
            10 if is("connection") => self.take_connection(value),
            13 if is("if-none-match") => first(&mut conditions.if_none_match, value),
            _ => return self.take_single(name, value),
        }
        Ok(())
    }

    /// Notes a field that a request may have only once.
    fn take_single(&mut self, name: &str, value: &'b [u8]) -> Result<(), u16> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        let conditions = &mut self.conditions;
        match name.len() {
            4 if is("host") => only(&mut self.host, value),
            5 if is("range") => only(&mut conditions.range, value),
            8 if is("if-range") => only(&mut conditions.if_range, value),
            13 if is("authorization") => only(&mut self.authorization, value),
            14 if is("content-length") => only(&mut self.length, value),
            17 if is("if-modified-since") => only(&mut conditions.if_modified_since, value),
            17 if is("transfer-encoding") => only(&mut self.encoding, value),
            19 if is("if-unmodified-since") => only(&mut conditions.if_unmodified_since, value),
            _ => Ok(()),
        }
    }

    /// Fails with a status if the server could not read the body although it wanted to (RFC 9112,
    /// sections 6.1 and 6.3).
    fn check_encoding(&self) -> Result<(), u16> {
        let Some(value) = self.encoding else { return Ok(()) };
        let mut codings = value.rsplit(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        let is_chunked = codings.next().is_some_and(|last| last.eq_ignore_ascii_case(b"chunked"));
        match (self.is_1_1 && is_chunked, codings.next()) {
            (true, None) => Ok(()),
            (true, Some(_)) => Err(501),
            (false, _) => Err(400),
        }
    }

    fn take_connection(&mut self, value: &[u8]) {
        let options = || value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
        if options().any(|option| option.eq_ignore_ascii_case(b"close")) {
            self.stays_open = Some(false);
        } else if options().any(|option| option.eq_ignore_ascii_case(b"keep-alive")) {
            self.stays_open.get_or_insert(true);
        }
    }

    /// Returns whether the client allows further requests on the connection.
    pub(super) fn keeps_alive(&self) -> bool {
        self.stays_open.unwrap_or(self.is_1_1)
    }

    /// Returns whether a body follows, which the server does not read.
    pub(super) fn has_body(&self) -> bool {
        self.encoding.is_some() || self.length.is_some_and(|l| l.iter().any(|&digit| digit != b'0'))
    }

    /// Returns a copy, for work that goes on after the buffer of the connection has other bytes.
    pub fn to_owned(&self) -> OwnedRequest {
        OwnedRequest(self.head.into())
    }
}

/// Notes a field that a request may have only once.
fn only<'b>(slot: &mut Option<&'b [u8]>, value: &'b [u8]) -> Result<(), u16> {
    if slot.replace(value).is_some() { Err(400) } else { Ok(()) }
}

/// Notes a list, which may continue in further fields of this name. The server reads the first field. The
/// rest of a list of tags could only spare a response, or fail one less.
fn first<'b>(slot: &mut Option<&'b [u8]>, value: &'b [u8]) {
    slot.get_or_insert(value);
}

fn complete(head: &[u8]) -> Option<Request<'_>> {
    match parse(head) {
        Parsed::Complete(request, _) => Some(request),
        Parsed::Incomplete | Parsed::Invalid(_) => None,
    }
}

impl OwnedRequest {
    /// Parses a complete request head. Returns `None` if the server would refuse it.
    pub fn of(head: &[u8]) -> Option<OwnedRequest> {
        complete(head).map(|request| request.to_owned())
    }

    /// Returns the request. The result is never `None`, because the bytes were parsed before.
    pub fn get(&self) -> Option<Request<'_>> {
        complete(&self.0)
    }
}

#[cfg(test)]
mod tests;
