//! Tests of `lop-fleet where`.

use std::fs;
use std::path::Path;
use std::process::Command;

use export::Names;
use serde_json::{Value, json};
use testkit::{Output, Sandbox};

use crate::hosts::{Hosts, Inode};
use crate::{SECRET, digest};

/// The MD5 digest of an empty object.
const EMPTY_MD5: &str = "d41d8cd98f00b204e9800998ecf8427e";

const HINT: &str =
    "hint: to compare the other files, run 'lop scan --hash-all' and 'lop export' on the hosts\n";

/// Returns the bytes of a content of which [`digest`] returns the digest.
fn bytes(content: u64) -> [u8; 8] {
    content.to_le_bytes()
}

/// Returns an inode with a content, as lop stores it after `scan --hash-all`.
fn inode(content: u64) -> Inode {
    (8, content::head_of(&bytes(content)).0.get(), content)
}

/// Returns the same inode without a digest.
fn undigested(content: u64) -> Inode {
    let (size, head, _) = inode(content);
    (size, head, 0)
}

/// Three hosts with content 1. On the laptop it has two copies, one of them with two names. On the
/// server, there is a file that may have it, and files that differ in the head or in the size.
fn three_hosts(names: Names, secret: Option<&[u8]>) -> Hosts {
    let mut hosts = Hosts::new();
    let laptop: [(&[u8], u64, Inode); 4] = [
        (b"/home/me/b", 1, inode(1)),
        (b"/home/me/link", 1, inode(1)),
        (b"/home/me/a", 2, inode(1)),
        (b"/home/me/other", 3, inode(2)),
    ];
    hosts.export_names("laptop", &laptop, names, secret);
    hosts.export_names("nas", &[(b"/srv/c", 1, inode(1))], names, secret);
    let server: [(&[u8], u64, Inode); 4] = [
        (b"/may", 1, undigested(1)),
        (b"/head", 2, undigested(2)),
        (b"/size", 3, (9, 0, 0)),
        (b"/digest", 4, inode(3)),
    ];
    hosts.export_names("server", &server, names, secret);
    hosts
}

/// Runs `lop-fleet where OPTIONS DIR WHAT` in a folder with a file `file` that has content 1.
fn find(hosts: &Hosts, options: &[&str], what: &str) -> Output {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    fs::write(sandbox.path("file"), bytes(1)).expect("written");
    find_in(&sandbox, hosts, options, what)
}

fn find_in(sandbox: &Sandbox, hosts: &Hosts, options: &[&str], what: &str) -> Output {
    sandbox.command().arg("where").args(options).arg(hosts.dir.path()).arg(what).run()
}

const FOUND: &str = "\
laptop:/home/me/a
laptop:/home/me/b
laptop:/home/me/link
nas:/srv/c
server: 1 file may be equal, but has no digest
";

#[test]
fn a_file_and_a_digest_have_the_same_answer() {
    let hosts = three_hosts(Names::Plain, None);
    for what in ["file", &digest(1), &digest(1).to_uppercase()] {
        let output = find(&hosts, &[], what);
        output.success();
        assert_eq!(output.stdout_str(), FOUND, "{what}");
        assert_eq!(output.stderr_str(), HINT);
    }
}

#[test]
fn a_file_whose_name_is_a_digest_is_read() {
    let hosts = three_hosts(Names::Plain, None);
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    fs::write(sandbox.path(digest(2)), bytes(1)).expect("written");
    let output = find_in(&sandbox, &hosts, &[], &digest(2));
    output.success();
    assert_eq!(output.stdout_str(), FOUND);
}

#[test]
fn only_the_chosen_hosts_are_searched() {
    let hosts = three_hosts(Names::Plain, None);
    let output = find(&hosts, &["--host", "nas"], "file");
    output.success();
    assert_eq!((output.stdout_str(), output.stderr_str()), ("nas:/srv/c\n", ""));
    let output = find(&hosts, &["--host", "nas", "--host", "other"], "file");
    output.code(1);
    assert!(output.stderr_str().ends_with(": no complete export of other\n"), "{output:?}");
}

