//! What the destination has of a file already is not sent again.

use std::fs;
use std::path::Path;

use mirror::Options;
use testkit::{TempTree, TreeBuilder};

use crate::world::{assert_alike, deleting, from_afar, run, sent, usual};

const MB: u64 = 1 << 20;

/// What a run that was cut off leaves of a file called `a`.
const PART: &str = ".lop-part-af63dc4c8601ec8c";

fn place() -> TempTree {
    TreeBuilder::new().seeded("from/a", 1, 5 * MB).dir("to").make_temp()
}

/// Leaves the first bytes of the source's file at the destination under a name.
fn leave(place: &TempTree, name: &str, bytes: u64) {
    let all = fs::read(place.join("from/a")).expect("read");
    let some = usize::try_from(bytes).expect("fits");
    fs::write(place.join("to").join(name), &all[..some]).expect("written");
}

/// Mirrors, and returns how much was sent.
fn sends(place: &TempTree, options: &Options) -> u64 {
    let mut bytes = 0;
    from_afar(|| {
        run(place.join("from"), place.join("to"), options);
        bytes = sent();
    });
    assert_alike(place.join("from"), place.join("to"));
    bytes
}

#[test]
fn a_file_that_was_cut_off_goes_on() {
    for name in [PART, "a"] {
        let place = place();
        leave(&place, name, 3 * MB + 5);
        assert_eq!(sends(&place, &usual()), 2 * MB - 5, "{name}");
        assert!(!Path::new(&place.join("to").join(PART)).exists());
    }
}

#[test]
fn too_little_or_too_much_is_no_beginning() {
    for (name, bytes) in [(PART, MB - 1), ("a", MB - 1), (PART, 5 * MB)] {
        let place = place();
        leave(&place, name, bytes);
        assert_eq!(sends(&place, &deleting()), 5 * MB, "{name} {bytes}");
    }
}

#[test]
fn what_is_no_beginning_is_not_taken_for_one() {
    for name in [PART, "a"] {
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
fn holes_of_a_beginning_stay_holes() {
    let place = TreeBuilder::new()
        .sparse("from/a", 20 * MB, &[(MB, b"x"), (15 * MB, b"y")])
        .sparse("to/a", 10 * MB, &[(MB, b"x")])
        .make_temp();
    assert!(sends(&place, &Options { verify: true, ..usual() }) < MB);
}

#[test]
fn what_is_alike_is_only_digested() {
    let place = place();
    assert_eq!(sends(&place, &usual()), 5 * MB);
    let compares = Options { checksum: true, ..usual() };
    assert_eq!(sends(&place, &compares), 0);
    fs::set_permissions(place.join("to/a"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("set");
    assert_eq!(sends(&place, &compares), 0);
}
