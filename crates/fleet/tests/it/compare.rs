//! Reports agree with a naive comparison of all pairs of inodes, however little memory there is.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use export::{Fleet, InodeKey};
use fleet::{Answers, Copies, Elsewhere, HostTotals, Options, Part, Report, Selection, compare};
use runtime::Progress;
use testkit::{Dice, TreeBuilder};

use crate::hosts::{Hosts, Inode};

const OPTIONS: Options = Options { memory: 1 << 30, threads: 2, min_size: 1 };

/// Inodes of several hosts: many have the same size, head or digest. A digest belongs to one head.
fn random_hosts(seed: u64, hosts: usize, inodes: u64) -> Vec<Vec<Inode>> {
    let mut dice = Dice::new(seed);
    let inode = |dice: &mut Dice| {
        let size = dice.below(60);
        let head = 1 + dice.below(3);
        // Two contents for each size and head.
        let digest = 1 + size * 100 + head * 10 + dice.below(2);
        match dice.below(4) {
            0 => (size, 0, 0),
            1 => (size, head, 0),
            2 if dice.below(3) == 0 => (size, 0, digest),
            _ => (size, head, digest),
        }
    };
    let host = |dice: &mut Dice| (0..dice.below(inodes)).map(|_| inode(dice)).collect();
    (0..hosts).map(|_| host(&mut dice)).collect()
}

fn exported(hosts: &[Vec<Inode>]) -> (Hosts, Fleet) {
    let mut out = Hosts::new();
    for (number, inodes) in hosts.iter().enumerate() {
        out.export(&format!("h{number:02}"), inodes);
    }
    let fleet = Fleet::newest(out.dir.as_ref()).expect("exports");
    assert!(fleet.problems.is_empty(), "{:?}", fleet.problems);
    (out, fleet)
}

fn report(fleet: &Fleet, options: &Options) -> Report {
    let empty = || Report::new(fleet.exports.len(), 7);
    let parts: Vec<Part> = fleet.exports.iter().map(Part::whole).collect();
    compare(&parts, options, empty, &Progress::default()).expect("a report")
}

/// The totals of a host by definition.
fn naive_totals(hosts: &[Vec<Inode>], host: usize, min_size: u64) -> HostTotals {
    let is_wanted = |inode: &&Inode| inode.0 >= min_size;
    let others = || {
        let others = hosts.iter().enumerate().filter(|(other, _)| *other != host);
        others.flat_map(|(_, inodes)| inodes)
    };
    let differ = |a: u64, b: u64| a != 0 && b != 0 && a != b;
    let mut totals = HostTotals::default();
    let mut seen = BTreeSet::new();
    let add = |copies: &mut Copies, size| {
        copies.inodes += 1;
        copies.bytes += size;
    };
    for &(size, head, digest) in hosts[host].iter().filter(is_wanted) {
        add(&mut totals.all, size);
        let is_copied = digest > 0 && others().any(|other| other.2 == digest);
        let may_be_copied = others().any(|other| {
            other.0 == size && !differ(other.1, head) && (other.2 == 0 || digest == 0)
        });
        let class = match () {
            () if is_copied => &mut totals.elsewhere,
            () if may_be_copied => &mut totals.unknown,
            () => &mut totals.only_here,
        };
        add(class, size);
        if digest > 0 && !seen.insert(digest) {
            add(&mut totals.redundant, size);
        }
    }
    totals
}

/// The hosts, the size and the inodes of each content by definition.
fn naive_contents(hosts: &[Vec<Inode>]) -> BTreeMap<u64, (BTreeSet<usize>, u64, u64)> {
    let mut contents = BTreeMap::new();
    for (host, inodes) in hosts.iter().enumerate() {
        for &(size, _, digest) in inodes.iter().filter(|inode| inode.0 > 0 && inode.2 > 0) {
            let content = contents.entry(digest).or_insert((BTreeSet::new(), size, 0));
            content.0.insert(host);
            content.2 += 1;
        }
    }
    contents
}

