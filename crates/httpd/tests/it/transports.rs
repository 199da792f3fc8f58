//! The same files over TCP, over TLS and over a Unix socket.

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use httpd::server::Rates;
use runtime::Throttle;

use crate::files::pattern;
use crate::running::{Running, SOCKET, TEXT, Transport};

fn start(transport: Transport) -> Running {
    Running::over(transport, Rates::default(), 1000)
}

#[test]
fn files_and_parts_of_them_arrive_byte_for_byte() {
    for transport in Transport::ALL {
        let server = start(transport);
        let mut client = server.connect();
        for size in [0, 1, 8192, 16_384, 65_537, (9 << 20) + 5] {
            let bytes = pattern(size);
            server.write("f", &bytes);
            let answer = client.get("/file/f");
            assert!(answer.is_complete && answer.body == bytes, "{transport:?}: {size} bytes");
            let parts = client.get("/parts/f").body;
            assert!(parts == [TEXT, &bytes, TEXT].concat(), "{transport:?}: {size} bytes");
            for (at, end) in [(0, size.min(1)), (size / 3, size / 2), (size / 2, size)] {
                let body = client.get(&format!("/range/f?{at}-{end}")).body;
                assert!(body == bytes[at..end], "{transport:?}: {at}-{end} of {size}");
            }
        }
        assert_eq!(server.activity().accepted, 1, "{transport:?}");
    }
}

#[test]
fn requests_that_arrive_together_are_answered_in_order() {
    for transport in Transport::ALL {
        let server = start(transport);
        let bytes = pattern(300_000);
        server.write("f", &bytes);
        let mut client = server.connect();
        let paths = ["/echo/1", "/file/f", "/echo/2", "/parts/f", "/file/f", "/echo/3"];
        let requests = paths.map(|path| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client.send(requests.concat());
        for path in paths {
            let expected = match path {
                "/file/f" => bytes.clone(),
                "/parts/f" => [TEXT, &bytes, TEXT].concat(),
                echo => format!("{echo} \n").into_bytes(),
            };
            assert!(client.answer().body == expected, "{transport:?}: {path}");
        }
    }
}

#[test]
fn a_client_that_has_sent_everything_still_gets_its_answer() {
    for transport in Transport::ALL {
        let server = start(transport);
        let bytes = pattern(3_000_000);
        server.write("f", &bytes);
        for path in ["/echo/a", "/file/f"] {
            let mut client = server.connect();
            client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
            client.finish();
            let answer = client.answer();
            assert!(answer.is_complete && answer.status == 200, "{transport:?}: {path}");
            assert_eq!(client.rest(), b"", "{transport:?}: {path}");
        }
    }
}

#[test]
fn a_response_is_complete_although_the_client_sends_more_than_the_server_reads() {
    for transport in Transport::ALL {
        let server = start(transport);
        let bytes = pattern(500_000);
        server.write("f", &bytes);
        let mut client = server.connect();
        let last = "GET /file/f HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
        let further = "GET /echo/ HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2000);
        client.send([last, &further].concat());
        let answer = client.answer();
        assert!(answer.is_complete && answer.body == bytes, "{transport:?}");
        assert_eq!(client.rest(), b"", "{transport:?}");
    }
}

#[test]
fn rates_change_no_byte_of_a_transport() {
    for transport in Transport::ALL {
        let total = Throttle::new(NonZeroU64::new(8 << 20));
        let rates = Rates { connection: NonZeroU64::new(16 << 20), after: 100_000, total };
        let server = Running::over(transport, rates, 100);
        let bytes = pattern(2 << 20);
        server.write("f", &bytes);
        let mut client = server.connect();
        assert!(client.get("/file/f").body == bytes, "{transport:?}");
        assert!(client.get("/parts/f").body == [TEXT, &bytes, TEXT].concat(), "{transport:?}");
    }
}

#[test]
fn a_server_removes_its_unix_socket() {
    let mut server = start(Transport::Unix);
    let socket = server.path().join(SOCKET);
    assert_eq!(server.connect().get("/echo/").status, 200);
    assert!(socket.exists());
    server.stop();
    assert!(!socket.exists());
}

#[test]
fn every_transport_keeps_the_rate_of_a_connection() {
    for transport in Transport::ALL {
        let connection = NonZeroU64::new(1_000_000);
        let rates = Rates { connection, after: 200_000, ..Rates::default() };
        let server = Running::over(transport, rates, 100);
        server.write("f", &pattern(600_000));
        let start = Instant::now();
        assert_eq!(server.connect().get("/file/f").body.len(), 600_000, "{transport:?}");
        // The first 200,000 bytes and a burst of 100,000 bytes have no limit.
        assert!(start.elapsed() >= Duration::from_millis(300), "{transport:?}");
    }
}
