//! `lop serve` under load: idle connections, large files, and disks that do not answer.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use testkit::{Mount, TreeBuilder, View, skipped};

use crate::lop::Lop;
use crate::serving::Server;

/// Number of threads that the server may have: for slow work, for requests, and a few for jobs.
const MOST_THREADS: usize = 40;

/// Returns a number of `/proc/PID/status`, in its unit.
fn status(server: &Server, field: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{}/status", server.pid())).expect("status");
    let line = text.lines().find_map(|line| line.strip_prefix(field)).expect("a field");
    line.split_whitespace().nth(1).expect("a value").parse().expect("a number")
}

fn threads(server: &Server) -> usize {
    fs::read_dir(format!("/proc/{}/task", server.pid())).expect("threads").count()
}

#[test]
fn idle_connections_need_no_threads_and_end_after_a_while() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    lop.remember(["."]);
    // The server then has places for 48 connections.
    let server = Server::start_as(lop.command().descriptor_limit(64), &[]);
    let cookie = server.cookie();
    let mut idle: Vec<TcpStream> = (0..100).map(|_| server.connect()).collect();
    for (at, socket) in idle.iter_mut().enumerate().filter(|(at, _)| at % 2 == 0) {
        socket.write_all(&b"GET / HTTP/1.1\r\nHost: a\r\n"[..at % 26]).expect("sent");
    }
    // The server answers when an idle connection has timed out and made room for this one.
    assert_eq!(server.open("/", &cookie).status, 200);
    assert!(threads(&server) < MOST_THREADS, "{}", threads(&server));
    let mut first = Vec::new();
    let _reset = idle[0].read_to_end(&mut first);
    assert!(!first.starts_with(b"HTTP/1.1 200"), "the idle connection was closed");
}

#[test]
fn slow_and_broken_clients_do_not_stop_the_server() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    lop.remember(["."]);
    let server = Server::start(&lop, &[]);
    let cookie = server.cookie();
    let mut slow: Vec<TcpStream> = (0..1000).map(|_| server.connect()).collect();
    for (at, socket) in slow.iter_mut().enumerate() {
        let beginning: &[u8] = match at % 4 {
            0 => b"GET / HTTP/1.1\r\nHost: ",
            1 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
            2 => b"GET /\0\xff HTTP/1.1\r\n\r\n",
            _ => b"",
        };
        socket.write_all(beginning).expect("sent");
    }
    for byte in b"local" {
        for socket in &mut slow {
            // The server may have closed the connection.
            let _closed = socket.write_all(&[*byte]);
        }
        assert_eq!(server.open("/", &cookie).status, 200);
    }
    assert!(threads(&server) < MOST_THREADS, "{}", threads(&server));
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000));
    let _refused = server.connect().write_all(long.as_bytes());
    assert_eq!(server.open("/", &cookie).status, 200);
}

/// A picture of 65,535 x 65,535 pixels. The server must not decode it.
fn picture() -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xff\xff\0\0\xff\xff\x08\x06\0\0\0".to_vec();
    png.resize(3 << 20, 0);
    png
}

#[test]
fn a_file_that_is_large_once_unpacked_is_passed_on_as_it_is() {
    let mut jpeg = b"\xff\xd8\xff\xc2\0\x11\x08\xff\xff\xff\xff\x03\x01\x22\0".to_vec();
    jpeg.resize(40 << 20, 1);
    let mut gzip = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".to_vec();
    gzip.resize(2 << 20, 2);
    let files = [("bomb.png", picture()), ("bomb.jpg", jpeg), ("bomb.gz", gzip)];
    let mut tree = TreeBuilder::new();
    for (name, bytes) in &files {
        tree = tree.file(format!("a/{name}"), &**bytes).file(format!("b/{name}"), &**bytes);
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let server = Server::start(&lop, &[]);
    let cookie = server.cookie();
    assert_eq!(server.open("/groups/view", &cookie).status, 200);
    let before = status(&server, "VmHWM");
    for number in numbers(&lop) {
        let file = file(&server, &cookie, number);
        assert_eq!(server.open(&format!("{file}/preview"), &cookie).status, 200);
        let answer = server.open(&file, &cookie);
        assert!(files.iter().any(|(_, bytes)| *bytes == answer.body), "unchanged");
    }
    let grown = status(&server, "VmHWM") - before;
    assert!(grown < 20 << 10, "{grown} KiB more for 40 MiB");
}

/// Starts a server with limits of the rate, has each of `clients` fetch a file of `size` bytes, and checks every byte.
/// Returns the time that this took. The clients fetch at the same time.
fn fetch(size: usize, clients: usize, limits: &[&str]) -> Duration {
    let bytes = varied(size);
    let lop = Lop::with(&TreeBuilder::new().file("a", &*bytes).file("b", &*bytes));
    lop.remember(["."]);
    let server = Server::start(&lop, limits);
    let cookie = server.cookie();
    assert_eq!(server.open("/groups/view", &cookie).status, 200);
    let file = file(&server, &cookie, numbers(&lop)[0]);
    let start = Instant::now();
    std::thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let answer = server.open(&file, &cookie);
                assert_eq!(answer.status, 200);
                assert!(answer.body == bytes, "{} bytes of {size}", answer.body.len());
            });
        }
    });
    start.elapsed()
}

