//! Files as bodies.

use std::io::Write;
use std::num::NonZeroU64;

use httpd::server::Rates;
use runtime::Throttle;

use crate::client::Client;
use crate::running::{Running, TEXT, key};

/// Bytes in which every position is recognisable.
fn pattern(length: usize) -> Vec<u8> {
    let numbers = (0u64..).flat_map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
    numbers.take(length).collect()
}

#[test]
fn files_of_all_sizes_arrive_whole() {
    let server = Running::start();
    let mut client = Client::connect(server.address);
    for size in [0, 1, 8192, 65_536, 65_537, 1 << 20, (20 << 20) + 5] {
        let bytes = pattern(size);
        server.write("f", &bytes);
        let answer = client.get("/file/f");
        assert!(answer.is_complete && answer.body == bytes, "{size} bytes");
        let answer = client.get("/parts/f");
        assert!(answer.is_complete && answer.body == [TEXT, &bytes, TEXT].concat(), "{size} bytes");
    }
}

#[test]
fn a_file_that_is_not_cached_arrives_whole() {
    let server = Running::start();
    let bytes = pattern(9 << 20);
    server.write("f", &bytes);
    let file = std::fs::File::open(server.path().join("f")).expect("opened");
    file.sync_all().expect("synced");
    // Where the kernel keeps the pages, the file is sent from the cache, which is also right.
    let _kept = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed);
    let mut client = Client::connect(server.address);
    assert!(client.get("/file/f").body == bytes);
}

#[test]
fn a_replaced_file_is_sent_as_it_was() {
    let server = Running::start();
    let bytes = pattern(30 << 20);
    server.write("f", &bytes);
    let mut client = Client::connect(server.address);
    client.send("GET /exact/f HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.head();
    server.write("new", &vec![0; 30 << 20]);
    let old = key(&server.path().join("f"));
    // A link keeps the old file, whose status change time is part of what an exact response promises.
    std::fs::rename(server.path().join("new"), server.path().join("f")).expect("renamed");
    assert_ne!(key(&server.path().join("f")), old);
    let rest = client_body(client, &head);
    assert!(bytes.starts_with(&rest), "bytes of another file");
}

#[test]
fn a_file_that_shrinks_or_changes_ends_the_response() {
    let server = Running::start();
    let bytes = pattern(30 << 20);
    for (path, change) in
        [("/file/f", Change::Shrink), ("/file/f", Change::Rewrite), ("/exact/f", Change::Grow)]
    {
        server.write("f", &bytes);
        let mut client = Client::connect(server.address);
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let head = client.head();
        change.make(&server);
        let rest = client_body(client, &head);
        assert!(rest.len() < bytes.len(), "{path} {change:?}");
    }
    assert_eq!(server.activity().cut, 3);
}

#[test]
fn a_file_that_grows_is_sent_up_to_its_old_end() {
    let server = Running::start();
    let bytes = pattern(30 << 20);
    server.write("f", &bytes);
    let mut client = Client::connect(server.address);
    client.send("GET /file/f HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = client.head();
    Change::Grow.make(&server);
    assert!(client_body(client, &head) == bytes);
}

#[test]
fn limited_rates_change_no_byte() {
    let total = Throttle::new(NonZeroU64::new(8 << 20));
    let rates = Rates { connection: NonZeroU64::new(16 << 20), after: 1 << 20, total };
    let server = Running::with(rates, 100);
    let bytes = pattern(3 << 20);
    server.write("f", &bytes);
    let get = |path: &'static str| {
        let address = server.address;
        std::thread::spawn(move || Client::connect(address).get(path).body)
    };
    let (first, second) = (get("/file/f"), get("/parts/f"));
    assert!(first.join().expect("read") == bytes);
    assert!(second.join().expect("read") == [TEXT, &bytes, TEXT].concat());
}

#[derive(Clone, Copy, Debug)]
enum Change {
    Shrink,
    Rewrite,
    Grow,
}

impl Change {
    fn make(self, server: &Running) {
        let path = server.path().join("f");
        let file =
            std::fs::OpenOptions::new().append(matches!(self, Change::Grow)).write(true).open(path);
        let mut file = file.expect("opened");
        match self {
            Change::Shrink => file.set_len(1000),
            Change::Rewrite => file.write_all(b"other bytes"),
            Change::Grow => file.write_all(b"further bytes"),
        }
        .expect("changed");
    }
}

fn client_body(mut client: Client, head: &str) -> Vec<u8> {
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    client.finish();
    client.rest()
}
