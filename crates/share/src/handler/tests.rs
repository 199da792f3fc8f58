//! Tests of the handler, without a socket.

#![expect(clippy::disallowed_methods, reason = "the tests make and change the shared files")]

use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fsops::Dir;
use httpd::server::{Body, FileRange, Handler, OwnedRequest, Part, Reply};
use testkit::TempTree;

use super::{FileHandler, Shared};
use crate::cache::{Bounds, FRESH};

struct Bench {
    tree: TempTree,
    handler: FileHandler,
    now: Instant,
}

#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Bench {
    fn new() -> Bench {
        let tree = TempTree::new();
        std::fs::create_dir(tree.path().join("root")).expect("created");
        let root = Dir::open(&tree.path().join("root")).expect("opened");
        let local_device = Some(root.stat().expect("stat").device);
        let bounds = Bounds { entries: 100, bytes: 1 << 20 };
        let shared = Shared { root, local_device, bounds, counters: Arc::default() };
        Bench { tree, handler: FileHandler::new(&Arc::new(shared)), now: Instant::now() }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.tree.path().join("root").join(name)
    }

    /// Writes a file, and waits until a further change has another time.
    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("written");
        std::thread::sleep(Duration::from_millis(25));
    }

    fn get(&mut self, path: &str) -> Answer {
        self.get_with(path, "")
    }

    fn get_with(&mut self, path: &str, fields: &str) -> Answer {
        let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\n{fields}\r\n");
        let request = OwnedRequest::of(head.as_bytes()).expect("a request");
        let response = match self.handler.handle(&request.get().expect("a request"), self.now) {
            Reply::Ready(response) => response,
            Reply::Later(job) => job()(&mut self.handler),
        };
        let body = match response.body {
            Body::Empty => Vec::new(),
            Body::Bytes(ref bytes) => bytes.to_vec(),
            Body::File(ref range) => bytes_of(range),
            Body::Parts(mut parts) => {
                let mut all = Vec::new();
                while let Some(part) = parts.next().expect("a part") {
                    match part {
                        Part::Bytes(bytes) => all.extend_from_slice(&bytes),
                        Part::File(range) => all.extend(bytes_of(&range)),
                    }
                }
                all
            }
        };
        let head = String::from_utf8(response.head.to_vec()).expect("ASCII");
        let status = head[9..12].parse().expect("a status");
        let answer = Answer { status, head, body };
        if let Some(length) = answer.field("content-length") {
            assert_eq!(length, answer.body.len().to_string(), "{path} {fields}");
        }
        answer
    }

    /// Lets the time pass after which entries of the cache are checked.
    fn wait(&mut self) {
        self.now += FRESH;
    }

    fn hits(&self) -> u64 {
        self.handler.shared.counters.hits.load(Ordering::Relaxed)
    }
}

fn bytes_of(range: &FileRange) -> Vec<u8> {
    range.served.check().expect("unchanged");
    let mut bytes = vec![0; usize::try_from(range.end - range.at).expect("fits")];
    let read = range.served.file.read_at(&mut bytes, range.at).expect("read");
    assert_eq!(read, bytes.len());
    bytes
}