#[test]
fn a_content_that_no_host_has_is_6() {
    let hosts = three_hosts(Names::Plain, None);
    for what in ["file", &digest(1)] {
        let mut other = Hosts::new();
        other.export("a", &[inode(2), (9, 0, 2)]);
        let output = find(&other, &[], what);
        output.code(6);
        assert_eq!((output.stdout_str(), output.stderr_str()), ("", "not found on a\n"));
        other.export("b", &[]);
        let output = find(&other, &[], what);
        output.code(6);
        assert_eq!(output.stderr_str(), "not found on any of 2 hosts\n");
        let output = find(&other, &["--json"], what);
        output.code(6);
        assert_eq!(output.stderr_str(), "");
    }
    // The sizes of files differ, but nothing is known about the size of a digest.
    let output = find(&hosts, &["--host", "server"], &digest(9));
    output.code(3);
    assert_eq!(output.stdout_str(), "server: 3 files may be equal, but have no digest\n");
}

#[test]
fn a_file_that_only_may_exist_elsewhere_is_3() {
    let hosts = three_hosts(Names::Plain, None);
    let output = find(&hosts, &["--host", "server"], "file");
    output.code(3);
    assert_eq!(output.stdout_str(), "server: 1 file may be equal, but has no digest\n");
    assert_eq!(output.stderr_str(), HINT);
    let output = find(&hosts, &["--json", "--host", "server"], "file");
    output.code(3);
    assert_eq!(crate::json(&output)["hosts"][0]["unknown"], 1);
}

#[test]
fn an_export_that_cannot_be_used_makes_the_answer_partial() {
    let hosts = three_hosts(Names::Plain, None);
    let broken = hosts.dir.join("broken/20260101T000000.000Z");
    fs::create_dir_all(&broken).expect("made");
    for what in ["file", &digest(9)] {
        let output = find(&hosts, &["--host", "laptop"], what);
        output.code(3);
        assert!(output.stderr_str().contains("not an export"), "{output:?}");
    }
}

#[test]
fn keyed_exports_need_their_key() {
    let hosts = three_hosts(Names::Plain, SECRET);
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    fs::write(sandbox.path("file"), bytes(1)).expect("written");
    fs::write(sandbox.path("right"), SECRET.expect("a secret")).expect("written");
    fs::write(sandbox.path("wrong"), "another secret of a fleet").expect("written");
    fs::write(sandbox.path("short"), "short").expect("written");
    for what in ["file", &digest(1)] {
        let output = find_in(&sandbox, &hosts, &["--key", "right"], what);
        output.success();
        assert_eq!(output.stdout_str(), FOUND);
    }
    let refused = |options: &[&str], expected: &str| {
        let output = find_in(&sandbox, &hosts, options, "file");
        output.code(1);
        assert_eq!(output.stderr_str(), format!("lop-fleet: {expected}\n"));
    };
    refused(&["--key", "wrong"], "wrong: the exports were made with another key");
    refused(
        &[],
        "the digests of the exports are keyed: name the file with the key, as in --key fleet.key",
    );
    let output = find_in(&sandbox, &hosts, &["--key", "missing"], "file");
    output.code(1);
    assert!(output.stderr_str().ends_with(" missing: No such file or directory\n"), "{output:?}");
    refused(
        &["--key", "short"],
        "cannot use the key short: it has 5 bytes, but a key has at least 16",
    );
    let plain = three_hosts(Names::Plain, None);
    let output = find_in(&sandbox, &plain, &["--key", "right"], "file");
    output.code(1);
    assert!(output.stderr_str().contains("are not keyed: leave out --key"), "{output:?}");
}

#[test]
fn files_without_names_are_counted() {
    let hosts = three_hosts(Names::None, None);
    let output = find(&hosts, &["--host", "laptop", "--host", "nas"], "file");
    output.success();
    let expected = "laptop: 2 files, exported without names\nnas: 1 file, exported without names\n";
    assert_eq!(output.stdout_str(), expected);

    let hosts = three_hosts(Names::Keyed, SECRET);
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    fs::write(sandbox.path("key"), SECRET.expect("a secret")).expect("written");
    let output = find_in(&sandbox, &hosts, &["--key", "key", "--host", "nas"], &digest(1));
    output.success();
    assert_eq!(output.stdout_str(), "nas: 1 file, exported with keyed names\n");
}

