//! Tests of `lop-fleet check`.

use std::fs;

use crate::{json, run, two_hosts};

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
    let summary = json(&output);
    assert_eq!((&summary["complete"], &summary["damaged"]), (&1.into(), &1.into()));
    let expected = format!("{}: its BLAKE3 digest differs from the manifest", file.display());
    assert!(output.stderr_str().contains(&expected), "{output:?}");
}

#[test]
fn all_exports_of_a_host_are_checked() {
    let mut hosts = two_hosts();
    hosts.export("nas", &[(7, 0, 0)]);
    let output = run(&["check"], hosts.dir.as_ref());
    output.success();
    assert!(output.stdout_str().starts_with("3 exports are complete, "), "{output:?}");
}

#[test]
fn a_check_without_a_complete_export_fails() {
    let mut hosts = crate::hosts::Hosts::new();
    hosts.export("nas", &[(7, 0, 0)]);
    let export = fs::read_dir(hosts.dir.join("nas")).expect("a folder").next().expect("one");
    fs::remove_file(export.expect("one").path().join("_MANIFEST.json")).expect("removed");
    run(&["check"], hosts.dir.as_ref()).code(1);
}
