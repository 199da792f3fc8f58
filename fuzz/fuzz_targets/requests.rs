//! Sends any bytes to a connection of the web server, at once and in pieces. The responses must be the same.
//! Each accepted request must be one head of the bytes as a simple reader understands them, so that a proxy
//! in front of the server sees the same requests.

#![no_main]

use std::cell::RefCell;
use std::time::{Instant, SystemTime};

use httpd::conditions::{Outcome, Validators};
use httpd::entity_tag::EntityTag;
use httpd::server::testing::Exchange;
use httpd::server::{Handler, Method, Reply, Request, Response};
use libfuzzer_sys::{fuzz_mutator, fuzz_target};

/// Parts of requests, valid and invalid, which the fuzzer would hardly find by itself.
const TOKENS: [&[u8]; 36] = [
    b"GET /a%20b?c=d HTTP/1.1\r\nHost: a:80\r\nRange: bytes=0-1,3-\r\nIf-Range: \"1\"\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nCookie: a=b\r\n\r\n",
    b"HEAD http://a/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"GET ",
    b"HEAD ",
    b"POST /",
    b"OPTIONS * ",
    b" HTTP/1.1\r\n",
    b" HTTP/1.0\r\n",
    b" HTTP/2.0\r\n",
    b"http://",
    b"HTTPS://a:1?",
    b"Host: a\r\n",
    b"Host: ",
    b"Content-Length: 0\r\n",
    b"Content-Length: +5\r\n",
    b"content-length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding : chunked\r\n",
    b"0\r\n\r\n",
    b"Connection: keep-alive, close\r\n",
    b"If-None-Match: W/\"1\", \"2\"\r\n",
    b"If-Match: *\r\n",
    b"If-Modified-Since: Sat, 03 Jan 1970 00:00:00 GMT\r\n",
    b"Range: bytes=-5\r\n",
    b"Authorization: Bearer x\r\n",
    b"Accept: text/html\r\n",
    b"\r\n\r\n",
    b"\r\n",
    b"\n",
    b"\r",
    b"\0",
    b"\r\n folded",
    b": ",
    b"\xc3\xa9",
    b"%2e%2e/",
];

fuzz_mutator!(|data: &mut [u8], size: usize, most: usize, seed: u32| {
    let token = TOKENS[usize::try_from(seed >> 8).expect("it is small") % TOKENS.len()];
    if seed % 4 == 0 || size + token.len() > most {
        return libfuzzer_sys::fuzzer_mutate(data, size, most);
    }
    let at = usize::try_from(seed >> 3).expect("it is small") % (size + 1);
    data.copy_within(at..size, at + token.len());
    data[at..at + token.len()].copy_from_slice(token);
    size + token.len()
});

/// A request that reached the handler.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    is_head: bool,
    target: Vec<u8>,
    host: Option<Vec<u8>>,
}

#[derive(Default)]
struct Recorder(Vec<Seen>);

impl Handler for Recorder {
    fn handle(&mut self, request: &Request<'_>, _now: Instant) -> Reply<Recorder> {
        let owned = request.to_owned();
        let again = owned.get().expect("the same request");
        assert_eq!((request.path, request.query), (again.path, again.query));
        let conditions = &request.conditions;
        let values = [
            Some(request.path),
            request.query,
            request.host,
            request.authorization,
            request.cookie,
            request.accept,
            conditions.range,
            conditions.if_range,
            conditions.if_match,
            conditions.if_none_match,
        ];
        for value in values.into_iter().flatten() {
            assert!(!value.iter().any(|byte| b"\r\n\0".contains(byte)), "{value:?}");
        }
        assert!(request.path.starts_with(b"/") && !request.path.contains(&b'?'));
        let validators = Validators { tag: Some(EntityTag::strong("1".into())), modified: Some(1) };
        if let Outcome::Ranges(ranges) = conditions.evaluate(&validators, 10, SystemTime::now()) {
            assert!(!ranges.is_empty() && request.method == Method::Get);
            assert!(ranges.iter().all(|range| range.start < range.end && range.end <= 10));
        }
        let query = request.query.map(|query| [b"?", query].concat()).unwrap_or_default();
        self.0.push(Seen {
            is_head: request.method == Method::Head,
            target: [request.path, &query].concat(),
            host: request.host.map(<[u8]>::to_vec),
        });
        Reply::Ready(Response::text(200, &format!("request {}", self.0.len())))
    }

    fn tidy(&mut self, _now: Instant) {}
}

thread_local! {
    static EXCHANGE: RefCell<Exchange<Recorder>> = RefCell::new(Exchange::new(Recorder::default()));
}

