//! Damaged, incomplete and forged files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use export::Key;
use runtime::Progress;
use survey::{HostSurvey, Kind, answer};

use crate::{answer_all, open, publish, shared};

/// Two hosts with lists and answers.
fn two_hosts() -> tempfile::TempDir {
    let out = tempfile::tempdir().expect("a directory");
    for host in ["laptop", "nas"] {
        publish(out.path(), host, Kind::Sizes, &(0..5000).collect());
        publish(out.path(), host, Kind::Heads, &(0..5000).map(|n| n * 3571).collect());
    }
    answer_all(out.path());
    out
}

fn file(out: &Path, name: &str) -> PathBuf {
    out.join("nas/_survey").join(name)
}

#[test]
fn every_damaged_byte_is_noticed_and_the_other_hosts_are_answered() {
    let out = two_hosts();
    publish(out.path(), "third", Kind::Sizes, &BTreeSet::from([7]));
    for name in ["sizes-0.list", "heads-0.list"] {
        let path = file(out.path(), name);
        let whole = fs::read(&path).expect("a file");
        for at in (0..whole.len()).step_by(whole.len() / 40) {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).expect("written");
            let answered = answer(out.path(), &Progress::default());
            let is_noticed = answered.as_ref().is_ok_and(|all| all.problems.len() == 1);
            assert!(is_noticed, "byte {at} of {name}: {answered:?}");
        }
        fs::write(&path, &whole[..whole.len() - 1]).expect("written");
        let answered = answer(out.path(), &Progress::default()).expect("one problem");
        assert_eq!(answered.problems.len(), 1);
        let hosts: Vec<&str> = answered.hosts.iter().map(|host| host.host.as_str()).collect();
        assert_eq!(hosts, ["laptop", "third"]);
        assert_eq!(answered.hosts[1].sizes, [1, 1]);
        fs::write(&path, whole).expect("written");
    }
    answer_all(out.path());
}

#[test]
fn a_damaged_answer_is_an_error_for_the_host_and_is_replaced() {
    let out = two_hosts();
    let path = file(out.path(), "heads.answer");
    let whole = fs::read(&path).expect("a file");
    let mut damaged = whole.clone();
    *damaged.last_mut().expect("not empty") ^= 1;
    fs::write(&path, damaged).expect("written");
    let error = open(out.path(), "nas").shared(Kind::Heads).expect_err("damaged");
    assert!(error.to_string().contains("heads.answer"), "{error}");
    answer_all(out.path());
    assert_eq!(fs::read(&path).expect("a file"), whole);
}

#[test]
fn an_answer_to_other_lists_says_nothing() {
    let out = two_hosts();
    let answer = fs::read(file(out.path(), "heads.answer")).expect("a file");
    publish(out.path(), "nas", Kind::Heads, &BTreeSet::from([1, 2, 3]));
    fs::write(file(out.path(), "heads.answer"), answer).expect("written");
    let shared = shared(out.path(), "nas", Kind::Heads).expect("an answer");
    assert_eq!((shared.len(), shared.unanswered), (0, 3));
}

#[test]
fn damaged_lists_are_replaced_by_their_host() {
    let out = two_hosts();
    fs::write(file(out.path(), "sizes-0.list"), b"{}\n").expect("written");
    fs::write(file(out.path(), "sizes-1.list"), b"").expect("written");
    publish(out.path(), "nas", Kind::Sizes, &BTreeSet::from([1, 2, 3]));
    answer_all(out.path());
    assert_eq!(shared(out.path(), "nas", Kind::Sizes).expect("an answer").len(), 3);
}

#[test]
fn different_keys_and_copied_folders_are_refused() {
    let out = two_hosts();
    let copy = out.path().join("nas.old/_survey");
    fs::create_dir_all(&copy).expect("created");
    fs::copy(file(out.path(), "sizes-0.list"), copy.join("sizes-0.list")).expect("copied");
    let answered = answer(out.path(), &Progress::default()).expect("one problem");
    assert!(answered.problems[0].to_string().contains("copy of the survey of nas"));
    fs::remove_dir_all(copy).expect("removed");

    let key = Key::new(&[7; 32]).expect("long enough");
    let keyed = HostSurvey::open(out.path(), "third", Some(&key)).expect("opens");
    keyed.publish(Kind::Sizes, &[1]).expect("written");
    let error = answer(out.path(), &Progress::default()).expect_err("keys differ");
    assert!(error.to_string().contains("different keys"), "{error}");
}

#[test]
fn a_fifo_or_a_directory_in_place_of_a_list_does_not_hang() {
    let out = two_hosts();
    let path = file(out.path(), "heads-1.list");
    fs::create_dir(&path).expect("created");
    assert_eq!(answer(out.path(), &Progress::default()).expect("one problem").problems.len(), 1);
    fs::remove_dir(&path).expect("removed");
    let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo runs");
    assert!(made.success());
    assert_eq!(answer(out.path(), &Progress::default()).expect("one problem").problems.len(), 1);
}
