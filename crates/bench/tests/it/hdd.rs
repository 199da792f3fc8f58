//! The simulated hard disk, mounted and used through its two files. Needs root and /dev/fuse.

#![expect(clippy::disallowed_methods, reason = "tests make the backing files they mount")]

use std::fs::{self, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::thread;

use bench::hdd::{Disk, Head, Mechanics, Settings};
use rustix::fs::FallocateFlags;
use testkit::TempTree;

const SIZE: usize = 8 << 20;
const KIB: usize = 1 << 10;
/// Requests take a thousandth of the simulated time. The reported figures stay the same, but the
/// tests finish quickly.
const FAST: Settings = Settings { scale: 0.001, span_bytes: None };

/// A disk whose backing file has known content.
struct Mounted {
    disk: Disk,
    backing: PathBuf,
    content: Vec<u8>,
    // Must follow `disk`, because fields are dropped in declaration order.
    home: TempTree,
}

impl Mounted {
    /// Mounts a disk. If this machine cannot mount one, prints the reason and returns `None`.
    fn new() -> Option<Self> {
        if !testkit::is_root() || !Path::new("/dev/fuse").exists() {
            testkit::skipped("only root with /dev/fuse can mount a hard disk");
            return None;
        }
        let (home, backing, point) = backing_and_point();
        let content = content();
        fs::write(&backing, &content).expect("a backing file");
        let disk = Disk::mount(&backing, &point, &FAST).expect("a mounted disk");
        Some(Self { disk, backing, content, home })
    }

    fn point(&self) -> PathBuf {
        self.home.join("point")
    }

    fn open(&self) -> File {
        OpenOptions::new().read(true).write(true).open(self.disk.file()).expect("an open disk")
    }
}

fn backing_and_point() -> (TempTree, PathBuf, PathBuf) {
    let home = TempTree::new();
    let (backing, point) = (home.join("backing"), home.join("point"));
    fs::create_dir(&point).expect("a mount point");
    (home, backing, point)
}

/// Returns bytes in which all blocks are different.
fn content() -> Vec<u8> {
    let words = (0_u64..).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    words.take(SIZE / 8).flat_map(u64::to_le_bytes).collect()
}

fn read(file: &File, at: usize, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    file.read_exact_at(&mut bytes, at as u64).expect("bytes of the disk");
    bytes
}

#[test]
fn the_disk_shows_the_bytes_of_its_backing_file() {
    let Some(mounted) = Mounted::new() else { return };
    let file = mounted.open();
    assert_eq!(file.metadata().expect("metadata").len(), SIZE as u64);
    for (at, len) in [(0, SIZE), (SIZE - 512, 512), (3 * KIB, 4 * KIB), (12_345, 67), (0, 1)] {
        assert!(read(&file, at, len) == mounted.content[at..at + len], "{len} bytes at {at}");
    }
}

#[test]
fn written_bytes_are_read_again_and_are_in_the_backing_file() {
    let Some(mounted) = Mounted::new() else { return };
    let file = mounted.open();
    let mut expected = mounted.content.clone();
    for (at, len) in [(4 * KIB, 64 * KIB), (SIZE - 10, 10), (2 << 20, 3 << 20), (77, 1)] {
        let bytes = vec![u8::try_from(len % 251).expect("a byte"); len];
        file.write_all_at(&bytes, at as u64).expect("a write");
        expected[at..at + len].copy_from_slice(&bytes);
    }
    file.sync_all().expect("a sync");
    assert!(read(&file, 0, SIZE) == expected);
    assert!(fs::read(&mounted.backing).expect("the backing file") == expected);
}

#[test]
fn usage_matches_the_model() {
    let Some(mounted) = Mounted::new() else { return };
    let file = mounted.open();
    let before = mounted.disk.usage();
    assert_eq!(before, Head::new(Mechanics::DESKTOP, 1).usage(), "opening costs nothing");
    let mut model = Head::new(Mechanics::DESKTOP, 4 * SIZE as u64);
    let blocks = [
        (0, 0),
        (4, 0),
        (1024, 1), // ahead, too far
        (1028, 1),
        (1132, 1), // 100 KiB ahead: passes
        (1128, 2), // back
        (8000, 3),
        (0, 4),
        (260, 4), // 256 KiB ahead: just passes
        (521, 5), // 1 KiB more
    ];
    for (kib, seeks) in blocks {
        read(&file, kib * KIB, 4 * KIB);
        model.serve((kib * KIB) as u64, 4 * KIB as u64);
        assert_eq!(mounted.disk.usage().seeks, seeks, "after {kib} KiB");
    }
    file.write_all_at(&[1; 8192], 0).expect("a write");
    model.serve(0, 8192);
    assert_eq!(mounted.disk.usage(), model.usage());
    assert_eq!((mounted.disk.usage() - before).requests, 11);
}

#[test]
fn the_stats_file_shows_the_same_usage() {
    let Some(mounted) = Mounted::new() else { return };
    read(&mounted.open(), 1 << 20, 64 * KIB);
    let stats = mounted.point().join("stats");
    let text = fs::read_to_string(&stats).expect("the stats");
    let usage = mounted.disk.usage();
    assert_eq!(text, format!("requests 1 seeks 1 bytes 65536 disk_seconds {:.3}\n", usage.busy_s));
    assert_eq!(stats.metadata().expect("metadata").len(), text.len() as u64);
    let stats = OpenOptions::new().write(true).open(stats).expect("root may open anything");
    let error = stats.write_at(b"requests 0", 0).expect_err("nobody may change it");
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
}

#[test]
fn the_disk_has_an_end() {
    let Some(mounted) = Mounted::new() else { return };
    let file = mounted.open();
    let mut bytes = [0; 100];
    assert_eq!(file.read_at(&mut bytes, SIZE as u64 - 40).expect("a short read"), 40);
    assert!(bytes[..40] == mounted.content[SIZE - 40..]);
    assert_eq!(file.read_at(&mut bytes, SIZE as u64).expect("nothing to read"), 0);
    let before = mounted.disk.usage();
    for at in [SIZE - 99, SIZE, SIZE << 20] {
        let error = file.write_at(&bytes, at as u64).expect_err("no room");
        assert_eq!(error.kind(), ErrorKind::StorageFull, "at {at}: {error}");
    }
    assert_eq!(mounted.disk.usage(), before);
    assert!(fs::read(&mounted.backing).expect("the backing file") == mounted.content);
}

#[test]
fn holes_are_punched_in_the_backing_file_without_the_head() {
    let Some(mounted) = Mounted::new() else { return };
    let file = mounted.open();
    let before = fs::metadata(&mounted.backing).expect("metadata").blocks();
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    let punched = rustix::fs::fallocate(&file, punch, 1 << 20, 4 << 20);
    if punched == Err(rustix::io::Errno::OPNOTSUPP) {
        return testkit::skipped(
            "the file system of the temporary directory does not support holes",
        );
    }
    punched.expect("a hole");
    assert_eq!(mounted.disk.usage().requests, 0);
    assert!(read(&file, 1 << 20, 4 << 20).iter().all(|&byte| byte == 0));
    assert!(fs::metadata(&mounted.backing).expect("metadata").blocks() < before);
    let beyond = rustix::fs::fallocate(&file, FallocateFlags::empty(), SIZE as u64, 1);
    assert_eq!(beyond, Err(rustix::io::Errno::NOSPC));
    let collapsed = rustix::fs::fallocate(&file, FallocateFlags::COLLAPSE_RANGE, 0, 4096);
    assert_eq!(collapsed, Err(rustix::io::Errno::OPNOTSUPP));
}

#[test]
fn an_error_of_the_backing_file_is_the_readers_error() {
    let Some(mounted) = Mounted::new() else { return };
    let file = mounted.open();
    let backing = OpenOptions::new().write(true).open(&mounted.backing).expect("the backing file");
    backing.set_len(1 << 20).expect("a shorter backing file");
    assert!(read(&file, 0, 4 * KIB) == mounted.content[..4 * KIB]);
    assert!(file.read_at(&mut [0; 512], 2 << 20).is_err(), "lost bytes are no zeros");
}

#[test]
fn many_readers_at_once_get_their_own_bytes_and_all_are_counted() {
    let Some(mounted) = Mounted::new() else { return };
    let file = mounted.open();
    thread::scope(|scope| {
        for reader in 0..16 {
            let (file, content) = (&file, &mounted.content);
            scope.spawn(move || {
                for turn in 0..50 {
                    let at = (reader * 7919 + turn * 104_729) % (SIZE - 4 * KIB);
                    assert!(read(file, at, 4 * KIB) == content[at..at + 4 * KIB], "at {at}");
                }
            });
        }
    });
    let usage = mounted.disk.usage();
    assert_eq!((usage.requests, usage.bytes), (800, 800 * 4096));
}

#[test]
fn dropping_the_disk_unmounts_it() {
    let Some(mounted) = Mounted::new() else { return };
    let names = |point: &Path| {
        let entries = fs::read_dir(point).expect("a directory");
        entries.map(|entry| entry.expect("an entry").file_name()).collect::<Vec<_>>()
    };
    let point = mounted.point();
    assert_eq!(names(&point), ["disk", "stats"]);
    drop(mounted.disk);
    assert!(names(&point).is_empty());
}

#[test]
fn a_disk_in_use_is_hidden_and_still_served() {
    let Some(mounted) = Mounted::new() else { return };
    let (file, point) = (mounted.open(), mounted.point());
    let failure = mounted.disk.unmount().expect_err("it is in use");
    assert!(failure.to_string().contains("cannot be unmounted"), "{failure}");
    assert!(fs::read_dir(&point).expect("a directory").next().is_none());
    assert!(read(&file, 0, 4 * KIB) == mounted.content[..4 * KIB]);
}

#[test]
fn invalid_settings_are_refused_with_the_reason() {
    let (home, backing, point) = backing_and_point();
    let refused = |backing: &Path, point: &Path, settings: Settings, reason: &str| {
        let failure = Disk::mount(backing, point, &settings).expect_err(reason);
        assert!(failure.to_string().contains(reason), "{failure}, expected {reason}");
    };
    refused(&backing, &point, FAST, "No such file");
    fs::write(&backing, "").expect("a backing file");
    refused(&backing, &point, FAST, "not a file with bytes");
    fs::write(&backing, [1; 4096]).expect("a backing file");
    refused(&backing, &home.join("nowhere"), FAST, "No such file");
    refused(&backing, &backing, FAST, "not a directory");
    for scale in [-1.0, f64::NAN, f64::INFINITY] {
        refused(&backing, &point, Settings { scale, ..FAST }, "scale");
    }
    refused(&backing, &point, Settings { span_bytes: Some(4095), ..FAST }, "cannot begin with");
}