fn check(hosts: &[Vec<Inode>], report: &Report, min_size: u64) {
    for host in 0..hosts.len() {
        assert_eq!(report.hosts[host], naive_totals(hosts, host, min_size.max(1)), "host {host}");
    }
    if min_size > 1 {
        return;
    }
    let contents = naive_contents(hosts);
    let groups = || contents.values().filter(|(.., inodes)| *inodes > 1);
    assert_eq!(report.groups, groups().count() as u64);
    assert_eq!(report.shared_contents, groups().filter(|(on, ..)| on.len() > 1).count() as u64);
    let redundant = Copies {
        inodes: groups().map(|(.., inodes)| inodes - 1).sum(),
        bytes: groups().map(|(_, size, inodes)| size * (inodes - 1)).sum(),
    };
    assert_eq!(report.redundant, redundant);
    for one in 0..hosts.len() {
        for other in 0..hosts.len() {
            let both = groups()
                .filter(|(on, ..)| one != other && on.contains(&one) && on.contains(&other));
            assert_eq!(
                report.matrix.shared(one, other),
                both.map(|(_, size, _)| size).sum::<u64>()
            );
        }
    }
    let mut most: Vec<u64> = groups().map(|(_, size, inodes)| size * (inodes - 1)).collect();
    most.sort_unstable_by(|a, b| b.cmp(a));
    let top: Vec<u64> = report.top().iter().map(|content| content.redundant_bytes).collect();
    assert_eq!(top, most[..most.len().min(7)]);
}

#[test]
fn reports_agree_with_a_comparison_of_all_pairs() {
    for (seed, count) in [(1, 2), (2, 3), (3, 12), (4, 1)] {
        let hosts = random_hosts(seed, count, 400);
        let (_out, fleet) = exported(&hosts);
        check(&hosts, &report(&fleet, &OPTIONS), 1);
    }
}

#[test]
fn little_memory_and_any_number_of_threads_give_the_same_report() {
    let hosts = random_hosts(5, 5, 2000);
    let (_out, fleet) = exported(&hosts);
    for memory in [0, 10_000, 100_000] {
        for threads in [1, 3] {
            check(&hosts, &report(&fleet, &Options { memory, threads, ..OPTIONS }), 1);
        }
    }
}

#[test]
fn smaller_files_are_left_out() {
    let hosts = random_hosts(6, 3, 1000);
    let (_out, fleet) = exported(&hosts);
    for min_size in [0, 30, 59, 60] {
        check(&hosts, &report(&fleet, &Options { min_size, ..OPTIONS }), min_size);
    }
}

#[test]
fn answers_for_a_part_of_a_host_agree_with_the_report() {
    let hosts = random_hosts(7, 4, 1000);
    let (_out, fleet) = exported(&hosts);
    for host in 0..hosts.len() {
        // Every second inode of the host; another part has the others.
        let inode_ids = 0..hosts[host].len();
        let (some, rest): (HashSet<i64>, HashSet<i64>) =
            inode_ids.map(|id| i64::try_from(id).expect("small")).partition(|id| id % 2 == 0);
        let mut parts: Vec<Part> = fleet.exports.iter().map(Part::whole).collect();
        parts[host].inodes = Selection::Only(&rest);
        parts.push(Part { export: &fleet.exports[host], inodes: Selection::Only(&some) });
        let number = u32::try_from(hosts.len()).expect("few");
        let options = Options { memory: 50_000, ..OPTIONS };
        let answers = compare(&parts, &options, || Answers::new(number), &Progress::default())
            .expect("answers");
        // The same split of the host by the rows themselves.
        let mut split = hosts.clone();
        let half = |odd: usize| {
            let rows = hosts[host].iter().enumerate();
            rows.filter(|(at, _)| at % 2 == odd).map(|(_, inode)| *inode).collect::<Vec<_>>()
        };
        split[host] = half(1);
        split.push(half(0));
        let expected = naive_totals(&split, hosts.len(), 1);
        let mut found = HostTotals::default();
        let add_to = |copies: &mut Copies, size| {
            copies.inodes += 1;
            copies.bytes += size;
        };
        let each = |inode: &InodeKey| {
            if inode.size == 0 || !some.contains(&inode.inode_id) {
                return;
            }
            let of = match answers.of(inode).expect("an answer") {
                Elsewhere::Copied => &mut found.elsewhere,
                Elsewhere::Nowhere => &mut found.only_here,
                Elsewhere::Unknown => &mut found.unknown,
            };
            add_to(of, inode.size);
        };
        fleet.exports[host].each_inode(None, each).expect("inodes");
        let totals = |t: &HostTotals| (t.elsewhere, t.only_here, t.unknown);
        assert_eq!(totals(&found), totals(&expected), "host {host}");
    }
}

