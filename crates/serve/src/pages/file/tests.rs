//! Tests of the files that the server sends, on real trees.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees that they made to see what the server makes of it"
)]

use std::fs;
use std::future::poll_fn;
use std::num::NonZeroU64;
use std::os::unix::fs::symlink;
use std::pin::Pin;
use std::process::Command;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{Method, StatusCode};
use hyper::body::Body as _;
use testkit::TreeBuilder;
use tokio::runtime::Runtime;

use crate::options::RateLimits;
use crate::testing::TestServer;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x02\0\0\0\x03 and some pixels";
/// Puts something else in the place of a file.
type Swap = fn(&TestServer);

/// Another file of the same size.
const SECRET: &[u8] = b"\x89PNG\r\n\x1a\n a secret of the same length!!!!";
/// A picture of 65535 x 65535 pixels in a few bytes.
const BOMB: &[u8] = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc2\0\x11\x08\xff\xff\xff\xff\x03\x01\x22\0";

/// A tree in which each file has a copy in `b`.
fn served(files: &[(&str, &[u8])]) -> TestServer {
    let mut tree = TreeBuilder::new();
    for (name, bytes) in files {
        tree = tree.file(format!("a/{name}"), *bytes).file(format!("b/{name}"), *bytes);
    }
    TestServer::scanned(&tree)
}

fn picture() -> (TestServer, String) {
    let served = served(&[("photo", PNG)]);
    let address = served.address("a/photo");
    (served, address)
}

/// Returns the next piece of a response.
fn piece(body: &mut Body, runtime: &Runtime) -> Option<Result<Bytes, axum::Error>> {
    let next = poll_fn(|context| Pin::new(&mut *body).poll_frame(context));
    let frame = runtime.block_on(next)?;
    Some(frame.map(|frame| frame.into_data().expect("data")))
}

#[test]
fn a_picture_is_sent_as_one() {
    let (served, address) = picture();
    let answer = served.get(&address);
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.body, PNG);
    for (name, value) in [
        ("content-type", "image/png"),
        ("content-length", "40"),
        ("accept-ranges", "bytes"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("x-content-type-options", "nosniff"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "private, no-cache"),
        ("content-disposition", "inline; filename*=UTF-8''photo"),
    ] {
        assert_eq!(answer.header(name), value, "{name}");
    }
    let head = served.ask(Method::HEAD, &address, &[]);
    assert_eq!(
        (head.status, head.header("content-length"), head.body.len()),
        (StatusCode::OK, "40", 0)
    );
    let download = served.get(&format!("{address}?download"));
    assert_eq!(download.header("content-type"), "application/octet-stream");
    assert!(download.header("content-disposition").starts_with("attachment;"));
}

#[test]
fn a_page_with_the_name_of_a_picture_is_a_download() {
    let page = b"<html><script>alert(1)</script></html>";
    let served = served(&[("photo.jpg", page), ("drawing.svg", b"<svg onload='alert(1)'/>")]);
    for name in ["photo.jpg", "drawing.svg"] {
        let answer = served.get(&served.address(&format!("a/{name}")));
        assert_eq!(answer.header("content-type"), "application/octet-stream", "{name}");
        assert!(answer.header("content-disposition").starts_with("attachment;"), "{name}");
        assert_eq!(answer.header("x-content-type-options"), "nosniff", "{name}");
    }
}

#[test]
fn a_part_of_a_file_is_sent_by_range() {
    let (served, address) = picture();
    let part = |range: &str| served.ask(Method::GET, &address, &[("range", range)]);
    let answer = part("bytes=1-3");
    assert_eq!((answer.status, &*answer.body), (StatusCode::PARTIAL_CONTENT, &b"PNG"[..]));
    assert_eq!(answer.header("content-range"), "bytes 1-3/40");
    assert_eq!(answer.header("content-length"), "3");
    assert_eq!(part("bytes=-6").body, b"pixels");
    assert_eq!(part("bytes=34-999").body, b"pixels");
    let beyond = part("bytes=40-");
    assert_eq!(beyond.status, StatusCode::RANGE_NOT_SATISFIABLE);
    assert_eq!((beyond.header("content-range"), beyond.body.len()), ("bytes */40", 0));
    assert_eq!(part("bytes=0-1,4-5").status, StatusCode::OK, "several ranges get the whole file");
}

#[test]
fn a_download_goes_on_only_with_the_same_version() {
    let (served, address) = picture();
    let tag = served.get(&address).header("etag").to_owned();
    assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag}");
    let part = |tag: &str| {
        let headers = [("range", "bytes=34-"), ("if-range", tag)];
        served.ask(Method::GET, &address, &headers).status
    };
    assert_eq!(part(&tag), StatusCode::PARTIAL_CONTENT);
    assert_eq!(part("\"other\""), StatusCode::OK);
    let known = served.ask(Method::GET, &address, &[("if-none-match", &tag)]);
    assert_eq!((known.status, known.body.len()), (StatusCode::NOT_MODIFIED, 0));
}

