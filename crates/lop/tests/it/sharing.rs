//! `lop share`: folders over HTTP.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Value;
use testkit::{Ending, Signal, TreeBuilder, When, hostile_tree};

use crate::lop::Lop;
use crate::serving::{Response, Server};

/// Sends a GET request with further lines.
fn get(server: &Server, path: &str, more: &[&str]) -> Response {
    let (line, host) = (format!("GET {path} HTTP/1.1"), format!("Host: {}", server.address));
    server.send(&[&[&line[..], &host], more].concat())
}

#[test]
fn files_are_served_until_a_signal() {
    let lop = Lop::with(&TreeBuilder::new().file("d/f1", "first").file("e/f1", "second"));
    for signal in [Signal::INT, Signal::TERM] {
        let server = Server::share(&lop, &["-q", "--public", "d"]);
        let response = get(&server, "/f1", &[]);
        assert_eq!((response.status, &response.body[..]), (200, &b"first"[..]));
        let output = server.stop(signal);
        assert_eq!((output.ending, output.stderr_str()), (Ending::Code(0), ""));
    }
    let server = Server::share(&lop, &["-q", "--public", "d", "e/"]);
    assert_eq!(get(&server, "/d/f1", &[]).body, b"first");
    assert_eq!(get(&server, "/e/f1", &[]).body, b"second");
    assert_eq!(get(&server, "/f1", &[]).status, 404);
}

#[test]
fn requests_need_the_token_unless_the_folders_are_public() {
    let lop = Lop::with(&TreeBuilder::new().file("d/f", "secret"));
    let args = ["--token-file", "token", "d"];
    let server = Server::share(&lop, &args);
    let token = server.token().to_owned();
    for path in ["/", "/f", "/no", "/?tar", "/?stats"] {
        let response = get(&server, path, &[]);
        assert_eq!(response.status, 401, "{path}");
        assert!(!response.text.contains("secret"));
    }
    let bearer = format!("Authorization: Bearer {token}");
    assert_eq!(get(&server, "/f", &[&bearer]).body, b"secret");
    assert_eq!(get(&server, &format!("/f?token={token}"), &[]).body, b"secret");
    let page = get(&server, &format!("/?token={token}"), &["Accept: text/html"]);
    assert_eq!((page.status, page.header("location")), (303, Some("/")));
    let cookie = page.header("set-cookie").and_then(|line| line.split(';').next());
    let cookie = format!("Cookie: {}", cookie.expect("a cookie"));
    assert!(get(&server, "/", &[&cookie]).text.contains(">f<"));
    let foreign = server.send(&["GET /f HTTP/1.1", "Host: evil.example", &bearer]);
    assert_eq!(foreign.status, 421);
    drop(server);
    assert_eq!(Server::share(&lop, &args).token(), token, "it is kept in the file");
}

/// Collects the files below a directory by following the listings.
fn crawl(server: &Server, path: &str, name: &[u8], files: &mut BTreeMap<Vec<u8>, Vec<u8>>) {
    let listing = get(server, &format!("{path}?json"), &[]);
    assert!(listing.status == 200 || listing.status == 403, "{path}");
    let Ok(listing) = serde_json::from_slice::<Value>(&listing.body) else { return };
    for entry in listing["entries"].as_array().expect("entries") {
        let bytes = match entry["name_base64"].as_str() {
            Some(encoded) => BASE64_STANDARD.decode(encoded).expect("base64"),
            None => entry["name"].as_str().expect("a name").as_bytes().to_vec(),
        };
        let encoded = bytes.iter().fold(String::new(), |text, byte| format!("{text}%{byte:02x}"));
        let (path, name) = (format!("{path}{encoded}"), [name, b"/", &bytes].concat());
        match entry["kind"].as_str() {
            _ if entry["is_link"] == true => {}
            Some("directory" | "dir") => crawl(server, &format!("{path}/"), &name, files),
            Some("file") => {
                files.insert(name, get(server, &path, &[]).body);
            }
            _ => assert_eq!(get(server, &path, &[]).status, 404, "{path}"),
        }
    }
}

#[test]
fn every_name_in_a_hostile_tree_can_be_followed() {
    let lop = Lop::new();
    hostile_tree(lop.path("tree"));
    let server = Server::share(&lop, &["-q", "--public", "tree"]);
    let mut files = BTreeMap::new();
    crawl(&server, "/", b"", &mut files);
    let mut expected = BTreeMap::new();
    read(&lop.path("tree"), b"", &mut expected);
    assert!(expected.len() > 50);
    assert_eq!(files.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (name, content) in expected {
        let content = content.unwrap_or_else(|| {
            b"This cannot be opened\nThe server may not read it, or its disk does not answer.\n"
                .to_vec()
        });
        assert!(files[&name] == content, "{}", name.escape_ascii());
    }
}

/// Reads the files below a directory. A file that cannot be read is `None`.
fn read(dir: &Path, name: &[u8], files: &mut BTreeMap<Vec<u8>, Option<Vec<u8>>>) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let name = [name, b"/", entry.file_name().as_bytes()].concat();
        let kind = entry.file_type().expect("a type");
        if kind.is_dir() {
            read(&entry.path(), &name, files);
        } else if kind.is_file() {
            files.insert(name, std::fs::read(entry.path()).ok());
        }
    }
}