#[test]
fn many_row_groups_are_read_in_passes() {
    // Twenty copies of each content on one host, and another host with every third content.
    let one: Vec<Inode> = (0..200_000).map(|n| (1 + n / 20, 1, 1 + n / 20)).collect();
    let other: Vec<Inode> = (0..10_000).step_by(3).map(|n| (1 + n, 1, 1 + n)).collect();
    let (_out, fleet) = exported(&[one, other]);
    for memory in [1 << 20, 1 << 30] {
        let report = report(&fleet, &Options { memory, ..OPTIONS });
        assert_eq!(report.groups, 10_000);
        assert_eq!(report.shared_contents, 3334);
        assert_eq!(report.redundant.inodes, 190_000 + 3334);
        assert_eq!(report.hosts[0].elsewhere.inodes, 3334 * 20);
        assert_eq!(report.hosts[0].only_here.inodes, 200_000 - 3334 * 20);
        assert_eq!(report.hosts[1].redundant.inodes, 0);
    }
}

#[test]
fn only_the_newest_complete_export_of_a_host_counts() {
    let mut out = Hosts::new();
    out.export("a", &[(10, 1, 1)]);
    out.export("a", &[(10, 1, 1), (20, 1, 2)]);
    out.export("b", &[(20, 1, 2)]);
    let path = out.dir.join("a");
    let newest = |path: &std::path::Path| {
        let names =
            std::fs::read_dir(path).expect("a folder").map(|entry| entry.expect("one").path());
        names.max().expect("an export")
    };
    let fleet = Fleet::newest(out.dir.as_ref()).expect("exports");
    assert_eq!(report(&fleet, &OPTIONS).shared_contents, 1);
    assert_eq!(Fleet::all(out.dir.as_ref()).expect("exports").exports.len(), 3);
    // Without its manifest, the newest export is incomplete, and the one before counts.
    std::fs::remove_file(newest(&path).join("_MANIFEST.json")).expect("removed");
    let fleet = Fleet::newest(out.dir.as_ref()).expect("exports");
    assert_eq!(fleet.problems.len(), 1);
    assert_eq!(fleet.exports.len(), 2);
    assert_eq!(report(&fleet, &OPTIONS).shared_contents, 0);
}

#[test]
fn an_export_that_lacks_a_file_is_incomplete() {
    let problem = |damage: &dyn Fn(&std::path::Path)| {
        let mut out = Hosts::new();
        out.export("a", &[(10, 1, 1)]);
        let fleet = Fleet::newest(out.dir.as_ref()).expect("exports");
        damage(&fleet.exports[0].files("inodes")[0].path);
        let fleet = Fleet::newest(out.dir.as_ref()).expect("exports");
        assert!(fleet.exports.is_empty());
        fleet.problems[0].to_string()
    };
    let missing = problem(&|file| std::fs::remove_file(file).expect("removed"));
    assert!(missing.ends_with("Z: incomplete: it has no file inodes-0.parquet"), "{missing}");
    // Opening a FIFO would wait for a writer.
    let fifo = problem(&|file| {
        std::fs::remove_file(file).expect("removed");
        TreeBuilder::new().fifo("inodes-0.parquet").make(file.parent().expect("a folder"));
    });
    assert!(fifo.ends_with("/inodes-0.parquet: not a regular file"), "{fifo}");
    let shorter = problem(&|file| std::fs::write(file, "PAR1").expect("written"));
    assert!(shorter.contains("has 4 bytes, but the manifest has "), "{shorter}");
}

#[test]
fn a_damaged_file_is_found() {
    let mut out = Hosts::new();
    out.export("a", &[(10, 1, 1), (20, 1, 2)]);
    let fleet = Fleet::all(out.dir.as_ref()).expect("exports");
    let export = &fleet.exports[0];
    assert!(export.verify(&Progress::default()).expect("undamaged") > 0);
    let file = &export.files("inodes")[0].path;
    let mut bytes = std::fs::read(file).expect("a file");
    bytes[10] ^= 1;
    std::fs::write(file, bytes).expect("written");
    let error = export.verify(&Progress::default()).expect_err("damaged");
    assert!(error.to_string().contains("BLAKE3"), "{error}");
}
