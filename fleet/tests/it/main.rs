//! Tests of the program as users run it.

#![expect(
    clippy::disallowed_methods,
    reason = "tests damage the exports they made to see what the program makes of them"
)]

#[path = "../../../crates/fleet/tests/it/hosts.rs"]
mod hosts;

use std::fs;
use std::path::Path;

use hosts::Hosts;
use testkit::{Output, Sandbox};

/// Runs the program with the folder of exports as the last argument.
fn run(args: &[&str], dir: &Path) -> Output {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    sandbox.command().args(args).arg(dir).run()
}

/// Two hosts that share a file of 1000 bytes. One has a second copy of it, and both have files that
/// differ, or that may be equal.
fn two_hosts() -> Hosts {
    let mut hosts = Hosts::new();
    hosts.export("laptop", &[(1000, 1, 1), (1000, 1, 1), (77, 1, 0), (5000, 2, 0), (0, 0, 0)]);
    hosts.export("nas", &[(1000, 1, 1), (2000, 3, 2), (2000, 3, 2), (5000, 2, 0)]);
    hosts
}

/// Returns the digest of a content of [`two_hosts`].
fn digest(content: u64) -> String {
    content::Digest::of(&content.to_le_bytes()).to_string()
}

#[test]
fn a_report_shows_what_hosts_share_and_what_is_only_on_one() {
    let hosts = two_hosts();
    let output = run(&["report"], hosts.dir.as_ref());
    output.success();
    let expected = format!(
        "\
HOST    FILES     SIZE  ELSEWHERE  ONLY HERE  NOT COMPARED  REDUNDANT
laptop      4  6.9 KiB    2.0 KiB       77 B       4.9 KiB     1000 B
nas         4  9.8 KiB     1000 B    3.9 KiB       4.9 KiB    2.0 KiB

2 groups: 3 redundant files, 3.9 KiB; 1 on several hosts

Hosts that share most:
  laptop, nas  1000 B

Contents with the most redundant copies:
  {}  2.0 KiB  2 files of 2.0 KiB   1 host
  {}  2.0 KiB   3 files of 1000 B  2 hosts
",
        &digest(2)[..12],
        &digest(1)[..12]
    );
    assert_eq!(output.stdout_str(), expected);
    assert!(output.stderr_str().starts_with("hint: to compare the other files"));
}

#[test]
fn a_report_for_programs_has_exact_numbers() {
    let hosts = two_hosts();
    let output = run(&["report", "--json", "--limit", "1"], hosts.dir.as_ref());
    output.success();
    assert_eq!(output.stderr_str(), "");
    let report: serde_json::Value = serde_json::from_str(output.stdout_str()).expect("JSON");
    assert_eq!(report["format_version"], 1);
    assert_eq!(report["hosts"][0]["host"], "laptop");
    assert_eq!(report["hosts"][0]["elsewhere"], serde_json::json!({"files": 2, "bytes": 2000}));
    assert_eq!(report["hosts"][1]["only_here"], serde_json::json!({"files": 2, "bytes": 4000}));
    assert_eq!(report["hosts"][1]["unknown"], serde_json::json!({"files": 1, "bytes": 5000}));
    assert_eq!(
        report["pairs"],
        serde_json::json!([{"hosts": ["laptop", "nas"], "shared_bytes": 1000}])
    );
    assert_eq!(report["contents"].as_array().expect("a list").len(), 1);
    assert_eq!(report["contents"][0]["digest"], digest(2));
}

#[test]
fn hosts_can_be_chosen() {
    let mut hosts = two_hosts();
    hosts.export("old", &[(2000, 3, 2)]);
    let output = run(&["report", "--json", "--host", "nas", "--host", "old"], hosts.dir.as_ref());
    let report: serde_json::Value = serde_json::from_str(output.stdout_str()).expect("JSON");
    assert_eq!(report["hosts"].as_array().expect("a list").len(), 2);
    assert_eq!(report["shared_groups"], 1);
    let output = run(&["report", "--host", "nowhere"], hosts.dir.as_ref());
    output.code(1);
    assert!(output.stderr_str().ends_with(": no complete export of nowhere\n"));
}

