//! Tests of the handler, without a socket.

#![expect(clippy::disallowed_methods, reason = "the tests make and change the shared files")]

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use httpd::server::{Body, FileRange, Handler, OwnedRequest, Part, Reply};
use runtime::Mutex;
use testkit::TempTree;
use walk::OwnFiles;

use super::FileHandler;
use crate::access::Access;
use crate::archive::Plans;
use crate::cache::{Bounds, FRESH};
use crate::facts::Facts;
use crate::listing::Budget;
use crate::roots::Roots;
use crate::shared::Shared;

struct Bench {
    tree: TempTree,
    handler: FileHandler,
    warnings: Arc<Mutex<Vec<String>>>,
    now: Instant,
}

/// The catalog, and lop's own files.
#[derive(Default)]
struct Knowledge {
    catalog: Option<PathBuf>,
    own: Vec<PathBuf>,
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
        let directories = vec![tree.path().join("root")];
        Bench::of(tree, &directories, Knowledge::default())
    }

    fn of(tree: TempTree, directories: &[PathBuf], known: Knowledge) -> Bench {
        let roots = Roots::open(directories, OwnFiles::new(&known.own)).expect("opened");
        let paths = roots.all().iter().map(|root| root.absolute(b"")).collect();
        let warnings: Arc<Mutex<Vec<String>>> = Arc::default();
        let warn = Arc::clone(&warnings);
        let shared = Shared {
            access: Access::new(None, None, 0, false),
            facts: Facts::new(known.catalog, paths),
            plans: Plans::default(),
            listings: Budget::default(),
            warn: Box::new(move |text| warn.lock().push(text.to_owned())),
            statistics: None,
            roots,
        };
        let bounds = Bounds { entries: 100, bytes: 1 << 20 };
        let handler = FileHandler::new(&Arc::new(shared), bounds, &Arc::default());
        Bench { tree, handler, warnings, now: Instant::now() }
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
        self.handler.counters.hits.get()
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

#[test]
fn a_directory_is_listed_below_a_slash() {
    let mut bench = Bench::new();
    std::fs::create_dir_all(bench.path("a b")).expect("created");
    bench.write("a b/f<>", b"0123456789");
    let answer = bench.get("/a%20b?sort=size&x=%0d\u{80}");
    assert_eq!(answer.status, 301);
    assert_eq!(answer.field("location"), Some("/a%20b/?sort=size&x=%0d%C2%80"));
    let answer = bench.get("/a%20b/");
    let page = String::from_utf8(answer.body).expect("UTF-8");
    assert!(page.contains("<a href=\"./f%3C%3E\"><bdi>f&lt;&gt;</bdi></a>"), "{page}");
    let json = bench.get_with("/a%20b/", "Accept: application/json\r\n");
    assert!(json.field("content-type") == Some("application/json"));
    assert!(String::from_utf8_lossy(&json.body).contains("\"size\":10"));
    assert_eq!(bench.get_with("/no/", "Accept: text/html\r\n").status, 404);
}

#[test]
fn an_archive_can_be_resumed() {
    let mut bench = Bench::new();
    std::fs::create_dir_all(bench.path("d")).expect("created");
    bench.write("d/f", &[7; 5000]);
    let whole = bench.get("/d/?tar");
    assert_eq!((whole.status, whole.field("content-type")), (200, Some("application/x-tar")));
    let name = whole.field("content-disposition").expect("a name");
    assert_eq!(name, "attachment; filename*=UTF-8''d.tar");
    let tag = whole.field("etag").expect("a tag").to_owned();
    let rest = bench.get_with("/d/?tar", &format!("Range: bytes=1000-\r\nIf-Range: {tag}\r\n"));
    assert_eq!((rest.status, &rest.body[..]), (206, &whole.body[1000..]));
    let expected = format!("bytes 1000-{}/{}", whole.body.len() - 1, whole.body.len());
    assert_eq!(rest.field("content-range"), Some(&expected[..]));
    let again = bench.get_with("/d/?tar", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((again.status, again.body.len()), (304, 0));
}

#[test]
fn entries_left_out_of_an_archive_are_reported() {
    let mut bench = Bench::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, bench.path("fifo\n"), 0o600.into()).expect("created");
    assert_eq!(bench.get("/?tar").status, 200);
    let warnings = bench.warnings.lock().clone();
    assert_eq!(warnings, ["not in the archive of root: root/fifo\\n: it is a FIFO"]);
}

#[test]
fn several_directories_have_a_page() {
    let tree = TempTree::new();
    let directories = ["a", "b"].map(|name| tree.path().join(name));
    for directory in &directories {
        std::fs::create_dir(directory).expect("created");
    }
    let mut bench = Bench::of(tree, &directories, Knowledge::default());
    std::fs::write(bench.tree.path().join("b/f"), "1").expect("written");
    let page = String::from_utf8(bench.get("/").body).expect("UTF-8");
    assert!(page.contains("<a href=\"./a/\">") && page.contains("<a href=\"./b/\">"), "{page}");
    assert!(!page.contains("name=\"tar\""));
    assert_eq!(bench.get("/b/f").body, b"1");
    assert_eq!((bench.get("/b").status, bench.get("/b/").status), (301, 200));
    assert_eq!((bench.get("/f").status, bench.get("/c/").status), (404, 404));
    assert_eq!((bench.get("/?tar").status, bench.get("/b/?tar").status), (404, 200));
    assert_eq!(bench.get("/b/../a/").status, 404);
}

#[test]
fn own_files_are_not_shared() {
    let tree = TempTree::new();
    let root = tree.path().join("root");
    std::fs::create_dir_all(root.join("state/catalog.db.runs")).expect("created");
    let own = ["catalog.db", "catalog.db.runs"].map(|name| root.join("state").join(name));
    let mut bench = Bench::of(tree, &[root], Knowledge { own: own.to_vec(), catalog: None });
    for name in ["catalog.db", "state/catalog.db", "state/catalog.db.runs/1", "state/other"] {
        bench.write(name, name.as_bytes());
    }
    assert_eq!(bench.get("/catalog.db").body, b"catalog.db", "in another directory");
    assert_eq!(bench.get("/state/catalog.db").status, 404);
    assert_eq!(bench.get("/state/catalog.db.runs/1").status, 404);
    assert_eq!(bench.get("/state/catalog.db.runs/").status, 404);
    let page = String::from_utf8(bench.get("/state/").body).expect("UTF-8");
    assert!(page.contains("other") && !page.contains("catalog.db"), "{page}");
    let archive = bench.get("/?tar").body;
    let has = |text: &[u8]| archive.windows(text.len()).any(|part| part == text);
    assert!(has(b"root/state/other\0") && has(b"root/catalog.db\0"));
    assert!(!has(b"root/state/catalog.db"));
}
