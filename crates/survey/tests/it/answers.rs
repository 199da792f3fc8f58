//! Lists and the answers to them.

use std::collections::BTreeSet;

use export::Key;
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use survey::{HostSurvey, Kind, key_of};

use crate::{World, answer_all, check, open, publish, shared};

fn world(sets: Vec<BTreeSet<u64>>) -> World {
    (0..).zip(sets).map(|(n, set): (u32, _)| (format!("h{n}"), set)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn answers_are_those_of_plain_sets(
        sets in vec(btree_set(0u64..500, 0..200), 1..5),
        later in vec(btree_set(0u64..500, 0..200), 1..5),
    ) {
        let out = tempfile::tempdir().expect("a directory");
        let (first, mut second) = (world(sets), world(later));
        second.retain(|host, _| first.contains_key(host));
        for kind in [Kind::Sizes, Kind::Heads] {
            for (host, set) in &first {
                publish(out.path(), host, kind, set);
            }
            if kind == Kind::Heads {
                answer_all(out.path());
                check(out.path(), &first, Kind::Sizes);
                check(out.path(), &first, Kind::Heads);
            }
        }
        // Each host adds some numbers. Lists may keep what a host no longer has.
        let mut both = first.clone();
        for (host, set) in second {
            both.entry(host).or_default().extend(set);
        }
        for (host, set) in &both {
            publish(out.path(), host, Kind::Heads, set);
        }
        answer_all(out.path());
        check(out.path(), &both, Kind::Heads);
    }
}

#[test]
fn a_host_without_lists_or_answer_has_no_shared_numbers() {
    let out = tempfile::tempdir().expect("a directory");
    assert!(shared(out.path(), "nas", Kind::Sizes).is_none());
    publish(out.path(), "nas", Kind::Sizes, &BTreeSet::from([1, 2]));
    assert!(shared(out.path(), "nas", Kind::Sizes).is_none());
    let answered = answer_all(out.path());
    assert_eq!(answered.hosts[0].sizes, [2, 0]);
    let shared = shared(out.path(), "nas", Kind::Sizes).expect("an answer");
    assert!(shared.is_empty() && shared.hosts.is_empty());
}

#[test]
fn only_new_numbers_and_changed_answers_are_written() {
    let out = tempfile::tempdir().expect("a directory");
    let many: BTreeSet<u64> = (0..10_000).map(|n| n * 7919).collect();
    let first = publish(out.path(), "nas", Kind::Sizes, &many);
    publish(out.path(), "laptop", Kind::Sizes, &BTreeSet::from([7919]));
    assert!(answer_all(out.path()).hosts.iter().all(|host| host.bytes > 0));
    assert!(answer_all(out.path()).hosts.iter().all(|host| host.bytes == 0));
    assert_eq!(publish(out.path(), "nas", Kind::Sizes, &many).bytes, 0);

    let mut more = many.clone();
    more.insert(1);
    let second = publish(out.path(), "nas", Kind::Sizes, &more);
    assert!(second.bytes > 0 && second.bytes < first.bytes / 10, "{second:?} after {first:?}");
    // The old answer is still valid for the old numbers.
    let old = shared(out.path(), "nas", Kind::Sizes).expect("an answer");
    assert!(old.contains(7919) && !old.contains(1));
    assert_eq!((old.len(), old.unanswered), (1, 1));
    publish(out.path(), "laptop", Kind::Sizes, &BTreeSet::from([1, 7919]));
    answer_all(out.path());
    let new = shared(out.path(), "nas", Kind::Sizes).expect("an answer");
    assert!(new.contains(1) && new.unanswered == 0);
    assert_eq!(new.hosts, ["laptop"]);
}

#[test]
fn many_changes_or_obsolete_numbers_replace_all_lists() {
    let out = tempfile::tempdir().expect("a directory");
    let lists = || std::fs::read_dir(out.path().join("nas/_survey")).expect("a folder").count();
    let mut set = BTreeSet::new();
    for number in 0..40 {
        set.insert(number);
        publish(out.path(), "nas", Kind::Heads, &set);
        assert!(lists() <= 16, "{} lists", lists());
    }
    publish(out.path(), "nas", Kind::Heads, &BTreeSet::from([1000]));
    assert_eq!(lists(), 1);
    publish(out.path(), "nas", Kind::Heads, &BTreeSet::new());
    assert_eq!(lists(), 1);
}

#[test]
fn keys_differ_with_the_secret_the_size_and_the_head() {
    let [one, two] = [b"one", b"two"].map(|bytes| content::head_of(bytes));
    let secret = Key::new(&[7; 32]).expect("long enough");
    let other = Key::new(&[8; 32]).expect("long enough");
    let keys = [
        key_of(3, one, None),
        key_of(3, two, None),
        key_of(4, one, None),
        key_of(3, one, Some(&secret)),
        key_of(3, one, Some(&other)),
    ];
    assert_eq!(BTreeSet::from(keys).len(), keys.len());
    assert!(keys.iter().all(|&key| key < 1 << 48));
    assert_eq!(key_of(3, one, Some(&secret)), keys[3]);
}

#[test]
fn another_secret_replaces_the_lists() {
    let out = tempfile::tempdir().expect("a directory");
    let numbers = BTreeSet::from([1, 2, 3]);
    publish(out.path(), "nas", Kind::Heads, &numbers);
    let key = Key::new(&[7; 32]).expect("long enough");
    let keyed = HostSurvey::open(out.path(), "nas", Some(&key)).expect("opens");
    assert!(keyed.publish(Kind::Heads, &[1, 2, 3]).expect("written").bytes > 0);
}

#[test]
fn two_processes_cannot_use_a_survey_at_the_same_time() {
    let out = tempfile::tempdir().expect("a directory");
    let survey = open(out.path(), "nas");
    let error = HostSurvey::open(out.path(), "nas", None).expect_err("it is locked");
    assert!(matches!(error, export::Error::Busy(_)), "{error}");
    drop(survey);
    open(out.path(), "nas");
    let error = HostSurvey::open(out.path(), "../nas", None).expect_err("no name of a host");
    assert!(matches!(error, export::Error::Host(_)), "{error}");
}

/// Each of them would otherwise remove or publish the unfinished answers of the others.
#[test]
fn answers_at_the_same_time_are_whole_or_refused() {
    let out = tempfile::tempdir().expect("a directory");
    let (mut done, mut refused) = (0, 0);
    for round in 1..=60 {
        for host in ["laptop", "nas"] {
            let numbers = (0..20_000).map(|number| number * round).collect();
            publish(out.path(), host, Kind::Sizes, &numbers);
        }
        std::thread::scope(|scope| {
            let answer = || survey::answer(out.path(), &runtime::Progress::default());
            let all: Vec<_> = (0..4).map(|_| scope.spawn(answer)).collect();
            for one in all {
                match one.join().expect("no panic") {
                    Ok(answered) => {
                        assert!(answered.problems.is_empty(), "{:?}", answered.problems);
                        done += 1;
                    }
                    Err(error) => {
                        assert!(matches!(error, export::Error::Busy(_)), "{error}");
                        refused += 1;
                    }
                }
            }
        });
        for host in ["laptop", "nas"] {
            let shared = shared(out.path(), host, Kind::Sizes).expect("an answer");
            assert_eq!((shared.len(), shared.unanswered), (20_000, 0), "round {round}");
        }
    }
    assert!(done >= 60, "{done} done, {refused} refused");
}