fuzz_target!(|data: (u64, &[u8])| {
    let (seed, bytes) = data;
    // An incomplete head at the end is completed, so that no outcome depends on a timeout.
    let bytes = [bytes, b"\r\n\r\n"].concat();
    let whole = exchange([&bytes[..]].into_iter());
    let pieces = exchange(pieces(&bytes, seed).into_iter());
    assert_eq!(whole, pieces);
    let (seen, sent, _) = whole;
    for (request, head) in seen.iter().zip(heads(&bytes).chain(std::iter::repeat(&b""[..]))) {
        check(request, head);
    }
    check_responses(&seen, &sent);
});

/// Returns the requests that reached the handler, the bytes of the responses, and whether the connection ended.
fn exchange<'b>(pieces: impl Iterator<Item = &'b [u8]>) -> (Vec<Seen>, Vec<u8>, bool) {
    EXCHANGE.with_borrow_mut(|exchange| {
        exchange.reconnect();
        let sent = pieces.flat_map(|piece| exchange.send(piece)).collect();
        (std::mem::take(&mut exchange.handler().0), sent, exchange.is_over())
    })
}

fn pieces(bytes: &[u8], seed: u64) -> Vec<&[u8]> {
    let (mut pieces, mut rest, mut state) = (Vec::new(), bytes, seed | 1);
    while !rest.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let most = if state & 256 == 0 { 4 } else { rest.len() };
        let length = usize::try_from(state >> 32).expect("64 bits") % most + 1;
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// Splits bytes at empty lines.
fn heads(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        while let Some(after) = rest.strip_prefix(b"\r\n") {
            rest = after;
        }
        let end = rest.windows(4).position(|four| four == b"\r\n\r\n")?;
        let head = &rest[..end + 2];
        rest = &rest[end + 4..];
        Some(head)
    })
}

/// Checks that a head has the request that the handler saw, and no other meaning.
fn check(request: &Seen, head: &[u8]) {
    let text = String::from_utf8_lossy(head);
    let mut lines = head.split(|&byte| byte == b'\n').map(|line| line.strip_suffix(b"\r"));
    let line = lines.next().flatten().expect("a request line");
    let words: Vec<&[u8]> = line.split(|&byte| byte == b' ').collect();
    let [method, target, version] = words[..] else { panic!("{text:?}") };
    assert_eq!(method, if request.is_head { &b"HEAD"[..] } else { b"GET" }, "{text:?}");
    assert!(version == b"HTTP/1.1" || version == b"HTTP/1.0", "{text:?}");
    let is_same = target == request.target || target.windows(3).any(|three| three == b"://");
    assert!(is_same, "{text:?}");
    let mut hosts = Vec::new();
    for line in lines.flatten() {
        let colon = line.iter().position(|&byte| byte == b':').expect("a colon");
        let (name, value) = (line[..colon].to_ascii_lowercase(), line[colon + 1..].trim_ascii());
        assert!(!name.is_empty() && name.iter().all(u8::is_ascii_graphic), "{text:?}");
        assert!(!value.contains(&b'\r') && name != b"transfer-encoding", "{text:?}");
        assert!(name != b"content-length" || value.iter().all(|&digit| digit == b'0'), "{text:?}");
        if name == b"host" {
            hosts.push(value);
        }
    }
    assert!(hosts.len() == 1 || hosts.is_empty() && version == b"HTTP/1.0", "{text:?}");
    if target == request.target {
        assert_eq!(hosts.first().copied(), request.host.as_deref(), "{text:?}");
    }
}

/// Checks that each request got its response, and at most one further response ended the connection.
fn check_responses(seen: &[Seen], sent: &[u8]) {
    let text = String::from_utf8_lossy(sent);
    let mut rest = &*text;
    for number in 1.. {
        if rest.is_empty() {
            return assert_eq!(number, seen.len() + 1);
        }
        let (head, body) = rest.split_once("\r\n\r\n").expect("a head");
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length: usize = length.expect("a length").parse().expect("a number");
        let Some(request) = seen.get(number - 1) else {
            let statuses = ["400", "405", "413", "414", "431", "501", "505"];
            assert!(number == seen.len() + 1 && statuses.contains(&&head[9..12]), "{head}");
            assert!(head.ends_with("\r\nconnection: close"), "{head}");
            // The response to a refused HEAD request has no body.
            return assert!(body.len() == length || body.is_empty(), "{text}");
        };
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        rest = body;
        if !request.is_head {
            let (body, after) = rest.split_at(length);
            assert_eq!(body, format!("request {number}\n"));
            rest = after;
        }
    }
}
