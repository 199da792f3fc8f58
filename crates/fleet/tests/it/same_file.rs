//! Files of file systems that several hosts have scanned.

use std::collections::HashSet;

use export::Fleet;
use fleet::{Part, seen_before};
use runtime::Progress;

use crate::hosts::{Hosts, Name};

/// Returns, for each export, how many inodes an earlier one contains. Checks that it does not depend on
/// the memory.
fn counts(hosts: &Hosts) -> Vec<usize> {
    let fleet = Fleet::newest(hosts.dir.as_ref()).expect("a folder");
    let parts: Vec<Part> = fleet.exports.iter().map(Part::whole).collect();
    let seen = |memory| -> Vec<HashSet<i64>> {
        seen_before(&parts, memory, &Progress::default()).expect("undamaged exports")
    };
    let all = seen(1 << 20);
    assert_eq!(all, seen(1));
    all.iter().map(HashSet::len).collect()
}

const NAMES: [Name<'_>; 3] =
    [(b"/share/a", 11, (5, 1, 1)), (b"/share/b", 12, (6, 1, 2)), (b"/share/c", 13, (7, 1, 3))];

#[test]
fn a_file_of_a_shared_file_system_is_seen_first_on_the_first_host() {
    let mut hosts = Hosts::new();
    hosts.shared_fsid = Some(7);
    hosts.export_names("a", &NAMES[..2], export::Names::Plain, None);
    hosts.export_names("b", &NAMES[1..], export::Names::Plain, None);
    hosts.export_names("c", &NAMES, export::Names::Plain, None);
    assert_eq!(counts(&hosts), [0, 1, 3]);
}

#[test]
fn equal_inode_numbers_on_other_file_systems_are_other_files() {
    let mut hosts = Hosts::new();
    hosts.export_names("a", &NAMES, export::Names::Plain, None);
    hosts.export_names("b", &NAMES, export::Names::Plain, None);
    assert_eq!(counts(&hosts), [0, 0]);
}

#[test]
fn a_file_system_without_an_id_is_one_of_its_own() {
    let mut hosts = Hosts::new();
    hosts.shared_fsid = Some(0);
    hosts.export_names("a", &NAMES, export::Names::Plain, None);
    hosts.export_names("b", &NAMES, export::Names::Plain, None);
    assert_eq!(counts(&hosts), [0, 0]);
}