/// A host with content 1 under names that could disturb a terminal or a program.
fn odd_names() -> Hosts {
    let mut hosts = Hosts::new();
    let names: [(&[u8], u64, Inode); 3] = [
        (b"/\x1b[31mred\xff", 1, inode(1)),
        (b"/back\\slash", 2, inode(1)),
        (b"/two\nlines\\", 3, inode(1)),
    ];
    hosts.export_names("h", &names, Names::Plain, None);
    hosts
}

#[test]
fn names_are_exact_on_a_pipe() {
    let output = find(&odd_names(), &[], "file");
    output.success();
    let expected = b"h:/\x1b[31mred\xff\nh:/back\\slash\n\\h:/two\\nlines\\\\\n";
    assert_eq!(output.stdout, expected, "{output:?}");
}

#[test]
fn names_are_escaped_on_a_terminal() {
    let hosts = odd_names();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let command = sandbox.command().arg("where").arg(hosts.dir.path()).arg(digest(1));
    let shown = command.talk(80, &[]);
    assert_eq!(shown.code, Some(0));
    assert_eq!(shown.text, "h:/\\x1b[31mred\\xff\nh:/back\\slash\nh:/two\\nlines\\\n");
}

#[test]
fn names_for_programs_are_exact() {
    let output = find(&odd_names(), &["--json"], "file");
    output.success();
    let paths: Value = json!([
        {"path": "/\u{1b}[31mred\u{fffd}", "path_base64": "LxtbMzFtcmVk/w=="},
        {"path": "/back\\slash"},
        {"path": "/two\nlines\\"},
    ]);
    let expected = json!({
        "format_version": 1,
        "hosts": [{"host": "h", "files": 3, "unknown": 0, "paths": paths}],
    });
    assert_eq!(crate::json(&output), expected);
}

#[test]
fn json_escapes_what_could_disturb_a_terminal() {
    let mut hosts = Hosts::new();
    let path = "/\u{9b}1m\u{202e}gpj.exe\u{7f}\u{feff}\n";
    hosts.export_names("h", &[(path.as_bytes(), 1, inode(1))], Names::Plain, None);
    let output = find(&hosts, &["--json"], "file");
    output.success();
    let text = output.stdout_str().trim_end_matches('\n');
    assert!(!text.contains(runtime::shown::is_confusing), "{text:?}");
    assert_eq!(crate::json(&output)["hosts"][0]["paths"], json!([{ "path": path }]));
}

#[test]
fn what_cannot_be_searched_is_refused_at_once() {
    let hosts = three_hosts(Names::Plain, None);
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    fs::create_dir(sandbox.path("dir")).expect("made");
    fs::write(sandbox.path("empty"), "").expect("written");
    let fifo = Command::new("mkfifo").arg(sandbox.path("fifo")).status().expect("mkfifo runs");
    assert!(fifo.success());
    let empty = content::Digest::of(b"").to_string();
    for (what, expected) in [
        ("fifo", "cannot read fifo: it is not a regular file"),
        ("dir", "cannot read dir: it is not a regular file"),
        ("empty", "cannot search empty: exports contain no empty files"),
        (&empty, &format!("cannot search {empty}: exports contain no empty files")),
        (EMPTY_MD5, &format!("cannot search {EMPTY_MD5}: exports contain no empty files")),
        (
            "none\x1b[31m",
            "cannot read none\\x1b[31m: No such file or directory; \
             name a file, a BLAKE3 digest of 64 hexadecimal digits, or an MD5 digest of 32",
        ),
    ] {
        let output = find_in(&sandbox, &hosts, &[], what);
        output.code(1);
        assert_eq!(output.stderr_str(), format!("lop-fleet: {expected}\n"));
        assert_eq!(output.stdout_str(), "");
    }
}

#[test]
fn a_closed_pipe_ends_the_search_without_a_message() {
    let mut hosts = Hosts::new();
    let paths: Vec<String> = (0..5000).map(|n| format!("/a long name of a file {n:060}")).collect();
    let names: Vec<_> =
        (1..).zip(&paths).map(|(number, path)| (path.as_bytes(), number, inode(1))).collect();
    hosts.export_names("h", &names, Names::Plain, None);
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    let dir: &Path = hosts.dir.as_ref();
    let command = sandbox.command().arg("where").arg(dir).arg(digest(1));
    let output = command.clone().run();
    output.success();
    assert_eq!(output.stdout_str().lines().count(), 5000);
    let output = command.close_stdout_after(10).run();
    output.success();
    assert_eq!(output.stderr_str(), "");
}
