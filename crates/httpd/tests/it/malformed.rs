//! Requests that servers and proxies understand in different ways, with the answer to each.
//!
//! A second request follows each of them. Where the answer ends the connection, nobody may take these bytes
//! for a request: they could be the body of the first one.

use crate::hostile::statuses;
use crate::running::Running;

/// The answer to a request, and what becomes of the connection.
#[derive(Clone, Copy)]
enum Answer {
    /// The connection ends after this status.
    Ends(u16),
    /// The next request is answered, too.
    Stays,
}

use Answer::{Ends, Stays};

fn check<'c>(cases: impl IntoIterator<Item = (impl AsRef<[u8]>, &'c Answer)>) {
    let server = Running::start();
    for (request, answer) in cases {
        let request = request.as_ref();
        let all = [request, b"GET /echo/next HTTP/1.1\r\nHost: a\r\n\r\n"].concat();
        let expected = match *answer {
            Ends(status) => vec![status],
            Stays => vec![200, 200],
        };
        let start = String::from_utf8_lossy(&request[..request.len().min(200)]);
        assert_eq!(statuses(&server, &all), expected, "{start:?}");
    }
}

/// Checks requests that consist of a valid line, a host, and these fields with the bytes after the head.
fn check_fields(cases: &[(&str, &str, Answer)]) {
    check(cases.iter().map(|(fields, body, answer)| {
        (format!("GET /echo/ HTTP/1.1\r\nHost: a\r\n{fields}\r\n{body}"), answer)
    }));
}

#[test]
fn the_length_of_a_request_is_never_in_doubt() {
    const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";
    check_fields(&[
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", Ends(400)),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "0\r\n\r\n", Ends(400)),
        ("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", Ends(400)),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", "abcdef", Ends(400)),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", "abcde", Ends(400)),
        ("Content-Length: 0\r\nContent-Length: 5\r\n", "abcde", Ends(400)),
        ("Content-Length: 5, 5\r\n", "abcde", Ends(400)),
        ("Content-Length: -1\r\n", "", Ends(400)),
        ("Content-Length: +5\r\n", "abcde", Ends(400)),
        ("Content-Length: 0x5\r\n", "abcde", Ends(400)),
        ("Content-Length: 5 5\r\n", "abcde", Ends(400)),
        ("Content-Length: five\r\n", "abcde", Ends(400)),
        ("Content-Length:\r\n", "", Ends(400)),
        ("Content-Length : 5\r\n", "abcde", Ends(400)),
        ("Content-Length: 5 \r\n", "abcde", Ends(413)),
        ("Content-Length: 60\r\n", "", Ends(413)),
        ("Content-Length: 18446744073709551616\r\n", "", Ends(413)),
        ("Content-Length: 0\r\n", "", Stays),
        (CHUNKED, "0\r\n\r\n", Ends(413)),
        (CHUNKED, "5\r\nabcde\r\n0\r\n\r\n", Ends(413)),
        (CHUNKED, "fffffffffffffffff\r\nabc", Ends(413)),
        (CHUNKED, "-1\r\n", Ends(413)),
        (CHUNKED, "0x5\r\nabcde\r\n0\r\n\r\n", Ends(413)),
        (CHUNKED, "5;a=\nabcde\r\n0\r\n\r\n", Ends(413)),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n", Ends(400)),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "0\r\n\r\n", Ends(400)),
        ("Transfer-Encoding: identity\r\n", "", Ends(400)),
        ("Transfer-Encoding: xchunked\r\n", "0\r\n\r\n", Ends(400)),
        ("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n", Ends(400)),
        ("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n", Ends(400)),
        ("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n", Ends(501)),
        ("Transfer-Encoding : chunked\r\n", "0\r\n\r\n", Ends(400)),
        ("Transfer-Encoding:\u{b}chunked\r\n", "0\r\n\r\n", Ends(400)),
        ("Transfer-Encoding:\r\n chunked\r\n", "0\r\n\r\n", Ends(400)),
        ("Expect: 100-continue\r\nContent-Length: 5\r\n", "abcde", Ends(413)),
    ]);
}

#[test]
fn lines_have_one_meaning() {
    check_fields(&[
        ("X: y\r\n folded\r\n", "", Ends(400)),
        ("X: y\r\n\tfolded\r\n", "", Ends(400)),
        (" X: y\r\n", "", Ends(400)),
        ("X : y\r\n", "", Ends(400)),
        ("X\t: y\r\n", "", Ends(400)),
        (": y\r\n", "", Ends(400)),
        ("X\r\n", "", Ends(400)),
        ("X(: y\r\n", "", Ends(400)),
        ("X\0: y\r\n", "", Ends(400)),
        ("X\u{e9}: y\r\n", "", Ends(400)),
        ("X: y\0z\r\n", "", Ends(400)),
        ("X: y\u{1}z\r\n", "", Ends(400)),
        ("X: y\u{7f}z\r\n", "", Ends(400)),
        ("X: y\rZ: z\r\n", "", Ends(400)),
        ("X: y\nZ: z\r\n", "", Ends(400)),
        ("X: y\n", "", Ends(400)),
        ("X: \u{e9}\r\n", "", Stays),
        ("X:y\r\n", "", Stays),
        ("X:\r\n", "", Stays),
        ("Range: bytes=0-1\r\nRange: bytes=2-3\r\n", "", Ends(400)),
        ("Connection: keep-alive, close\r\n", "", Ends(200)),
        ("Connection: close\r\nConnection: keep-alive\r\n", "", Ends(200)),
        ("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n", "", Stays),
    ]);
    check([
        ("GET /echo/ HTTP/1.1\nHost: a\n\n", &Ends(400)),
        ("GET /echo/ HTTP/1.1\rHost: a\r\r\n\r\n", &Ends(400)),
        ("GET /echo/ HTTP/1.1\r\nHost: a\r\n\n", &Ends(400)),
        ("\r\nGET /echo/ HTTP/1.1\r\nHost: a\r\n\r\n", &Stays),
        ("\nGET /echo/ HTTP/1.1\r\nHost: a\r\n\r\n", &Ends(400)),
        (" GET /echo/ HTTP/1.1\r\nHost: a\r\n\r\n", &Ends(400)),
    ]);
}

