//! The part of a file that the destination already has is not sent again.

use std::fs;
use std::num::NonZeroU64;
use std::sync::Arc;

use mirror::Options;
use runtime::Throttle;
use testkit::{TempTree, TreeBuilder};

use crate::world::{
    assert_alike, between_hosts, deleting, run, sent, temp_name_of, temp_names_in, usual,
};

const MB: u64 = 1 << 20;

fn place() -> TempTree {
    TreeBuilder::new().seeded("from/a", 1, 5 * MB).dir("to").make_temp()
}

/// Writes the first bytes of the source file to a file in the destination.
fn leave(place: &TempTree, name: &str, bytes: u64) {
    let mut all = fs::read(place.join("from/a")).expect("read");
    all.push(0);
    let some = usize::try_from(bytes).expect("fits");
    fs::write(place.join("to").join(name), &all[..some]).expect("written");
}

/// Mirrors, and returns the number of bytes sent.
fn sends(place: &TempTree, options: &Options) -> u64 {
    let mut bytes = 0;
    between_hosts(|| {
        run(place.join("from"), place.join("to"), options);
        bytes = sent();
    });
    assert_alike(place.join("from"), place.join("to"));
    bytes
}

#[test]
fn an_interrupted_file_is_resumed() {
    for name in [&temp_name_of("a"), "a"] {
        let place = place();
        leave(&place, name, 3 * MB + 5);
        assert_eq!(sends(&place, &usual()), 2 * MB - 5, "{name}");
        assert!(temp_names_in(place.join("to")).is_empty());
    }
}

#[test]
fn a_file_that_is_too_short_or_too_long_is_not_a_prefix() {
    let part = &temp_name_of("a")[..];
    for (name, bytes) in [(part, MB - 1), ("a", MB - 1), (part, 5 * MB + 1), ("a", 5 * MB + 1)] {
        let place = place();
        leave(&place, name, bytes);
        assert_eq!(sends(&place, &deleting()), 5 * MB, "{name} {bytes}");
    }
}

#[test]
fn a_complete_file_is_not_sent_again() {
    for name in [&temp_name_of("a"), "a"] {
        let place = place();
        leave(&place, name, 5 * MB);
        assert_eq!(sends(&place, &usual()), 0, "{name}");
        assert!(temp_names_in(place.join("to")).is_empty());
    }
}

#[test]
fn an_entry_that_is_not_a_file_does_not_prevent_the_copy() {
    for is_between_hosts in [true, false] {
        let place = TreeBuilder::new()
            .seeded("from/a", 1, 5 * MB)
            .symlink("from/b", "a")
            .file(format!("to/{}/in/it", temp_name_of("a")), "left")
            .file(format!("to/{}/in", temp_name_of("b")), "left")
            .make_temp();
        let mirror = || drop(run(place.join("from"), place.join("to"), &usual()));
        if is_between_hosts {
            between_hosts(mirror);
        } else {
            mirror();
        }
        assert_alike(place.join("from"), place.join("to"));
    }
}

#[test]
fn the_bandwidth_limit_does_not_apply_to_a_prefix() {
    let place = place();
    leave(&place, &temp_name_of("a"), 5 * MB - 1);
    // At this rate, the whole file would take months.
    let slow = Options { bandwidth: Arc::new(Throttle::new(NonZeroU64::new(1))), ..usual() };
    assert_eq!(sends(&place, &slow), 1);
}

#[test]
fn a_file_that_is_not_a_prefix_is_not_used() {
    for name in [&temp_name_of("a"), "a"] {
        let place = place();
        leave(&place, name, 3 * MB);
        let path = place.join("to").join(name);
        let mut bytes = fs::read(&path).expect("read");
        bytes[1 << 20] ^= 1;
        fs::write(&path, bytes).expect("written");
        assert_eq!(sends(&place, &usual()), 5 * MB, "{name}");
    }
}

#[test]
fn holes_of_a_prefix_stay_holes() {
    let place = TreeBuilder::new()
        .sparse("from/a", 20 * MB, &[(MB, b"x"), (15 * MB, b"y")])
        .sparse("to/a", 10 * MB, &[(MB, b"x")])
        .make_temp();
    assert!(sends(&place, &Options { verify: true, ..usual() }) < MB);
}

#[test]
fn equal_files_are_only_digested() {
    let place = place();
    assert_eq!(sends(&place, &usual()), 5 * MB);
    let compares = Options { checksum: true, ..usual() };
    assert_eq!(sends(&place, &compares), 0);
    fs::set_permissions(place.join("to/a"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("set");
    assert_eq!(sends(&place, &compares), 0);
}