#[test]
fn exports_with_different_keys_are_not_compared() {
    let mut hosts = two_hosts();
    hosts.export_with("secret", &[(1000, 1, 1)], Some(b"the secret of the fleet"));
    let output = run(&["report"], hosts.dir.as_ref());
    output.code(1);
    assert!(output.stderr_str().contains("laptop and secret have different keys"), "{output:?}");
    run(&["report", "--host", "laptop", "--host", "nas"], hosts.dir.as_ref()).success();
}

#[test]
fn keyed_exports_are_compared_with_each_other() {
    let mut hosts = Hosts::new();
    for host in ["a", "b"] {
        hosts.export_with(host, &[(1000, 1, 1), (3000, 5, 0)], Some(b"the secret of the fleet"));
    }
    let output = run(&["report", "--json"], hosts.dir.as_ref());
    let report: serde_json::Value = serde_json::from_str(output.stdout_str()).expect("JSON");
    assert_eq!(report["shared_groups"], 1);
    assert_eq!(report["hosts"][0]["unknown"]["files"], 1);
}

#[test]
fn exports_that_cannot_be_used_are_named_and_the_others_count() {
    let hosts = two_hosts();
    let broken = hosts.dir.join("broken/20260101T000000.000Z");
    fs::create_dir_all(&broken).expect("made");
    for command in ["report", "check"] {
        let output = run(&[command], hosts.dir.as_ref());
        output.code(3);
        let expected =
            format!("{}: not an export: it has no file _MANIFEST.json", broken.display());
        assert!(output.stderr_str().contains(&expected), "{output:?}");
        assert!(!output.stdout_str().is_empty());
    }
}

#[test]
fn a_check_finds_damage() {
    let hosts = two_hosts();
    let output = run(&["check"], hosts.dir.as_ref());
    output.success();
    assert!(output.stdout_str().starts_with("2 exports are complete, "), "{output:?}");
    let file =
        fs::read_dir(hosts.dir.join("nas")).expect("a folder").next().expect("one").expect("one");
    let file = file.path().join("inodes-1.parquet");
    let mut bytes = fs::read(&file).expect("a file");
    bytes[20] ^= 1;
    fs::write(&file, bytes).expect("written");
    let output = run(&["check", "--json"], hosts.dir.as_ref());
    output.code(3);
    let summary: serde_json::Value = serde_json::from_str(output.stdout_str()).expect("JSON");
    assert_eq!((&summary["complete"], &summary["damaged"]), (&1.into(), &1.into()));
    let expected = format!("{}: its BLAKE3 digest differs from the manifest", file.display());
    assert!(output.stderr_str().contains(&expected), "{output:?}");
}

#[test]
fn folders_without_exports_are_errors() {
    let hosts = Hosts::new();
    let output = run(&["report"], hosts.dir.as_ref());
    output.code(1);
    assert!(output.stderr_str().contains("no complete export; write one with lop export"));
    let output = run(&["report"], &hosts.dir.join("missing"));
    output.code(1);
    assert!(output.stderr_str().contains("cannot list"), "{output:?}");
    assert!(output.stderr_str().contains("No such file"), "{output:?}");
}

#[test]
fn odd_entries_in_the_folder_do_no_harm() {
    use std::os::unix::ffi::OsStrExt;
    let hosts = two_hosts();
    let dir: &Path = hosts.dir.as_ref();
    fs::write(dir.join("README"), "not a host").expect("written");
    fs::create_dir(dir.join(std::ffi::OsStr::from_bytes(b"not\xffutf8"))).expect("made");
    fs::create_dir(dir.join("_part-x")).expect("made");
    fs::create_dir(dir.join("empty")).expect("made");
    std::os::unix::fs::symlink("nowhere", dir.join("dangling")).expect("made");
    fs::create_dir(dir.join("nas/notes")).expect("made");
    let output = run(&["report"], dir);
    output.success();
    assert_eq!(output.stdout_str().lines().filter(|line| line.starts_with("nas ")).count(), 1);
}
