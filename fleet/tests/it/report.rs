//! Tests of `lop-fleet report`, and of how exports are found.

use std::fs;
use std::path::Path;

use testkit::Sandbox;

use crate::hosts::Hosts;
use crate::{SECRET, digest, json, run, two_hosts};

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
    let report = json(&output);
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
    let report = json(&output);
    assert_eq!(report["hosts"].as_array().expect("a list").len(), 2);
    assert_eq!(report["shared_groups"], 1);
    let output = run(&["report", "--host", "nowhere"], hosts.dir.as_ref());
    output.code(1);
    assert!(output.stderr_str().ends_with(": no complete export of nowhere\n"));
}

#[test]
fn exports_with_different_keys_are_not_compared() {
    let mut hosts = two_hosts();
    hosts.export_with("secret", &[(1000, 1, 1)], SECRET);
    let output = run(&["report"], hosts.dir.as_ref());
    output.code(1);
    assert!(output.stderr_str().contains("laptop and secret have different keys"), "{output:?}");
    run(&["report", "--host", "laptop", "--host", "nas"], hosts.dir.as_ref()).success();
}

#[test]
fn keyed_exports_are_compared_with_each_other() {
    let mut hosts = Hosts::new();
    for host in ["a", "b"] {
        hosts.export_with(host, &[(1000, 1, 1), (3000, 5, 0)], SECRET);
    }
    let output = run(&["report", "--json"], hosts.dir.as_ref());
    let report = json(&output);
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

#[test]
fn a_copy_of_the_folder_of_a_host_is_not_another_host() {
    let hosts = two_hosts();
    let [nas, copy] = ["nas", "nas.old"].map(|name| hosts.dir.join(name));
    fs::create_dir(&copy).expect("made");
    let export = fs::read_dir(&nas).expect("a folder").next().expect("one").expect("one");
    std::os::unix::fs::symlink(export.path(), copy.join(export.file_name())).expect("made");
    let output = run(&["report"], hosts.dir.as_ref());
    output.code(1);
    let id = export.file_name().into_string().expect("ASCII");
    let [nas, copy] = [nas, copy].map(|host| host.join(&id).display().to_string());
    let expected = format!("lop-fleet: {nas} and {copy} are both of host nas; move one away\n");
    assert_eq!(output.stderr_str(), expected);
    run(&["report", "--host", "laptop"], hosts.dir.as_ref()).success();
}

#[test]
fn a_closed_pipe_ends_the_program_without_a_message() {
    let hosts = two_hosts();
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_lop-fleet"));
    for json in [&["report"][..], &["report", "--json"]] {
        let command = sandbox.command().args(json).arg(hosts.dir.path());
        let output = command.close_stdout_after(0).run();
        output.success();
        assert!(!output.stderr_str().contains("lop-fleet:"), "{output:?}");
    }
}

#[test]
fn a_file_of_a_shared_file_system_counts_once() {
    let mut hosts = crate::hosts::Hosts::new();
    hosts.shared_fsid = Some(7);
    hosts.export("laptop", &[(1000, 1, 1), (77, 1, 2)]);
    hosts.export("nas", &[(1000, 1, 1), (78, 1, 3)]);
    let output = run(&["report", "--json"], hosts.dir.as_ref());
    let document = json(&output);
    assert_eq!(
        (&document["groups"], &document["hosts"][1]["all"]["files"]),
        (&0.into(), &0.into())
    );
    let text = run(&["report"], hosts.dir.as_ref());
    assert!(text.stderr_str().contains("2 files are counted once"), "{text:?}");
}
