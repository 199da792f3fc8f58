//! Tests of the parser, with the requests that split a server from the proxy in front of it.

use super::{MAX_HEAD, Method, Parsed, parse};

fn status(head: &[u8]) -> u16 {
    match parse(head) {
        Parsed::Complete(..) => 200,
        Parsed::Incomplete => 0,
        Parsed::Invalid(status) => status,
    }
}

#[test]
fn a_request_of_a_browser_is_read() {
    let head =
        b"GET /a%20b?x=1 HTTP/1.1\r\nHost: nas:80\r\nRANGE: bytes=0-1\r\nAccept: */*\r\n\r\nrest";
    let Parsed::Complete(request, length) = parse(head) else { panic!("complete") };
    assert_eq!(length, head.len() - 4);
    assert_eq!((request.method, request.path), (Method::Get, &b"/a%20b"[..]));
    assert_eq!((request.query, request.host), (Some(&b"x=1"[..]), Some(&b"nas:80"[..])));
    assert_eq!(request.conditions.range, Some(&b"bytes=0-1"[..]));
    assert!(request.keeps_alive() && !request.has_body());
    let owned = request.to_owned();
    assert_eq!(owned.get().map(|r| r.path.to_vec()), Some(b"/a%20b".to_vec()));
}

#[test]
fn a_head_is_incomplete_until_its_last_byte() {
    let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    for end in 0..head.len() {
        assert_eq!(status(&head[..end]), 0, "{end}");
    }
    assert_eq!(status(head), 200);
}

#[test]
fn connections_stay_open_as_the_client_wishes() {
    for (head, stays) in [
        (&b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..], true),
        (b"GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", false),
        (b"GET / HTTP/1.0\r\n\r\n", false),
        (b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false),
        (
            b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nConnection: keep-alive\r\n\r\n",
            false,
        ),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", false),
    ] {
        let Parsed::Complete(request, _) = parse(head) else { panic!("complete") };
        assert_eq!(request.keeps_alive(), stays);
    }
}

#[test]
fn a_target_may_name_its_host() {
    let head = b"GET http://nas:1/x?y HTTP/1.1\r\nHost: other\r\n\r\n";
    let Parsed::Complete(request, _) = parse(head) else { panic!("complete") };
    assert_eq!((request.host, request.path), (Some(&b"nas:1"[..]), &b"/x"[..]));
    let head = b"GET HTTPS://nas HTTP/1.1\r\nHost: other\r\n\r\n";
    let Parsed::Complete(request, _) = parse(head) else { panic!("complete") };
    assert_eq!((request.host, request.path), (Some(&b"nas"[..]), &b"/"[..]));
}

