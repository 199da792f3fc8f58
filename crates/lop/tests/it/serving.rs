//! `lop serve`: its address, and that no request gets past the gate.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use testkit::{Ending, Invocation, Output, Running, Signal, TreeBuilder, When};

use crate::lop::Lop;

/// A running server, and the address that it printed.
pub(crate) struct Server {
    running: Running,
    pub(crate) address: SocketAddr,
    token: String,
}

/// The status line, headers and body of a response.
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) text: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let prefix = format!("{name}: ");
        self.text.lines().find_map(|line| line.strip_prefix(&prefix))
    }
}

impl Server {
    /// Starts `lop serve` on a free port.
    pub(crate) fn start(lop: &Lop, more: &[&str]) -> Server {
        Server::start_as(lop.command(), more)
    }

    /// Starts `lop serve` on a free port, with the limits of `command`.
    pub(crate) fn start_as(command: Invocation<'_>, more: &[&str]) -> Server {
        Server::spawn(command.arg("serve"), more)
    }

    /// Starts `lop share` on a free port.
    pub(crate) fn share(lop: &Lop, more: &[&str]) -> Server {
        Server::spawn(lop.command().arg("share"), more)
    }

    fn spawn(command: Invocation<'_>, more: &[&str]) -> Server {
        let args = ["--listen", "127.0.0.1:0"].iter().chain(more);
        let mut running = command.args(args).spawn();
        assert!(running.wait_for(&When::Stdout(b"\n".into())), "no address");
        let text = String::from_utf8(running.stdout()).expect("UTF-8");
        let url = text.lines().next().expect("a line");
        let (_, rest) = url.split_once("://").expect("a scheme");
        let (address, rest) = rest.split_once('/').expect("a path");
        let token = rest.strip_prefix("?token=").unwrap_or_default();
        Server { running, address: address.parse().expect("an address"), token: token.to_owned() }
    }

    /// Returns the address of the start page with the token.
    pub(crate) fn url(&self) -> String {
        self.page(&format!("/?token={}", self.token))
    }

    /// Returns the address of a page, for a browser that has the cookie.
    pub(crate) fn page(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Kills the server.
    pub(crate) fn kill(mut self) {
        assert!(self.running.signal(Signal::KILL), "it was running");
        self.running.wait().signal(Signal::KILL);
    }

    /// Sends a signal, and returns what the server wrote until it ended.
    pub(crate) fn stop(mut self, signal: Signal) -> Output {
        assert!(self.running.signal(signal), "it was running");
        self.running.wait()
    }

    /// Returns the token. It is empty if the server needs none.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Returns the process id.
    pub(crate) fn pid(&self) -> u32 {
        self.running.pid()
    }

    /// Opens a connection.
    pub(crate) fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).expect("connects");
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("set");
        socket
    }

    /// Sends a request whose head consists of `lines`, and returns the response.
    pub(crate) fn send(&self, lines: &[&str]) -> Response {
        self.send_body(lines, "")
    }

    /// Sends a request whose head consists of `lines`, with a body, and returns the response.
    pub(crate) fn send_body(&self, lines: &[&str], body: &str) -> Response {
        let mut socket = self.connect();
        let head = lines.join("\r\n");
        let request = format!("{head}\r\nConnection: close\r\n\r\n{body}");
        socket.write_all(request.as_bytes()).expect("sent");
        let mut response = Vec::new();
        // A server that refuses a request early may reset the connection.
        let _reset = socket.read_to_end(&mut response);
        let end = response.windows(4).position(|bytes| bytes == b"\r\n\r\n");
        let body = response[end.map_or(response.len(), |end| end + 4)..].to_vec();
        let text = String::from_utf8_lossy(&response).into_owned();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
        Response { status: status.expect("a status"), text, body }
    }

    /// Sends a GET request of a browser that has the cookie.
    pub(crate) fn open(&self, path: &str, cookie: &str) -> Response {
        self.get(path, &self.address.to_string(), cookie)
    }

    /// Sends a GET request with a host and a cookie.
    fn get(&self, path: &str, host: &str, cookie: &str) -> Response {
        let line = format!("GET {path} HTTP/1.1");
        self.send(&[&line, &format!("Host: {host}"), &format!("Cookie: {cookie}")])
    }

    /// Exchanges the token for the cookie.
    pub(crate) fn cookie(&self) -> String {
        let path = format!("/?token={}", self.token);
        let response = self.get(&path, &self.address.to_string(), "");
        assert_eq!((response.status, response.header("location")), (303, Some("/")));
        let cookie = response.header("set-cookie").expect("a cookie");
        for attribute in ["HttpOnly", "SameSite=Strict", "Path=/"] {
            assert!(cookie.contains(attribute), "{cookie}");
        }
        cookie.split(';').next().expect("a pair").to_owned()
    }
}