#[test]
fn a_request_has_one_host() {
    let cases = [
        ("", Ends(400)),
        ("Host: a\r\nHost: a\r\n", Ends(400)),
        ("Host: a\r\nHost: b\r\n", Ends(400)),
        ("Host: a b\r\n", Ends(400)),
        ("Host: a/b\r\n", Ends(400)),
        ("Host: b@a\r\n", Ends(400)),
        ("Host: a, b\r\n", Ends(400)),
        ("Host: \u{e9}\r\n", Ends(400)),
        ("Host : a\r\n", Ends(400)),
        ("Host:\r\n", Stays),
        ("Host: [::1]:80\r\n", Stays),
    ];
    check(
        cases.iter().map(|(host, answer)| (format!("GET /echo/ HTTP/1.1\r\n{host}\r\n"), answer)),
    );
    check([
        ("GET /echo/ HTTP/1.0\r\n\r\n", &Ends(200)),
        ("GET /echo/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", &Ends(400)),
    ]);
}

#[test]
fn a_request_line_has_three_words() {
    let cases = [
        ("GET http://a/echo/ HTTP/1.1", Stays),
        ("GET HTTP://a:80/echo/ HTTP/1.1", Stays),
        ("GET http:///echo/ HTTP/1.1", Ends(400)),
        ("GET http://b@a/echo/ HTTP/1.1", Ends(400)),
        ("GET ftp://a/echo/ HTTP/1.1", Ends(400)),
        ("GET a:80 HTTP/1.1", Ends(400)),
        ("GET echo/ HTTP/1.1", Ends(400)),
        ("GET * HTTP/1.1", Ends(400)),
        ("GET ?x HTTP/1.1", Ends(400)),
        ("CONNECT a:80 HTTP/1.1", Ends(405)),
        ("OPTIONS * HTTP/1.1", Ends(405)),
        ("POST /echo/ HTTP/1.1", Ends(405)),
        ("TRACE /echo/ HTTP/1.1", Ends(405)),
        ("get /echo/ HTTP/1.1", Ends(405)),
        ("GETT /echo/ HTTP/1.1", Ends(405)),
        ("G\u{1}T /echo/ HTTP/1.1", Ends(400)),
        ("G(T /echo/ HTTP/1.1", Ends(400)),
        ("GET /echo/", Ends(400)),
        ("GET /echo/ HTTP/0.9", Ends(505)),
        ("GET /echo/ HTTP/1.2", Ends(505)),
        ("GET /echo/ HTTP/1.10", Ends(400)),
        ("GET /echo/ HTTP/2.0", Ends(505)),
        ("PRI * HTTP/2.0", Ends(505)),
        ("GET /echo/ HTTP/x.1", Ends(400)),
        ("GET /echo/ http/1.1", Ends(400)),
        ("GET /echo/ HTTP/1.1 ", Ends(400)),
        ("GET /echo/ HTTP/1.1x", Ends(400)),
        ("GET /echo/ HTTP/ 1.1", Ends(400)),
        ("GET  /echo/ HTTP/1.1", Ends(400)),
        ("GET /echo/  HTTP/1.1", Ends(400)),
        ("GET\t/echo/\tHTTP/1.1", Ends(400)),
        ("GET /echo/a b HTTP/1.1", Ends(400)),
        ("GET /echo/#x HTTP/1.1", Ends(400)),
        ("GET /echo/\0 HTTP/1.1", Ends(400)),
        ("GET /echo/\u{7f} HTTP/1.1", Ends(400)),
        // The handler decides about paths.
        ("GET /echo/\u{e9} HTTP/1.1", Stays),
        ("GET /echo/../%2e%2e/%00%2f%zz\\ HTTP/1.1", Stays),
    ];
    check(cases.iter().map(|(line, answer)| (format!("{line}\r\nHost: a\r\n\r\n"), answer)));
    check([
        (&b"GET /echo/\xe9 HTTP/1.1\r\nHost: a\r\n\r\n"[..], &Ends(400)),
        (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\0\0\0\0\r\n\r\n", &Ends(400)),
        (b"\0\0\0\0\r\n\r\n", &Ends(400)),
    ]);
}

#[test]
fn heads_have_limits() {
    let large = "y".repeat(100_000);
    let fields = |count| "X: y\r\n".repeat(count);
    let head = |fields: &str| format!("GET /echo/ HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
    check([
        (format!("GET /echo/{large} HTTP/1.1\r\nHost: a\r\n\r\n"), &Ends(414)),
        (head(&format!("X: {large}\r\n")), &Ends(431)),
        (head(&format!("{large}: x\r\n")), &Ends(431)),
        (head(&fields(99)), &Stays),
        (head(&fields(100)), &Ends(431)),
        (head(&fields(100_000)), &Ends(431)),
    ]);
}