#[test]
fn the_catalog_gives_strong_tags_and_sizes_of_folders() {
    let tree = TreeBuilder::new().file("d/sub/a", "alike").file("d/sub/b", "alike");
    let lop = Lop::with(&tree.file("d/single", "other"));
    let digest = blake3::hash(b"alike").to_hex();
    lop.remember(["d"]);
    let server = Server::share(&lop, &["-q", "--public", "d"]);
    let response = get(&server, "/sub/a", &[]);
    assert_eq!(response.header("etag"), Some(&*format!("\"{digest}\"")));
    assert!(get(&server, "/single", &[]).header("etag").expect("a tag").starts_with("W/"));
    let listing: Value = serde_json::from_slice(&get(&server, "/?json", &[]).body).expect("JSON");
    let sub = listing["entries"].as_array().expect("entries").iter().find(|e| e["name"] == "sub");
    let sub = sub.expect("a folder");
    assert_eq!((&sub["bytes"], &sub["files"]), (&10.into(), &2.into()));
    // The catalog does not know the new version.
    std::fs::write(lop.path("d/sub/b"), "changed").expect("written");
    crate::lop::settle();
    let changed = get(&server, "/sub/b", &[]);
    assert_eq!(changed.body, b"changed");
    assert!(changed.header("etag").expect("a tag").starts_with("W/"));
}

#[test]
fn own_files_below_the_folder_are_not_shared() {
    let lop = Lop::with(&TreeBuilder::new().file("d/a", "1").file("d/b", "1"));
    let catalog = lop.path("d/catalog.db").display().to_string();
    lop.command().args(["scan", "--catalog", &catalog, "d"]).run().success();
    let token = lop.path("d/token").display().to_string();
    let server =
        Server::share(&lop, &["--catalog", &catalog, "--token-file", &token, "--tls", "d"]);
    drop(server);
    assert!(lop.path("d/catalog.db.tls").exists() && lop.path("d/token").exists());
    let server = Server::share(&lop, &["--catalog", &catalog, "--token-file", &token, "d"]);
    let bearer = format!("Authorization: Bearer {}", server.token());
    for name in ["catalog.db", "catalog.db.tls", "token", "catalog.db.runs/"] {
        assert_eq!(get(&server, &format!("/{name}"), &[&bearer]).status, 404, "{name}");
    }
    let listing: Value =
        serde_json::from_slice(&get(&server, "/?json", &[&bearer]).body).expect("JSON");
    let names = listing["entries"].as_array().expect("entries").iter();
    let names: Vec<&str> = names.map(|entry| entry["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn a_unix_socket_is_made_and_removed() {
    let lop = Lop::with(&TreeBuilder::new().file("d/f", "1"));
    let mut running = lop.command().args(["share", "--public", "--unix", "socket", "d"]).spawn();
    assert!(running.wait_for(&When::Stderr(b"press Ctrl-C".into())), "it starts");
    assert!(
        running.wait_for(&When::Stdout(b"http://localhost/\n".into())),
        "the address is printed"
    );
    let mut socket = UnixStream::connect(lop.path("socket")).expect("connects");
    socket
        .write_all(b"GET /f HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\n\r\n")
        .expect("sent");
    let mut response = String::new();
    socket.read_to_string(&mut response).expect("text");
    assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("\r\n\r\n1"));
    let second = lop.run(["share", "--unix", "socket", "d"]);
    second.code(1);
    assert!(second.stderr_str().contains("cannot listen on socket: Address already in use"));
    running.signal(Signal::INT);
    assert_eq!(running.wait().ending, Ending::Code(0));
    assert!(!lop.path("socket").exists());
}

#[test]
fn a_limited_rate_changes_no_byte() {
    let lop = Lop::with(&TreeBuilder::new().seeded("d/f", 1, 1 << 20));
    let content = std::fs::read(lop.path("d/f")).expect("read");
    for rates in [
        &["--limit-rate", "4M"][..],
        &["--limit-rate", "4M", "--limit-rate-after", "300k"],
        &["--limit-rate-total", "4M"],
    ] {
        let server = Server::share(&lop, &[&["-q", "--public", "d"], rates].concat());
        assert!(get(&server, "/f", &[]).body == content, "{rates:?}");
    }
}

#[test]
fn statistics_are_shown_and_printed_if_requested() {
    let lop = Lop::with(&TreeBuilder::new().file("d/f", "1"));
    let server = Server::share(&lop, &["--public", "--stats", "d"]);
    for _ in 0..3 {
        assert_eq!(get(&server, "/f", &[]).status, 200);
    }
    let page = get(&server, "/?stats", &[]).text;
    assert!(page.contains("Answered from the cache</th><td>"), "{page}");
    let output = server.stop(Signal::INT);
    let line =
        output.stderr_str().lines().find(|line| line.starts_with("Requests")).map(str::to_owned);
    assert_eq!(line.expect("statistics").split_whitespace().last(), Some("4"));
    let server = Server::share(&lop, &["-q", "--public", "d"]);
    assert!(!get(&server, "/?stats", &[]).text.contains("Statistics"));
}

#[test]
fn a_server_that_cannot_start_says_why_and_what_to_do() {
    let lop = Lop::with(&TreeBuilder::new().file("a/x", "1").dir("b/a"));
    let failed = |args: &[&str], code: i32, message: &str| {
        let output = lop.command().arg("share").args(args).run();
        output.code(code);
        assert_eq!(output.stderr_str(), message, "{args:?}");
    };
    failed(&["none"], 1, "lop: cannot share none: No such file or directory\n");
    failed(
        &["a/x"],
        1,
        "lop: cannot share a/x: Not a directory\nhint: share the folder that contains it\n",
    );
    failed(
        &["a", "b/a"],
        2,
        "lop: a and b/a have the same name\n\
         hint: share the folder that contains them, or start lop share once for each\n",
    );
    failed(
        &["a", "/"],
        2,
        "lop: / has no name under which it could be shared with others\n\
         hint: share the folder that contains them, or start lop share once for each\n",
    );
    let json = lop.run(["share", "--json", "none"]);
    json.code(1);
    assert!(json.stderr_str().contains("\"code\":1"), "{json:?}");
}
