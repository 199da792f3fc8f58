//! Tests of `lop-fleet answer`.

use std::fs;
use std::path::Path;

use survey::{HostSurvey, Kind};
use testkit::TempTree;

use crate::{json, run};

/// Lists sizes as `lop survey` does on a host.
fn list(dir: &Path, host: &str, kind: Kind, numbers: &[u64]) {
    let survey = HostSurvey::open(dir, host, None).expect("the survey opens");
    survey.publish(kind, numbers).expect("the list is written");
}

fn shared(dir: &Path, host: &str) -> Vec<u64> {
    let survey = HostSurvey::open(dir, host, None).expect("the survey opens");
    let shared = survey.shared(Kind::Sizes).expect("valid").expect("an answer");
    (0..100).filter(|&number| shared.contains(number)).collect()
}

#[test]
fn each_host_gets_its_answer_once() {
    let scratch = TempTree::new();
    let dir: &Path = scratch.as_ref();
    list(dir, "laptop", Kind::Sizes, &[3, 5, 7]);
    list(dir, "nas", Kind::Sizes, &[4, 5, 7, 9]);
    list(dir, "nas", Kind::Heads, &[1]);
    let output = run(&["answer"], dir);
    output.success();
    let rows: Vec<Vec<&str>> =
        output.stdout_str().lines().map(|line| line.split_whitespace().take(5).collect()).collect();
    assert_eq!(rows[1], ["laptop", "3", "2", "0", "0"]);
    assert_eq!(rows[2], ["nas", "4", "2", "1", "0"]);
    assert!(output.stderr_str().contains("lop survey"), "{output:?}");
    assert_eq!((shared(dir, "laptop"), shared(dir, "nas")), (vec![5, 7], vec![5, 7]));

    let again = run(&["answer", "--json"], dir);
    let document = json(&again);
    assert_eq!(document["hosts"][1]["sizes"], 4);
    assert!(document["hosts"].as_array().expect("a list").iter().all(|h| h["bytes_written"] == 0));
    assert_eq!(again.stderr_str(), "");
}

#[test]
fn a_damaged_list_leaves_out_its_host() {
    let scratch = TempTree::new();
    let dir: &Path = scratch.as_ref();
    for host in ["laptop", "nas", "third"] {
        list(dir, host, Kind::Sizes, &[5, 7]);
    }
    let path = dir.join("nas/_survey/sizes-0.list");
    let mut bytes = fs::read(&path).expect("a list");
    bytes.pop();
    fs::write(&path, bytes).expect("written");
    let output = run(&["answer"], dir);
    output.code(3);
    assert!(output.stderr_str().contains("sizes-0.list: is incomplete"), "{output:?}");
    assert_eq!(shared(dir, "third"), [5, 7]);
    assert!(!dir.join("nas/_survey/sizes.answer").exists());
}

#[test]
fn a_folder_without_surveys_is_an_error() {
    let scratch = TempTree::new();
    let dir: &Path = scratch.as_ref();
    let output = run(&["answer"], dir);
    output.code(1);
    assert!(output.stderr_str().contains("no host has taken part"), "{output:?}");
    run(&["answer"], &dir.join("missing")).code(1);
}
