//! Tests the fingerprint table, including concurrent updates.

use std::collections::BTreeSet;
use std::thread;

use content::{Digest, Fingerprints, head_of};

#[test]
fn growing_keeps_the_fingerprints_of_old_files() {
    let mut facts = Fingerprints::new(1);
    let content = facts.new_content(None);
    facts.set_head(0, head_of(b"a"));
    facts.set_content(0, content);
    facts.grow(3);
    assert_eq!((facts.head(0), facts.content(0)), (Some(head_of(b"a")), Some(content)));
    assert_eq!((facts.head(2), facts.content(2), facts.dropped(2)), (None, None, false));
}

#[test]
fn dropped_file_has_no_head_or_content_until_read_again() {
    let facts = Fingerprints::new(2);
    let content = facts.new_content(Some(Digest::of(b"a")));
    facts.set_head(0, head_of(b"a"));
    facts.set_content(0, content);
    facts.drop_file(0);
    assert_eq!((facts.head(0), facts.content(0), facts.dropped(0)), (None, None, true));
    assert!(!facts.dropped(1));
    facts.set_content(0, content);
    assert_eq!((facts.content(0), facts.dropped(0)), (Some(content), false));
}

#[test]
fn changed_file_is_dropped_but_not_unreadable() {
    let facts = Fingerprints::new(3);
    facts.drop_file(0);
    facts.drop_changed(1);
    assert_eq!((facts.dropped(0), facts.unreadable(0)), (true, true));
    assert_eq!((facts.dropped(1), facts.unreadable(1)), (true, false));
    facts.copy(1, 2);
    assert_eq!((facts.dropped(2), facts.unreadable(2)), (true, false));
}

#[test]
fn content_numbers_from_many_threads_are_distinct() {
    let facts = Fingerprints::new(0);
    let numbers: BTreeSet<_> = thread::scope(|scope| {
        let make = || (0..500).map(|_| facts.new_content(None)).collect::<Vec<_>>();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(make)).collect();
        threads.into_iter().flat_map(|t| t.join().expect("no panic")).collect()
    });
    assert_eq!((numbers.len(), facts.contents()), (4000, 4000));
    assert!(numbers.iter().enumerate().all(|(i, number)| number.index() == i));
    let (first, digest) = (*numbers.first().expect("4000"), Digest::of(b"a"));
    facts.set_digest(first, digest);
    assert_eq!(facts.digest(first), Some(digest));
}
