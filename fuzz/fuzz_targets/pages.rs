//! Sends any query, any numbers in the path and any JSON to each route of `lop serve`, over a socket. Every
//! request must get an answer other than "internal server error"; a panic in a handler ends the fuzzer.

#![no_main]

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serve::{Options, RateLimits, Server};

#[path = "../../crates/serve/src/testing/scan.rs"]
mod scan;
#[path = "../../crates/serve/src/pages/matrix/table.rs"]
mod table;

/// A folder of this fuzzer: a static cannot remove a temporary one.
const PLACE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/pages");

/// A server that runs until the process ends.
struct Running {
    address: SocketAddr,
    token: String,
}

static SERVER: LazyLock<Running> = LazyLock::new(|| {
    let place = Path::new(PLACE);
    let _none = fs::remove_dir_all(place);
    for (path, text) in [("a/one", "alike"), ("b/one", "alike"), ("a/x.jpg", "same"), ("y", "same")]
    {
        let path = place.join("tree").join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("written");
    }
    scan::scan(&place.join("tree"), &place.join("lop.db"));
    let options = Options {
        catalog: place.join("lop.db"),
        listen: ([127, 0, 0, 1], 0).into(),
        hosts: Vec::new(),
        allow_actions: true,
        token_file: None,
        certificate: None,
        rates: RateLimits::default(),
        // No request starts a process.
        program: "/nonexistent".into(),
    };
    let server = Server::bind(options).expect("listens");
    let address = server.address();
    let url = server.url_at(address);
    let (_, token) = url.split_once("token=").expect("a token");
    std::thread::spawn(|| server.run());
    Running { address, token: token.to_owned() }
});

fuzz_target!(|input: (u8, &str)| {
    let (route, text) = input;
    let (method, pattern, example, _) = table::ROUTES[usize::from(route) % table::ROUTES.len()];
    let Some(path) = path(pattern, text) else { return };
    // An empty text asks for the example.
    let rest = text.split_once('\n').map_or(text, |(_, rest)| rest);
    let rest = if rest.is_empty() { example } else { rest };
    let (query, body) = if method == "GET" { (rest, "") } else { ("", rest) };
    if query.bytes().any(|byte| !byte.is_ascii_graphic() || byte == b'#') {
        return;
    }
    let answer = ask(&format!("{method} {path}?{query}"), body);
    let status = answer.split(' ').nth(1).unwrap_or_default();
    // There is no program to start.
    let is_expected = status.len() == 3 && (status != "500" || answer.contains("(os error 2)"));
    assert!(is_expected, "{method} {path}?{query} {body}: {answer}");
});

/// Fills the places of a pattern with the words of the first line of `text`.
fn path(pattern: &str, text: &str) -> Option<String> {
    let mut words = text.lines().next().unwrap_or_default().split(' ');
    let parts = pattern.split('/').map(|part| match part.starts_with('{') {
        true => words.next().filter(|word| !word.is_empty()).unwrap_or("1"),
        false => part,
    });
    let path = parts.collect::<Vec<_>>().join("/");
    path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte)).then_some(path)
}

/// Sends a request, and returns the answer.
fn ask(line: &str, body: &str) -> String {
    let Running { address, token } = &*SERVER;
    let mut socket = TcpStream::connect(address).expect("connects");
    let head = format!(
        "{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    // An answer that came before the whole body was sent is an answer as well.
    let _sent = socket.write_all(head.as_bytes());
    let mut answer = Vec::new();
    let _read = socket.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}
