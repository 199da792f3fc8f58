//! Tests of `lop-fleet growth`.

use std::fs;

use crate::hosts::Hosts;
use crate::{json, run};

#[test]
fn each_export_is_compared_with_the_one_before_it() {
    let mut hosts = Hosts::new();
    hosts.export("laptop", &[(1000, 1, 1), (0, 0, 0)]);
    hosts.export("nas", &[(7000, 1, 1)]);
    hosts.export("laptop", &[(1000, 1, 1), (1000, 1, 1), (5000, 2, 0)]);
    hosts.export("laptop", &[(400, 1, 1)]);
    let output = run(&["growth"], hosts.dir.as_ref());
    output.success();
    let rows: Vec<String> = output
        .stdout_str()
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().filter(|word| !word.contains('Z')).collect::<Vec<_>>())
        .map(|words| words.join(" "))
        .collect();
    let expected = [
        "laptop 1 1000 B",
        "laptop 3 6.8 KiB +2 +5.9 KiB",
        "laptop 1 400 B -2 -6.4 KiB",
        "nas 1 6.8 KiB",
    ];
    assert_eq!(rows, expected);

    let document = json(&run(&["growth", "--json", "--host", "laptop"], hosts.dir.as_ref()));
    let exports = document["exports"].as_array().expect("a list");
    assert_eq!(exports.len(), 3);
    assert_eq!(
        (&exports[2]["grown"]["files"], &exports[2]["grown"]["bytes"]),
        (&(-2).into(), &(-6600).into())
    );
    assert!(exports[0].get("grown").is_none());
}

#[test]
fn an_incomplete_export_is_left_out() {
    let mut hosts = Hosts::new();
    hosts.export("nas", &[(7000, 1, 1)]);
    hosts.export("nas", &[(9000, 1, 1)]);
    let folder = fs::read_dir(hosts.dir.join("nas")).expect("a folder");
    let mut exports: Vec<_> = folder.map(|entry| entry.expect("readable").path()).collect();
    exports.sort();
    fs::remove_file(exports[0].join("inodes-0.parquet")).expect("removed");
    let output = run(&["growth"], hosts.dir.as_ref());
    output.code(3);
    assert_eq!(output.stdout_str().lines().count(), 2, "{output:?}");
    run(&["growth", "--host", "other"], hosts.dir.as_ref()).code(1);
}
