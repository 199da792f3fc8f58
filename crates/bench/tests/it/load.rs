//! The load generator against a tiny server, whose answers are known.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use bench::load::probe::{send, status};
use bench::load::{Meter, Plan, Report, Request, Traffic, request, run, verify};
use testkit::TempTree;

/// The body of `/ten`.
const TEN: &[u8] = b"0123456789";

/// A server that ends with the process. It has a thread for each connection.
struct Server {
    address: SocketAddr,
    requests: Arc<AtomicU64>,
    connections: Arc<AtomicU64>,
}

impl Server {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let server = Self { address, requests: Arc::default(), connections: Arc::default() };
        let (requests, connections) = (server.requests.clone(), server.connections.clone());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                connections.fetch_add(1, Ordering::Relaxed);
                let requests = Arc::clone(&requests);
                // A client may leave at any time.
                thread::spawn(move || drop(answer_all(stream, &requests)));
            }
        });
        server
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    fn plan(&self, path: &str, length: u64) -> Plan {
        Plan {
            address: self.address,
            requests: request::files(self.address, &[(path.to_owned(), length)]),
            traffic: Traffic::Closed,
            clients: 3,
            warm_up: Duration::ZERO,
            window: Duration::from_secs(30),
            most: Some(200),
            meter: Meter::NONE,
        }
    }
}

fn answer_all(stream: TcpStream, requests: &AtomicU64) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        requests.fetch_add(1, Ordering::Relaxed);
        let path = head.split(' ').nth(1).unwrap_or_default();
        let (status, fields, body) = match path {
            "/ten" if head.contains("If-None-Match: \"t\"") => (304, "", &b""[..]),
            "/ten" if head.contains("Range: bytes=0-9") => (206, "", TEN),
            "/ten" => (200, "ETag: \"t\"\r\n", TEN),
            "/closing" => (200, "Connection: close\r\n", TEN),
            "/hanging-up" => (200, "", TEN),
            "/forbidden" => (403, "", TEN),
            "/endless" => (200, "", &b""[..]),
            _ => (404, "", &b"nothing here"[..]),
        };
        let length = if path == "/endless" { 1 << 40 } else { body.len() };
        let stream = reader.get_mut();
        let head = format!("HTTP/1.1 {status} x\r\n{fields}Content-Length: {length}\r\n\r\n");
        // Two packets would wait for an acknowledgement in between.
        stream.write_all(&[head.as_bytes(), body].concat())?;
        if path == "/endless" {
            loop {
                stream.write_all(&[0; 10_000])?;
                thread::sleep(Duration::from_millis(1));
            }
        }
        if path == "/closing" || path == "/hanging-up" {
            return Ok(());
        }
    }
}

fn done(plan: &Plan) -> Report {
    run(plan).expect("the server is there")
}

#[test]
fn every_response_is_counted() {
    let server = Server::start();
    let report = done(&server.plan("/ten", 10));
    assert_eq!((report.errors, report.complaint), (0, None));
    assert!(report.requests >= 200 && report.requests <= server.requests());
    assert!(server.requests() - report.requests <= 3, "each client has one request at most");
    assert_eq!((report.bytes, report.reconnects), (report.requests * 10, 0));
    assert!(report.seconds > 0.0 && report.latencies_ms[0] <= report.latencies_ms[2]);
}

#[test]
fn wrong_lengths_and_statuses_are_errors() {
    let server = Server::start();
    for (path, length, expected) in [
        ("/ten", 11, "GET /ten HTTP/1.1: 200 with 10 bytes, not 200 with 11"),
        ("/forbidden", 10, "GET /forbidden HTTP/1.1: 403 with 10 bytes, not 200 with 10"),
        ("/gone", 12, "GET /gone HTTP/1.1: 404 with 12 bytes, not 200 with 12"),
    ] {
        let report = done(&server.plan(path, length));
        assert_eq!(report.requests, 0, "{report:?}");
        assert!(report.errors > 100, "{report:?}");
        assert_eq!(report.complaint.as_deref(), Some(expected));
    }
}

#[test]
fn responses_that_are_not_complete_in_time_do_not_count() {
    let server = Server::start();
    let plan = Plan { window: Duration::from_millis(50), ..server.plan("/endless", 1 << 40) };
    let report = done(&plan);
    assert_eq!((report.requests, report.errors, report.bytes), (0, 0, 0));
}

#[test]
fn closed_connections_are_opened_again() {
    for path in ["/closing", "/hanging-up"] {
        let server = Server::start();
        let report = done(&server.plan(path, 10));
        assert_eq!((report.errors, report.complaint), (0, None), "{path}");
        assert!(report.requests >= 200 && report.reconnects >= 190, "{path}");
        assert!(server.connections.load(Ordering::Relaxed) >= 200, "{path}");
    }
}