#[test]
fn files_are_sent_and_remembered() {
    let mut bench = Bench::new();
    let large = vec![7; 100_000];
    bench.write("small", b"0123456789");
    bench.write("large.txt", &large);
    bench.write("empty", b"");
    for round in 0..3 {
        assert_eq!(bench.get("/small").body, b"0123456789");
        assert_eq!(bench.get("/empty").body, b"");
        let answer = bench.get("/large.txt");
        assert!(answer.body == large);
        assert_eq!(answer.field("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(bench.get("/missing").status, 404);
        assert_eq!(bench.hits(), round * 4);
    }
}

#[test]
fn a_changed_file_is_noticed_after_a_second() {
    let mut bench = Bench::new();
    bench.write("f", b"old");
    let old = bench.get("/f");
    bench.write("f", b"new!");
    assert_eq!(bench.get("/f").body, b"old", "within the second");
    bench.wait();
    let new = bench.get("/f");
    assert_eq!(new.body, b"new!");
    assert_ne!(old.field("etag"), new.field("etag"));
    bench.write("other", b"replaced");
    std::fs::rename(bench.path("other"), bench.path("f")).expect("renamed");
    bench.wait();
    assert_eq!(bench.get("/f").body, b"replaced");
    std::fs::remove_file(bench.path("f")).expect("removed");
    bench.wait();
    assert_eq!(bench.get("/f").status, 404);
    bench.write("f", b"again");
    bench.wait();
    assert_eq!(bench.get("/f").body, b"again");
}

#[test]
fn a_file_that_was_just_changed_is_not_kept_in_memory() {
    let mut bench = Bench::new();
    for n in 0..20u8 {
        // Both changes may have the same time.
        std::fs::write(bench.path("f"), [n; 4]).expect("written");
        assert!(bench.get("/f").field("etag").is_none());
        std::fs::write(bench.path("f"), [n + 100; 4]).expect("written");
        bench.wait();
        assert_eq!(bench.get("/f").body, [n + 100; 4]);
        std::thread::sleep(Duration::from_millis(25));
        bench.wait();
    }
}

#[test]
fn conditions_and_ranges_are_answered() {
    let mut bench = Bench::new();
    bench.write("f", b"0123456789");
    let tag = bench.get("/f").field("etag").expect("a tag").to_owned();
    let date = bench.get("/f").field("last-modified").expect("a date").to_owned();
    for (fields, status, body) in [
        (format!("If-None-Match: {tag}\r\n"), 304, ""),
        (format!("If-Modified-Since: {date}\r\n"), 304, ""),
        ("If-None-Match: \"x\"\r\n".to_owned(), 200, "0123456789"),
        ("Range: bytes=2-4\r\n".to_owned(), 206, "234"),
        ("Range: bytes=-1\r\n".to_owned(), 206, "9"),
        (format!("Range: bytes=-1\r\nIf-Range: {tag}\r\n"), 200, "0123456789"),
        ("Range: bytes=10-\r\n".to_owned(), 416, ""),
        ("Range: bytes=x\r\n".to_owned(), 200, "0123456789"),
        ("If-Match: \"x\"\r\n".to_owned(), 412, "the file is another version\n"),
    ] {
        let answer = bench.get_with("/f", &fields);
        assert_eq!((answer.status, answer.body), (status, body.as_bytes().to_vec()), "{fields}");
    }
    let answer = bench.get_with("/f", "Range: bytes=2-4\r\n");
    assert_eq!(answer.field("content-range"), Some("bytes 2-4/10"));
    assert_eq!(
        bench.get_with("/f", "Range: bytes=10-\r\n").field("content-range"),
        Some("bytes */10")
    );
}

#[test]
fn several_ranges_are_parts_of_one_response() {
    let mut bench = Bench::new();
    bench.write("f", b"0123456789");
    let answer = bench.get_with("/f", "Range: bytes=0-1,8-\r\n");
    let kind = answer.field("content-type").expect("a type");
    let boundary = kind.strip_prefix("multipart/byteranges; boundary=").expect("several parts");
    let part = |range: &str, text: &str| {
        format!(
            "\r\n--{boundary}\r\ncontent-type: application/octet-stream\r\ncontent-range: bytes {range}/10\r\n\r\n{text}"
        )
    };
    let expected = format!("{}{}\r\n--{boundary}--\r\n", part("0-1", "01"), part("8-9", "89"));
    assert_eq!(String::from_utf8_lossy(&answer.body), expected);
    assert_eq!(answer.status, 206);
}

#[test]
fn only_files_below_the_directory_are_sent() {
    let mut bench = Bench::new();
    bench.write("../secret", b"secret");
    bench.write("inside", b"inside");
    for (to, name) in [("inside", "in"), ("../secret", "out"), ("/etc/passwd", "absolute")] {
        symlink(to, bench.path(name)).expect("linked");
    }
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.path("fifo"), 0o600.into()).expect("created");
    assert_eq!(bench.get("/in").body, b"inside");
    for path in [
        "/out",
        "/absolute",
        "/../secret",
        "/%2e%2e/secret",
        "/fifo",
        "/inside/",
        "/inside/x",
        "//inside",
    ] {
        assert_eq!(bench.get(path).status, 404, "{path}");
    }
    let long = format!("/{}", "n".repeat(20_000));
    assert_eq!(bench.get(&long).status, 404);
}

#[test]
fn a_link_that_is_exchanged_all_the_time_never_leads_out() {
    let mut bench = Bench::new();
    bench.write("../secret", b"secret");
    std::fs::create_dir_all(bench.path("a/b")).expect("created");
    bench.write("a/b/secret", b"public");
    std::fs::create_dir_all(bench.tree.path().join("b")).expect("created");
    bench.write("../b/secret", b"secret");
    symlink("../../b", bench.path("a/link")).expect("linked");
    let stop = Arc::new(AtomicBool::new(false));
    let (link, dir, spare) = (bench.path("a/link"), bench.path("a/b"), bench.path("a/spare"));
    let swapper = std::thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            while !stop.load(Ordering::Relaxed) {
                for (from, to) in [(&dir, &spare), (&link, &dir), (&spare, &link)] {
                    std::fs::rename(from, to).expect("renamed");
                }
            }
        }
    });
    let (mut public, mut gone) = (0, 0);
    let end = Instant::now() + Duration::from_secs(2);
    while Instant::now() < end || public == 0 || gone == 0 {
        bench.wait();
        match bench.get("/a/b/secret") {
            Answer { status: 200, body, .. } => {
                assert_eq!(body, b"public");
                public += 1;
            }
            Answer { status, .. } => {
                assert!(matches!(status, 404 | 403 | 503), "{status}");
                gone += 1;
            }
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().expect("swapped");
}