#[test]
fn an_address_names_files_only_by_numbers() {
    let (served, address) = picture();
    let number = served.number("a/photo");
    for (uri, expected) in [
        (served.address("b/photo"), StatusCode::OK),
        (format!("/file/{number}/0-0"), StatusCode::CONFLICT),
        (format!("/file/{number}/2-0"), StatusCode::NOT_FOUND),
        (format!("/file/{number}/4294967295-0"), StatusCode::NOT_FOUND),
        (format!("/file/{number}/0"), StatusCode::BAD_REQUEST),
        (format!("/file/{number}/-1-0"), StatusCode::BAD_REQUEST),
        (format!("/file/{number}/4294967296-0"), StatusCode::BAD_REQUEST),
        ("/file/-1/0-0".into(), StatusCode::NOT_FOUND),
        ("/file/9223372036854775807/0-0".into(), StatusCode::NOT_FOUND),
        ("/file/9223372036854775808/0-0".into(), StatusCode::BAD_REQUEST),
        (format!("{address}/../../etc/passwd"), StatusCode::NOT_FOUND),
        ("/file/%2e%2e/%2fetc%2fpasswd".into(), StatusCode::BAD_REQUEST),
        (format!("/file/{number}/0%2f..%2fphoto"), StatusCode::BAD_REQUEST),
        (format!("{address}/"), StatusCode::NOT_FOUND),
    ] {
        assert_eq!(served.get(&uri).status, expected, "{uri}");
    }
}

#[test]
fn an_address_never_denotes_another_file_after_a_scan() {
    let (served, address) = picture();
    let copy = served.address("b/photo");
    served.scan();
    assert_eq!(served.get(&address).status, StatusCode::OK, "the file is the same");
    fs::create_dir(served.tree.join("0")).expect("made");
    fs::write(served.tree.join("0/photo"), PNG).expect("written");
    fs::write(served.tree.join("b/photo"), SECRET).expect("written");
    fs::write(served.tree.join("b/secret"), SECRET).expect("written");
    served.scan();
    assert_eq!(served.get(&served.address("0/photo")).status, StatusCode::OK);
    for old in [&address, &copy] {
        for uri in [old.clone(), format!("{old}/text"), format!("{old}/thumb")] {
            let answer = served.get(&uri);
            assert_eq!(answer.status, StatusCode::CONFLICT, "{uri}");
            assert!(answer.text().contains("is outdated"), "{uri}");
        }
        assert!(served.get(&format!("{old}/preview")).text().contains("Reload the page"));
    }
}

#[test]
fn a_file_that_is_not_the_scanned_one_is_not_sent() {
    assert_eq!(SECRET.len(), PNG.len());
    let swaps: [(&str, Swap); 6] = [
        ("another file", |served| {
            fs::write(served.tree.join("new"), SECRET).expect("written");
            fs::rename(served.tree.join("new"), served.tree.join("a/photo")).expect("renamed");
        }),
        ("a link to a file", |served| {
            fs::rename(served.tree.join("a/photo"), served.tree.join("moved")).expect("renamed");
            symlink(served.tree.join("moved"), served.tree.join("a/photo")).expect("linked");
        }),
        ("a link to the directory", |served| {
            fs::rename(served.tree.join("a"), served.tree.join("moved")).expect("renamed");
            symlink(served.tree.join("moved"), served.tree.join("a")).expect("linked");
        }),
        ("a FIFO", |served| {
            fs::remove_file(served.tree.join("a/photo")).expect("removed");
            let made = Command::new("mkfifo").arg(served.tree.join("a/photo")).status();
            assert!(made.expect("mkfifo").success());
        }),
        ("a directory", |served| {
            fs::remove_file(served.tree.join("a/photo")).expect("removed");
            fs::create_dir(served.tree.join("a/photo")).expect("made");
        }),
        ("a longer file", |served| {
            fs::write(served.tree.join("a/photo"), [PNG, b"!"].concat()).expect("written");
        }),
    ];
    for (what, swap) in swaps {
        let (served, address) = picture();
        swap(&served);
        for uri in [address.clone(), format!("{address}/text"), format!("{address}/thumb")] {
            let answer = served.get(&uri);
            assert_eq!(answer.status, StatusCode::CONFLICT, "{what}: {uri}");
            assert!(answer.text().contains("changed since the scan"), "{what}: {uri}");
        }
        assert_eq!(served.get(&served.address("b/photo")).status, StatusCode::OK, "the copy");
        assert!(served.get(&format!("{address}/preview")).text().contains("No preview"), "{what}");
    }
}