/// Returns bytes of which no two blocks are equal.
fn varied(size: usize) -> Vec<u8> {
    (0..size as u64 / 8)
        .flat_map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect()
}

#[test]
fn the_kernel_slows_each_connection_down_and_no_byte_is_lost() {
    // At 4 MiB/s, 8 MiB take two seconds. The kernel does not pace the beginning of a connection.
    let taken = fetch(8 << 20, 2, &["--limit-rate", "4M"]);
    assert!(taken >= Duration::from_millis(1600), "{taken:?}");
}

#[test]
fn all_connections_together_keep_the_total_limit_and_no_byte_is_lost() {
    // At 4 MiB/s, two files of 4 MiB take two seconds.
    let taken = fetch(4 << 20, 2, &["--limit-rate-total", "4MiB"]);
    assert!(taken >= Duration::from_millis(1600), "{taken:?}");
}

/// Returns the numbers of all groups.
fn numbers(lop: &Lop) -> Vec<i64> {
    let catalog = lop.database();
    let mut groups = catalog.prepare("SELECT id FROM content").expect("a query");
    let numbers = groups.query_map([], |row| row.get(0)).expect("runs");
    numbers.map(|number| number.expect("a number")).collect()
}

/// Returns the address of the first file of a group.
fn file(server: &Server, cookie: &str, number: i64) -> String {
    let detail = server.open(&format!("/groups/detail?id={number}&revision=1"), cookie).text;
    let (_, rest) = detail.split_once("data-preview=\"").expect("a preview");
    format!("/file/{}", rest.split('"').next().expect("an end"))
}

#[test]
fn a_disk_that_does_not_answer_stops_no_page() {
    let shown = TreeBuilder::new().file("far", "alike far").file("far again", "alike far");
    let shown = shown.make_temp();
    let view = match Mount::view(View::Bindfs, shown.path()) {
        Ok(view) => view,
        Err(reason) => return skipped(reason),
    };
    let lop = Lop::with(&TreeBuilder::new().file("near", "alike").file("near again", "alike"));
    let far = view.path().to_str().expect("UTF-8");
    lop.remember([".", far]);
    let server = Server::start(&lop, &[]);
    let cookie = server.cookie();
    assert_eq!(server.open("/groups/view", &cookie).status, 200);
    let numbers = numbers(&lop);
    assert_eq!(numbers.len(), 2);
    let files: Vec<String> = numbers.iter().map(|number| file(&server, &cookie, *number)).collect();
    let hung = match view.hang() {
        Ok(hung) => hung,
        Err(reason) => return skipped(reason),
    };
    // More requests for files than the server has threads.
    let mut waiting: Vec<TcpStream> = (0..60).map(|_| server.connect()).collect();
    for (at, socket) in waiting.iter_mut().enumerate() {
        let number = numbers[at % 2];
        let path = match at % 4 {
            0 | 1 => format!("/groups/live?id={number}&revision=1"),
            _ => format!("{}/preview", files[at % 2]),
        };
        let host = server.address;
        let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n");
        socket.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).expect("sent");
    }
    let start = server.open("/", &cookie);
    assert!(start.text.contains("1 disk does not answer"), "{}", start.text);
    for path in ["/groups", "/groups/view", "/groups/rows?view=1&from=0&n=9", "/same-folders"] {
        assert_eq!(server.open(path, &cookie).status, 200, "{path}");
    }
    for path in ["/space", "/plan", "/runs", "/quarantine", "/api/jobs", "/folders"] {
        assert_eq!(server.open(path, &cookie).status, 200, "{path}");
    }
    let (mut near, mut silent) = (0, 0);
    for mut socket in waiting {
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("answered");
        near +=
            usize::from(answer.contains("\"text\":\"unchanged\"") || answer.contains("Download"));
        silent += usize::from(answer.to_lowercase().contains("the disk does not answer"));
    }
    assert_eq!((near, silent), (30, 30), "only the files of one disk are missing");
    drop(hung);
    for file in files {
        assert_eq!(server.open(&file, &cookie).status, 200);
    }
}
