//! Clients that break the rules.

use crate::client::Client;
use crate::running::Running;

/// Sends bytes and returns the statuses of all responses until the server ends the connection.
fn statuses(server: &Running, bytes: &[u8]) -> Vec<u16> {
    let mut client = Client::connect(server.address);
    client.try_send(bytes);
    client.finish();
    let all = String::from_utf8_lossy(&client.rest()).into_owned();
    all.split("HTTP/1.1 ").skip(1).map(|text| text[..3].parse().expect("a status")).collect()
}

#[test]
fn nothing_after_a_refused_request_is_taken_for_a_request() {
    let server = Running::start();
    let next = "GET /echo/smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
    for (start, status) in [
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 60\r\n\r\n", 413),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 413),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        ("GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", 405),
        ("TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
        ("\0\0\0\0\r\n\r\n", 400),
    ] {
        let bytes = format!("{start}{next}");
        assert_eq!(statuses(&server, bytes.as_bytes()), [status], "{start:?}");
    }
}

#[test]
fn heads_are_bounded() {
    let server = Running::start();
    let path = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(100_000));
    assert_eq!(statuses(&server, path.as_bytes()), [414]);
    let fields = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: y\r\n".repeat(100_000));
    assert_eq!(statuses(&server, fields.as_bytes()), [431]);
}

#[test]
fn random_bytes_do_no_harm() {
    let server = Running::start();
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state >> 33
    };
    let valid =
        b"GET /echo/x?y HTTP/1.1\r\nHost: a\r\nRange: bytes=0-1\r\nIf-None-Match: \"1\"\r\n\r\n";
    for _ in 0..300 {
        let mut bytes = valid.to_vec();
        for _ in 0..=(next() % 4) {
            let at = usize::try_from(next()).expect("fits") % bytes.len();
            bytes[at] = u8::try_from(next() & 255).expect("a byte");
        }
        for status in statuses(&server, &bytes) {
            assert!(
                [200, 400, 405, 413, 414, 431, 505].contains(&status),
                "{status} for {bytes:?}"
            );
        }
    }
    assert_eq!(Client::connect(server.address).get("/echo/").status, 200);
}
