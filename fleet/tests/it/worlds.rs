//! Fleets with everything that is unusual in exports.

use catalog::FileState;
use export::{Names, Object, Options, export_objects};
use runtime::Progress;
use testkit::dice::Dice;

use crate::hosts::{Hosts, Inode, Name};

/// An inode number, and the number of a head, that are negative in exports.
const NEGATIVE: u64 = u64::MAX - 5;

/// Exports a bucket with objects of some sizes and MD5 digests; 0 for none.
fn bucket(hosts: &Hosts, name: &str, objects: &[(u64, u8)]) {
    let object = |(number, &(size, digest)): (usize, &(u64, u8))| Object {
        key: format!("dir//{number}").into_bytes(),
        size,
        mtime_ns: 7,
        md5: (digest > 0).then_some([digest; 16]),
    };
    let objects = objects.iter().enumerate().map(object).collect();
    let host = name.into();
    let options = Options { host, names: Names::Plain, key: None, created_ms: 5, replaces: false };
    let exported = export_objects(name, objects, hosts.dir.path(), &options, &Progress::default());
    exported.expect("exported");
}

/// Hosts with names that are not UTF-8, negative numbers, files without head or digest, damaged files, a file system
/// that two hosts have scanned, two versions of an inode in it, a host without names, two buckets, and an older export.
pub(crate) fn unusual() -> Hosts {
    let mut hosts = Hosts::new();
    hosts.export("laptop", &[(1000, 1, 1), (1000, 1, 1), (1, 1, 99)]);
    hosts.problems = vec![
        (b"/home/\xff\n".to_vec(), "Permission denied".into()),
        (b"/home/b".to_vec(), "Permission denied".into()),
        (b"/proc".to_vec(), "No such file or directory".into()),
    ];
    hosts.state = |inode| match inode {
        30 => FileState::Damaged,
        31 => FileState::Unreadable,
        32 => FileState::Pending,
        _ => FileState::Known,
    };
    let laptop: &[Name<'_>] = &[
        (b"/home/me/film", 1, (5 << 30, 10, 20)),
        (b"/home/me/\xff\xfe", 2, (1000, 1, 1)),
        (b"/home/\xffdir/line\nbreak", 2, (1000, 1, 1)),
        (b"/home/\xffdir/\xc3\xa4", 3, (1000, 1, 1)),
        (b"/home/me/negative", NEGATIVE, (2000, NEGATIVE, 2)),
        (b"/home/me/,\"quoted\" ", 5, (2000, NEGATIVE, 3)),
        (b"/home/me/headless", 6, (2000, 0, 4)),
        (b"/home/me/undigested", 7, (5000, 2, 0)),
        (b"/home/me/neither", 8, (5000, 0, 0)),
        (b"/damaged", 30, (1000, 1, 1)),
        (b"/unreadable", 31, (5000, 2, 0)),
        (b"/pending", 32, (77, 3, 0)),
        (b"/largest", 33, ((1 << 62) + 1, 4, 0)),
    ];
    hosts.export_names("laptop", laptop, Names::Plain, None);
    hosts.problems.clear();
    hosts
        .export("nas", &[(1000, 1, 1), (1000, 1, 1), (2000, NEGATIVE, 3), (5000, 3, 0), (5, 1, 5)]);
    hosts.export("no-digests", &[(1000, 1, 0), (2000, 0, 0), (5000, 2, 0), (123, 0, 0)]);
    hosts.export_names("empty", &[], Names::Plain, None);
    bucket(&hosts, "bucket-1", &[(1000, 1), (1000, 1), (123, 0), (9, 2), (6, 0), (5, 9)]);
    bucket(&hosts, "bucket-2", &[(1000, 1), (9, 3), (8, 8)]);
    hosts.shared_fsid = Some(NEGATIVE);
    // Inode 4 changed between two scans of part-1, which therefore has two versions of it.
    let part: &[Name<'_>] = &[
        (b"/a", 1, (4096, 50, 50)),
        (b"/b", 2, (4096, 51, 51)),
        (b"/c", 3, (4097, 0, 0)),
        (b"/d", 4, (4096, 50, 50)),
        (b"/e", 4, (4098, 52, 52)),
    ];
    hosts.export_names("part-1", part, Names::None, None);
    hosts.export_names("part-2", &part[..4], Names::None, None);
    let object = |key: &[u8], size, md5| Object { key: key.into(), size, mtime_ns: 1, md5 };
    let objects = vec![
        object(b"a/\xff", 1000, Some([1; 16])),
        object(b"a/b", 1000, Some([1; 16])),
        object(b"c", 2000, None),
        object(b"d", 900, Some([2; 16])),
    ];
    add_objects(&hosts, "bucket", objects);
    hosts
}

/// Exports the objects of a bucket as a host.
fn add_objects(hosts: &Hosts, host: &str, objects: Vec<Object>) {
    let (host, names) = (host.to_owned(), Names::Plain);
    let options = Options { host, names, key: None, created_ms: 1, replaces: false };
    let made =
        export_objects("bucket", objects, hosts.dir.as_ref(), &options, &Progress::default());
    made.expect("exported");
}

/// Hosts with keyed digests, some with keyed names.
pub(crate) fn keyed() -> Hosts {
    let mut hosts = Hosts::new();
    let names: &[Name<'_>] = &[
        (b"/home/me/a", 1, (1000, 1, 1)),
        (b"/home/me/b", 2, (1000, 1, 1)),
        (b"/home/me/\xff", 2, (1000, 1, 1)),
        (b"/home/me/c", 3, (3000, 5, 0)),
    ];
    hosts.problems = vec![(b"/home/b".to_vec(), "Permission denied".into())];
    hosts.export_names("keyed", names, Names::Keyed, crate::SECRET);
    hosts.export_names("none", names, Names::None, crate::SECRET);
    hosts
}

/// Exports without names: the tables `names` and `dirs` have no file.
pub(crate) fn without_names() -> Hosts {
    crate::two_hosts()
}

/// Hosts whose files have few sizes, heads and digests, so that all combinations occur. Two of them are S3 buckets.
pub(crate) fn random(seed: u64, rows: u64) -> Hosts {
    let mut dice = Dice::new(seed);
    let mut hosts = Hosts::new();
    for host in ["a", "b", "c", "d"] {
        let inodes: Vec<Inode> = (0..rows).map(|_| inode(&mut dice, rows)).collect();
        hosts.export(host, &inodes);
    }
    for bucket in ["e", "f"] {
        let object = |number: u64| {
            let (size, _, content) = inode(&mut dice, rows);
            let md5 = (content > 0).then(|| u128::from(content).to_be_bytes());
            Object { key: number.to_string().into(), size, mtime_ns: 1, md5 }
        };
        add_objects(&hosts, bucket, (0..rows / 4).map(object).collect());
    }
    hosts
}

/// Returns an inode. Each digest belongs to one size and one head.
fn inode(dice: &mut Dice, rows: u64) -> Inode {
    let content = dice.below(rows.div_ceil(2)) + 1;
    let size = content % rows.div_ceil(10) * 1013 + 1;
    let head = (content % 3 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    match dice.below(6) {
        0 => (size, 0, 0),
        1 => (size, head, 0),
        2 => (size, 0, content),
        _ => (size, head, content),
    }
}