/// Paths of pages, parts of pages, scripts, and paths that do not exist.
const PATHS: [&str; 12] = [
    "/",
    "/groups",
    "/groups/rows?from=0&n=10",
    "/same-folders",
    "/folders",
    "/space",
    "/plan",
    "/runs",
    "/quarantine",
    "/file/1/0",
    "/assets/0/app.js",
    "/nowhere",
];

fn scanned() -> Lop {
    let tree = TreeBuilder::new().file("x/a", "alike").file("y/b", "alike");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

#[test]
fn the_printed_address_leads_to_the_page_and_a_signal_ends_the_server() {
    let lop = scanned();
    let mut server = Server::start(&lop, &[]);
    let (host, cookie) = (server.address.to_string(), server.cookie());
    let page = server.get("/", &host, &cookie);
    assert_eq!(page.status, 200);
    assert!(page.text.contains("<!DOCTYPE html>"));
    assert!(!page.text.contains(&server.token), "the page does not repeat the token");
    server.running.signal(Signal::INT);
    assert_eq!(server.running.wait().ending, Ending::Code(0));
}

#[test]
fn without_the_token_no_path_can_be_read() {
    let lop = scanned();
    let server = Server::start(&lop, &[]);
    let host = server.address.to_string();
    for path in PATHS {
        for cookie in ["", "lop=1", &format!("lop-{}=0", server.address.port())] {
            let response = server.get(path, &host, cookie);
            assert_eq!(response.status, 401, "{path} with {cookie}");
            assert!(!response.text.contains("alike") && !response.text.contains("lop-csrf"));
        }
        let wrong = format!("{path}{}token=0", if path.contains('?') { '&' } else { '?' });
        assert_eq!(server.get(&wrong, &host, "").status, 403, "{wrong}");
    }
}

#[test]
fn another_host_name_is_refused_even_with_the_cookie() {
    let lop = scanned();
    let server = Server::start(&lop, &["--allow-host", "nas.example"]);
    let cookie = server.cookie();
    let port = server.address.port();
    for path in PATHS {
        for host in ["evil.example", "nas.example.evil.example", "192.168.1.1", "0.0.0.0"] {
            let response = server.get(path, &format!("{host}:{port}"), &cookie);
            assert_eq!(response.status, 421, "{path} at {host}");
            assert!(!response.text.contains("lop-csrf"));
        }
    }
    for host in ["localhost", "127.0.0.1", "nas.example"] {
        assert_eq!(server.get("/", &format!("{host}:{port}"), &cookie).status, 200, "{host}");
    }
    let without = server.send(&["GET / HTTP/1.1", &format!("Cookie: {cookie}")]);
    assert!(matches!(without.status, 400 | 421), "{}", without.status);
}

#[test]
fn every_response_has_the_security_headers() {
    let lop = scanned();
    let server = Server::start(&lop, &[]);
    let (host, cookie) = (server.address.to_string(), server.cookie());
    for path in PATHS {
        for cookie in ["", &cookie] {
            let response = server.get(path, &host, cookie);
            let policy = response.header("content-security-policy").expect("a policy");
            assert!(policy.contains("default-src 'none'"), "{path}: {policy}");
            assert!(!policy.contains("unsafe"), "{path}: {policy}");
            assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{path}");
            assert_eq!(response.header("cross-origin-resource-policy"), Some("same-origin"));
            assert_eq!(response.header("access-control-allow-origin"), None, "{path}");
        }
    }
}

#[test]
fn pages_of_other_servers_can_neither_read_nor_change_anything() {
    let lop = scanned();
    let server = Server::start(&lop, &["--allow-actions"]);
    let (host, cookie) = (format!("Host: {}", server.address), server.cookie());
    let cookie = format!("Cookie: {cookie}");
    for from in ["cross-site", "same-site"] {
        let from = format!("Sec-Fetch-Site: {from}");
        for path in PATHS {
            let get = format!("GET {path} HTTP/1.1");
            assert_eq!(server.send(&[&get, &host, &cookie, &from]).status, 403, "{path}");
        }
    }
    let (post, json) = ("POST /api/decide HTTP/1.1", "Content-Type: application/json");
    let (own, other) =
        (format!("Origin: http://{}", server.address), "Origin: http://evil.example");
    for lines in [
        &[post, &host, &cookie, json][..],
        &[post, &host, &cookie, json, &own],
        &[post, &host, &cookie, json, other],
        &[post, &host, json, &own],
        &[post, "Host: evil.example", &cookie, json, "Origin: http://evil.example"],
    ] {
        let status = server.send(lines).status;
        assert!(matches!(status, 401 | 403 | 421), "{lines:?}: {status}");
    }
}

#[test]
fn a_change_over_a_socket_needs_every_proof() {
    let lop = scanned();
    let server = Server::start(&lop, &[]);
    let cookie = server.cookie();
    let page = server.open("/groups", &cookie).text;
    let (_, rest) = page.split_once("name=\"lop-csrf\" content=\"").expect("a secret");
    let secret = rest.split('"').next().expect("an end");
    let view = server.open("/groups/view", &cookie).text;
    let (_, rest) = view.split_once("\"revision\":").expect("a revision");
    let revision: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let body = format!(
        r#"{{"scope":{{"filter":"x"}},"choice":{{"leave":1}},"revision":{revision},"seen":999}}"#
    );
    let proofs = [
        format!("Host: {}", server.address),
        format!("Cookie: {cookie}"),
        format!("Origin: http://{}", server.address),
        format!("X-Lop-Csrf: {secret}"),
        "Content-Type: application/json".to_owned(),
    ];
    let length = format!("Content-Length: {}", body.len());
    let post = |proofs: &[String]| {
        let mut lines = vec!["POST /api/decide HTTP/1.1", &length];
        lines.extend(proofs.iter().map(String::as_str));
        server.send_body(&lines, &body).status
    };
    let before = std::fs::read(lop.catalog()).expect("a catalog");
    for at in 0..proofs.len() {
        let mut fewer = proofs.to_vec();
        fewer.remove(at);
        let status = post(&fewer);
        assert!(matches!(status, 400 | 401 | 403 | 415 | 421), "without {}: {status}", proofs[at]);
        for wrong in ["Host: evil.example", "Origin: null", "Sec-Fetch-Site: cross-site"] {
            fewer.push(wrong.to_owned());
            let status = post(&fewer);
            assert!(matches!(status, 400 | 401 | 403 | 421), "{fewer:?}: {status}");
            fewer.pop();
        }
    }
    assert!(before == std::fs::read(lop.catalog()).expect("a catalog"), "nothing changed");
    assert_eq!(post(&proofs), 200);
    assert!(before != std::fs::read(lop.catalog()).expect("a catalog"), "a decision was made");
}

#[test]
fn odd_targets_and_heads_lead_nowhere() {
    let lop = scanned();
    let server = Server::start(&lop, &[]);
    let (host, cookie) = (format!("Host: {}", server.address), server.cookie());
    let cookie = format!("Cookie: {cookie}");
    let own = format!("http://{}/nowhere", server.address);
    let long = format!("/{}", "a".repeat(20_000));
    let longer = format!("/groups/view?filter={}", "a".repeat(20_000));
    for (target, expected) in [
        ("/../../etc/passwd", &[404][..]),
        ("/%2e%2e/%2e%2e/etc/passwd", &[404]),
        ("/assets/0/..%2f..%2fetc%2fpasswd", &[404]),
        ("/assets/../lop.db", &[404]),
        ("/file/1/%2e%2e", &[400]),
        ("/runs/..%2f..", &[400]),
        ("/plan/%00/plan.csv", &[400]),
        ("/groups%00", &[404]),
        ("/groups/view?filter=%00", &[200]),
        ("/groups/view?filter=%ff", &[200, 400]),
        ("//evil.example/groups", &[404]),
        ("//groups", &[404]),
        ("/\\evil.example", &[400, 404]),
        ("\\..\\..\\etc", &[400]),
        ("groups", &[400, 421]),
        ("*", &[400, 404, 421]),
        ("http://evil.example/groups", &[421]),
        (&own, &[404]),
        (&long, &[404]),
        (&longer, &[200]),
    ] {
        let line = format!("GET {target} HTTP/1.1");
        let response = server.send(&[&line, &host, &cookie]);
        let short = &target[..target.len().min(60)];
        assert!(expected.contains(&response.status), "{short}: {}", response.status);
        assert!(!response.text.contains("root:"), "{short}");
    }
    let get = "GET /groups HTTP/1.1";
    for lines in [
        &[get, &host, &host, &cookie][..],
        &[get, &host, "Host: evil.example", &cookie],
        &[get, "Host: evil.example", &host, &cookie],
    ] {
        assert!(matches!(server.send(lines).status, 400 | 421), "{lines:?}");
    }
    let huge = format!("X-Long: {}", "a".repeat(60_000));
    assert_eq!(server.send(&[get, &host, &cookie, &huge]).status, 431);
}

#[test]
fn a_request_with_two_lengths_hides_no_second_request() {
    let lop = scanned();
    let server = Server::start(&lop, &[]);
    let host = format!("Host: {}", server.address);
    let hidden = format!("0\r\n\r\nGET /hidden HTTP/1.1\r\n{host}\r\n\r\n");
    let length = format!("Content-Length: {}", hidden.len());
    let chunked = "Transfer-Encoding: chunked";
    for lengths in [[&*length, chunked], [chunked, &*length], ["Content-Length: 1", &*length]] {
        let mut socket = server.connect();
        let head = ["POST /api/decide HTTP/1.1", &host, lengths[0], lengths[1]].join("\r\n");
        socket.write_all(format!("{head}\r\n\r\n{hidden}").as_bytes()).expect("sent");
        socket.shutdown(std::net::Shutdown::Write).expect("shut down");
        let mut response = Vec::new();
        let _reset = socket.read_to_end(&mut response);
        let text = String::from_utf8_lossy(&response);
        assert_eq!(text.matches("HTTP/1.1 ").count(), 1, "{lengths:?}: {text}");
    }
}

#[test]
fn a_kept_token_and_its_cookie_work_after_a_restart() {
    let lop = scanned();
    let file = lop.path("../tmp/token");
    let file = file.to_str().expect("UTF-8");
    let first = Server::start(&lop, &["--token-file", file]);
    let port = first.address.port().to_string();
    let (token, cookie) = (first.token.clone(), first.cookie());
    drop(first);
    let args = ["serve", "--listen", &port, "--token-file", file];
    let mut running = lop.command().args(args).spawn();
    assert!(running.wait_for(&When::Stdout(b"\n".into())));
    let again =
        Server { running, address: ([127, 0, 0, 1], port.parse().expect("port")).into(), token };
    assert_eq!(again.get("/", "localhost", &cookie).status, 200);
    assert_eq!(again.cookie(), cookie);
}