#[test]
fn a_file_that_is_gone_is_not_found() {
    let (served, address) = picture();
    fs::remove_file(served.tree.join("a/photo")).expect("removed");
    let answer = served.get(&address);
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert!(answer.text().contains("This file is gone"));
}

#[test]
fn a_response_is_never_longer_than_the_file_was() {
    let bytes = vec![b'x'; 300 << 10];
    let served = served(&[("large", &bytes)]);
    let mut body = served.begin(&served.address("a/large")).into_body();
    let first = piece(&mut body, &served.runtime).expect("a piece").expect("read");
    assert_eq!(first.len(), 256 << 10);
    fs::write(served.tree.join("a/large"), vec![b'y'; 1 << 20]).expect("written");
    let rest = piece(&mut body, &served.runtime).expect("a piece").expect("read");
    assert_eq!(rest.len(), 44 << 10);
    assert!(piece(&mut body, &served.runtime).is_none());
}

#[test]
fn the_bytes_of_a_file_count_against_the_limit_of_the_rate() {
    let bytes = vec![b'x'; 300 << 10];
    let mut served = served(&[("large", &bytes)]);
    served.restart_with(RateLimits { total: NonZeroU64::new(1), ..RateLimits::default() });
    assert_eq!(served.app.file_rate.reserve(0), Duration::ZERO, "pages do not count");
    let mut body = served.begin(&served.address("a/large")).into_body();
    let first = piece(&mut body, &served.runtime).expect("a piece").expect("read");
    assert_eq!(first.len(), 4096, "pieces are small, so that clients share the rate");
    // At one byte per second, the next piece may be sent after more than an hour.
    assert!(served.app.file_rate.reserve(0) > Duration::from_secs(600));
}

#[test]
fn a_file_that_becomes_shorter_breaks_the_response() {
    let bytes = vec![b'x'; 300 << 10];
    let served = served(&[("large", &bytes)]);
    let mut body = served.begin(&served.address("a/large")).into_body();
    piece(&mut body, &served.runtime).expect("a piece").expect("read");
    fs::write(served.tree.join("a/large"), "short").expect("written");
    let rest = piece(&mut body, &served.runtime).expect("a piece");
    assert!(rest.is_err(), "the client must not take it for complete");
}

#[test]
fn text_is_shown_escaped() {
    let served = served(&[("page.html", b"<b>bold</b>\n\xff")]);
    let answer = served.get(&format!("{}/text", served.address("a/page.html")));
    assert_eq!(answer.status, StatusCode::OK);
    assert!(answer.text().contains("&lt;b&gt;bold&lt;/b&gt;\n<span class=\"esc\">\\xff</span>"));
}

#[test]
fn a_preview_shows_what_the_browser_can() {
    let long = b"text ".repeat(20_000);
    let served = served(&[
        ("photo", PNG),
        ("bomb.jpg", BOMB),
        ("<b>.mp3", b"ID3\x04 music"),
        ("film", b"\0\0\0\x18ftypisom\0\0\0\0isomavc1"),
        ("page.html", b"<script>alert(1)</script>"),
        ("long", &long),
        ("data", b"\0\0\0\0"),
    ]);
    let preview = |name: &str| {
        let address = served.address(&format!("a/{name}"));
        served.get(&format!("{address}/preview")).text().replace(&address, "FILE")
    };
    let has = |name: &str, part: &str| {
        let text = preview(name);
        assert!(text.contains(part), "{name} without {part}: {text}");
    };
    has("photo", r#"<img class="preview" src="FILE" alt="photo" decoding="async""#);
    has("photo", "<li>258 × 3</li>");
    has("bomb.jpg", "too large to show");
    has("bomb.jpg", "<li>65,535 × 65,535</li>");
    assert!(!preview("bomb.jpg").contains("<img"));
    has("<b>.mp3", r#"<audio src="FILE" aria-label="&lt;b&gt;.mp3" preload="metadata""#);
    has("film", r#"<video class="preview" src="FILE""#);
    has("page.html", "&lt;script&gt;alert(1)&lt;/script&gt;");
    has("long", "The first 64.0 KiB of 97.7 KiB.");
    has("data", "No preview of this type of file.");
    for name in ["photo", "film", "page.html", "data"] {
        has(name, r#"href="FILE?download""#);
    }
}

#[test]
fn the_thumbnail_of_a_file_without_one_is_not_found() {
    let served = served(&[("bomb.jpg", BOMB), ("text", b"text")]);
    for name in ["bomb.jpg", "text"] {
        let address = format!("{}/thumb", served.address(&format!("a/{name}")));
        assert_eq!(served.get(&address).status, StatusCode::NOT_FOUND);
    }
}