#[test]
fn an_open_loop_sends_what_is_due() {
    let server = Server::start();
    let traffic = Traffic::Open(20_000.0);
    let report = done(&Plan { traffic, clients: 8, ..server.plan("/ten", 10) });
    assert!(report.requests >= 200 && report.errors == 0, "{report:?}");
    let window = Duration::from_millis(100);
    let traffic = Traffic::Open(50.0);
    let plan = Plan { traffic, window, most: None, ..server.plan("/ten", 10) };
    assert!(done(&plan).requests <= 6, "no more than what was due");
    let requests = request::files(server.address, &[("/endless".into(), 1 << 40)]);
    let report = done(&Plan { requests, ..plan });
    assert!(report.requests == 0 && report.latencies_ms[0] > 0.0, "{report:?}");
}

#[test]
fn idle_clients_keep_their_connections() {
    let server = Server::start();
    let window = Duration::from_millis(1);
    let meter = Meter { group: None, pid: Some(std::process::id()) };
    let plan = server.plan("/ten", 10);
    let plan = Plan { traffic: Traffic::Idle, clients: 40, window, meter, ..plan };
    let report = done(&plan);
    assert_eq!((report.requests, report.errors), (40, 0), "{report:?}");
    assert!(report.resident_bytes > Some(0));
    let closing = Plan { requests: server.plan("/closing", 10).requests, ..plan };
    let window = Duration::from_millis(100);
    let report = done(&Plan { window, clients: 4, ..closing });
    assert!(report.complaint.is_some_and(|it| it.contains("idle")));
}

#[test]
fn each_throttled_client_has_its_rate() {
    let server = Server::start();
    let (warm_up, window) = (Duration::from_millis(20), Duration::from_millis(100));
    let plan = server.plan("/endless", 1 << 40);
    let report = done(&Plan { traffic: Traffic::Throttled, warm_up, window, ..plan });
    assert_eq!((report.rates.len(), report.errors), (3, 0));
    assert!(report.rates[0] > 0.0 && report.rates.is_sorted(), "{report:?}");
    let short = Plan { traffic: Traffic::Throttled, window, ..server.plan("/ten", 10) };
    assert_eq!(done(&short).errors, 3, "complete responses have no rate");
}

#[test]
fn requests_are_learnt_from_the_server() {
    let server = Server::start();
    let ten = ("/ten".to_owned(), 10);
    let unchanged =
        request::unchanged(server.address, std::slice::from_ref(&ten)).expect("it has an ETag");
    assert!(unchanged[0].text.contains("\r\nIf-None-Match: \"t\"\r\n"), "{unchanged:?}");
    let missing = request::missing(server.address, 3).expect("they do not exist");
    assert_eq!((missing.len(), missing[0].status, missing[0].length), (3, 404, 12));
    let ranges = request::ranges(server.address, &ten, 5);
    for requests in [unchanged, missing, ranges] {
        let report = done(&Plan { requests, ..server.plan("/ten", 10) });
        assert_eq!((report.errors, report.complaint), (0, None));
    }
    request::unchanged(server.address, &[("/closing".into(), 10)]).expect_err("no validator");
}

#[test]
fn bodies_are_compared_with_files() {
    let server = Server::start();
    let temp = TempTree::new();
    std::fs::write(temp.join("ten"), TEN).expect("written");
    let ten = ("/ten".to_owned(), 10);
    verify::files(server.address, temp.path(), &["/ten".into()]).expect("equal");
    verify::ranges(server.address, temp.path(), &ten, 2).expect("equal");
    std::fs::write(temp.join("ten"), "0123456788").expect("written");
    verify::files(server.address, temp.path(), &["/ten".into()]).expect_err("another last byte");
    verify::ranges(server.address, temp.path(), &ten, 2).expect_err("another last byte");
}

#[test]
fn single_responses_have_their_parts() {
    let server = Server::start();
    let text = request::text(server.address, "/ten", "");
    let response = send(server.address, &text).expect("an answer");
    assert_eq!((response.field("etag"), &*response.body), (Some("\"t\""), TEN));
    assert_eq!(status(server.address, &request::text(server.address, "/no", "")), Ok(404));
}

#[test]
fn a_plan_in_a_file_is_carried_out() {
    let server = Server::start();
    let temp = TempTree::new();
    let plan = server.plan("/ten", 10);
    std::fs::write(temp.join("plan"), serde_json::to_vec(&plan).expect("JSON")).expect("written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_lop-bench"));
    let output = command.arg("load").arg(temp.join("plan")).output().expect("it runs");
    let report: Report = serde_json::from_slice(&output.stdout).expect("a report");
    assert!(report.requests >= 200 && report.errors == 0, "{report:?}");
}

#[test]
fn an_empty_plan_and_a_missing_server_are_refused() {
    let plan = Server::start().plan("/ten", 10);
    run(&Plan { requests: Vec::<Request>::new(), ..plan.clone() }).expect_err("no requests");
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    run(&Plan { address: closed, ..plan }).expect_err("nothing listens");
}