#[test]
fn ambiguous_and_malformed_requests_are_refused() {
    for (fields, expected) in [
        ("", 400),
        ("Host: a\r\nHost: a\r\n", 400),
        ("Host: a\r\nContent-Length: 1\r\nContent-Length: 1\r\n", 400),
        ("Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Host: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400),
        ("Host: a\r\nContent-Length: +1\r\n", 400),
        ("Host: a\r\nContent-Length: 1, 1\r\n", 400),
        ("Host: a\r\nContent-Length: \r\n", 400),
        ("Host: a\r\nContent-Length: 0x1\r\n", 400),
        ("Host: a\r\nTransfer-Encoding : chunked\r\n", 400),
        ("Host: a\r\n Folded: yes\r\n", 400),
        ("Host: a\r\nRange: bytes=0-1\r\nRange: bytes=2-3\r\n", 400),
        ("Host: a\r\nNo colon\r\n", 400),
        ("Host: a\r\nNul: \0\r\n", 400),
        ("Host: a\r\nContent-Length: 0\r\nContent-Length: 5\r\nContent-Length: 5\r\n", 400),
        ("Host: a\r\nContent-Length: 5\r\nContent-Length: 0\r\n", 400),
        ("Host: a\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Host: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Host: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n", 400),
        ("Host: a\r\nTransfer-Encoding: identity\r\n", 400),
        ("Host: a\r\nTransfer-Encoding: chunked, gzip\r\n", 400),
        ("Host: a\r\nTransfer-Encoding: gzip, chunked\r\n", 501),
        ("Host: a\nX: y\r\n", 400),
        ("Host: a\r\nX: y\n", 400),
        ("Host: a\r\nX: y\rz\r\n", 400),
        ("Host: a b\r\n", 400),
        ("Host: a/b\r\n", 400),
        ("Host: b@a\r\n", 400),
        ("Host: \u{e9}\r\n", 400),
        ("Host:\r\n", 200),
        ("Host: [::1]:80\r\n", 200),
        ("Host: a\r\nAuthorization: x\r\nAuthorization: y\r\n", 400),
        ("Host: a\r\nContent-Length: 0\r\n", 200),
        ("Host: a\r\nAccept: text/html\r\nAccept: text/plain\r\n", 200),
        ("Host: a\r\nIf-None-Match: \"1\"\r\nIf-None-Match: \"2\"\r\n", 200),
    ] {
        let head = format!("GET / HTTP/1.1\r\n{fields}\r\n");
        assert_eq!(status(head.as_bytes()), expected, "{fields:?}");
    }
    for (line, expected) in [
        ("GET /a b HTTP/1.1", 400),
        ("GET / HTTP/2.0", 505),
        ("GET /", 400),
        ("GET  / HTTP/1.1", 400),
        ("GET * HTTP/1.1", 400),
        ("GET nas:80 HTTP/1.1", 400),
        ("GET ftp://nas/ HTTP/1.1", 400),
        ("GET http:///x HTTP/1.1", 400),
        ("GET http://:80/x HTTP/1.1", 400),
        ("GET http://b@nas/ HTTP/1.1", 400),
        ("GET http://nas#part HTTP/1.1", 400),
        ("GET / HTTP/1.1\nX: y", 400),
        ("\nGET / HTTP/1.1", 400),
        ("\r\n\r\nGET / HTTP/1.1", 200),
        ("GET / HTTP/1.2", 505),
        ("GET / HTTP/2.0 x", 400),
        ("GET / HTTP/x.1", 400),
        ("GET /#part HTTP/1.1", 400),
        ("G\u{1}T / HTTP/1.1", 400),
        ("OPTIONS * HTTP/1.1", 200),
    ] {
        let head = format!("{line}\r\nHost: a\r\n\r\n");
        assert_eq!(status(head.as_bytes()), expected, "{line:?}");
    }
    assert_eq!(status(b"\x16\x03\x01\x02\x00\x01\x00"), 400, "TLS");
}

#[test]
fn bodies_are_noticed() {
    for fields in ["Content-Length: 5", "Transfer-Encoding: Chunked"] {
        let head = format!("GET / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        let Parsed::Complete(request, _) = parse(head.as_bytes()) else { panic!("complete") };
        assert!(request.has_body(), "{fields}");
    }
}

#[test]
fn only_a_get_request_has_ranges() {
    for (method, has_range) in [("GET", true), ("HEAD", false)] {
        let head = format!("{method} / HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\n\r\n");
        let Parsed::Complete(request, _) = parse(head.as_bytes()) else { panic!("complete") };
        assert_eq!(request.conditions.range.is_some(), has_range);
    }
}

#[test]
fn bytes_after_the_limit_of_a_head_change_nothing() {
    let long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(MAX_HEAD));
    assert_eq!(status(long.as_bytes()), 414);
    let [before, after] = ["GET / HTTP/1.1\r\nHost: a\r\nX: ", "\r\n\r\n"];
    for (extra, expected) in [(0, 200), (1, 431)] {
        let value = "a".repeat(MAX_HEAD + extra - before.len() - after.len());
        let head = format!("{before}{value}{after}");
        assert_eq!(status(head.as_bytes()), expected);
        assert_eq!(status(format!("{head}\0").as_bytes()), expected);
    }
}

#[test]
fn a_head_has_limits() {
    let long = format!("GET /{}", "a".repeat(MAX_HEAD));
    assert_eq!(status(long.as_bytes()), 414);
    let large = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "a".repeat(MAX_HEAD));
    assert_eq!(status(large.as_bytes()), 431);
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(200));
    assert_eq!(status(many.as_bytes()), 431);
}
