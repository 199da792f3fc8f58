//! Only bytes that were compared right before the action count as identical.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime};

use testkit::{Compare, FileSystem, NOBODY, Snapshot, TreeBuilder, assert_same, is_root, skipped};

use super::{
    CHANGING, KINDS, apply, apply_all, back, done, mounted, scanned, scanned_at, tool, undo,
};
use crate::lop::{Lop, document, settle};

const MIB: u64 = 1 << 20;

fn pair() -> TreeBuilder {
    TreeBuilder::new().seeded("kept", 1, 50_000).seeded("other", 1, 50_000)
}

/// Changes one byte of a file, and restores its times.
fn change_unseen(path: &Path) {
    let was = fs::metadata(path).expect("a file").modified().expect("a time");
    let file = OpenOptions::new().write(true).open(path).expect("opens");
    file.write_all_at(b"!", 30_000).expect("is written");
    file.set_modified(was).expect("its time is set");
}

// Way 17.
#[test]
fn a_change_with_the_same_modification_time_is_noticed() {
    for changed in ["kept", "other"] {
        for by in CHANGING {
            let lop = scanned(&pair());
            change_unseen(&lop.path(changed));
            let before = Snapshot::of(lop.work());
            assert_eq!(done(&apply(&lop, by, ["--all"])), 0, "{by}");
            assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
        }
    }
}

// Way 17.
#[test]
fn bytes_that_changed_below_the_file_system_are_compared() {
    // A failing disk changes bytes without any sign of it. This test writes to the disk below its file system.
    let Some(disk) = mounted(FileSystem::Ext4, 16 * MIB) else { return };
    for by in CHANGING {
        let lop = scanned_at(&disk, &pair());
        drop(tool("sync", &["-f"], &disk));
        let Some(map) = tool("filefrag", &["-v", "-b1024"], disk.path().join("other")) else {
            return;
        };
        let extent =
            map.lines().find(|line| line.trim_start().starts_with("0:")).expect("an extent");
        let block: u64 = extent
            .split(':')
            .nth(2)
            .and_then(|text| text.trim().split('.').next()?.trim().parse().ok())
            .expect("where it starts");
        let Some(source) = tool("findmnt", &["-n", "-o", "SOURCE", "--target"], &disk) else {
            return;
        };
        let device = OpenOptions::new().write(true).open(source.trim()).expect("a loop device");
        device.write_all_at(b"rot", block * 1024 + 100).expect("is written");
        device.sync_all().expect("is written");
        fs::write("/proc/sys/vm/drop_caches", "1").expect("caches are dropped");
        let before = Snapshot::of(&disk);
        let seen = before.contents().len();
        if seen < 2 {
            return skipped("the damage is not visible");
        }
        let output = apply(&lop, by, ["--all"]);
        output.code(3);
        assert_eq!(done(&output), 0, "{by}");
        assert!(output.stderr_str().contains("is not equal to the kept file"), "{by}");
        assert_same(&before, &Snapshot::of(&disk), back());
        for name in ["kept", "other"] {
            fs::remove_file(disk.path().join(name)).expect("is removed");
        }
    }
}

// Way 10.
#[test]
fn a_missing_or_replaced_kept_file_saves_its_duplicate() {
    let changes: [fn(&Path); 4] = [
        |path| fs::remove_file(path).expect("is removed"),
        |path| fs::write(path, vec![7; 50_000]).expect("is written"),
        |path| {
            File::options().write(true).open(path).and_then(|file| file.set_len(9)).expect("cut");
        },
        |path| {
            let away = path.with_extension("away");
            fs::rename(path, &away).expect("is moved");
            fs::create_dir(path).expect("a directory");
        },
    ];
    for change in changes {
        for by in CHANGING {
            let lop = scanned(&pair());
            change(&lop.path("kept"));
            let before = Snapshot::of(lop.work());
            assert_eq!(done(&apply(&lop, by, ["--all"])), 0, "{by}");
            assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
        }
    }
}

// Ways 7 and 16.
#[test]
fn files_that_differ_late_are_not_linked_and_equal_ones_share_all_extents() {
    for kind in [FileSystem::Btrfs, FileSystem::Xfs] {
        let Some(disk) = mounted(kind, 512 * MIB) else { continue };
        let (size, at) = (64 * MIB, 16 * MIB + 12_345);
        TreeBuilder::new()
            .seeded("1 kept", 1, size)
            .seeded("2 equal", 1, size)
            .differing("3 late", 1, size, at, 1)
            .differing("4 last", 1, size, size - 1, 1)
            .seeded("5 odd", 5, 16 * MIB + 5000)
            .seeded("6 odd", 5, 16 * MIB + 5000)
            .make(&disk);
        settle();
        let before = Snapshot::of(&disk);
        let lop = Lop::new();
        lop.remember([disk.path()]);
        apply_all(&lop, "reflink", 2);
        assert_same(&before, &Snapshot::of(&disk), Compare::ALL);
        let shared = |one: &str, other: &str| {
            let map = |name: &str| {
                tool("filefrag", &["-v", "-b4096"], disk.path().join(name)).map(|map| extents(&map))
            };
            Some((map(one)?, map(other)?))
        };
        for (one, other) in [("1 kept", "2 equal"), ("5 odd", "6 odd")] {
            let Some((one_map, other_map)) = shared(one, other) else { return };
            assert!(!one_map.is_empty());
            assert_eq!(one_map, other_map, "{one} and {other} lie in the same place");
        }
        let Some((kept, late)) = shared("1 kept", "3 late") else { return };
        assert!(kept.iter().all(|extent| !late.contains(extent)), "what differs was left alone");
        // The files are unchanged, so there is nothing to undo.
        lop.run(["undo"]).code(1);
        assert_same(&before, &Snapshot::of(&disk), Compare::ALL);
    }
}

/// Returns the ranges of disk blocks that a file occupies, from the output of filefrag.
fn extents(map: &str) -> Vec<(u64, u64)> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let range = |text: &str| {
        let (first, last) = text.split_once("..")?;
        Some((number(first)?, number(last.trim_end_matches(':'))?))
    };
    let extent = |line: &str| {
        let mut parts = line.split_once(':')?.1.splitn(3, ':');
        let (logical, physical) = (range(parts.next()?)?, range(parts.next()?)?);
        Some((0..=logical.1 - logical.0).map(move |i| (logical.0 + i, physical.0 + i)))
    };
    map.lines().filter_map(extent).flatten().collect()
}

// Way 11.
#[test]
fn files_that_cannot_be_read_are_not_equal() {
    if !is_root() {
        return skipped("only root can create files of other users");
    }
    let tree = pair().mode("kept", 0o000).mode("other", 0o000).owner("", NOBODY, NOBODY);
    let lop = Lop::with(&tree);
    drop(lop.command().args(["scan", "."]).as_user(NOBODY, NOBODY).run());
    for by in CHANGING {
        let before = Snapshot::of(lop.work());
        let args = ["dedupe", "--json", "--apply", "--all", "--by", by];
        let output = lop.command().args(args).as_user(NOBODY, NOBODY).run();
        assert_eq!(done(&output), 0, "{by}");
        assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
    }
}

// Way 11.
#[test]
fn files_that_were_readable_during_the_scan_are_read_again() {
    if !is_root() {
        return skipped("only root can create files of other users");
    }
    for unreadable in ["kept", "other"] {
        for by in CHANGING {
            let tree = pair().owner("", NOBODY, NOBODY).owner("kept", NOBODY, NOBODY);
            let lop = Lop::with(&tree.owner("other", NOBODY, NOBODY));
            let as_nobody = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
            as_nobody(&["scan", "."]).success();
            fs::set_permissions(lop.path(unreadable), Permissions::from_mode(0o0)).expect("is set");
            let before = Snapshot::of(lop.work());
            let output = as_nobody(&["dedupe", "--json", "--apply", "--all", "--by", by]);
            assert_eq!(done(&output), 0, "{by}");
            assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
        }
    }
}

#[test]
fn a_file_that_somebody_writes_to_is_left_alone() {
    for written in ["kept", "other"] {
        for by in CHANGING {
            let lop = scanned(&pair());
            let writer = OpenOptions::new().append(true).open(lop.path(written)).expect("opens");
            let before = Snapshot::of(lop.work());
            let output = apply(&lop, by, ["--all"]);
            output.code(3);
            assert_eq!(done(&output), 0, "{by}");
            assert!(output.stderr_str().contains("open for writing"), "{by}");
            assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
            drop(writer);
            // The file is no longer open for writing, so it may be removed.
            apply_all(&lop, by, 1);
            undo(&lop);
            assert_same(&before, &Snapshot::of(lop.work()), back());
        }
    }
}

/// Maps a file for writing, closes it, and then writes one letter for each line of input.
const MAPPED: &str = "import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR)
memory = mmap.mmap(fd, 0)
os.close(fd)
print('mapped', flush=True)
for line in sys.stdin:
    memory[0:1] = line[0:1].encode()
    print('written', flush=True)
";

#[test]
fn a_file_that_somebody_has_mapped_is_left_alone() {
    for mapped in ["kept", "other"] {
        for by in CHANGING {
            let lop = scanned(&pair());
            let mut python = Command::new("python3");
            python.args(["-c", MAPPED]).arg(lop.path(mapped));
            let Ok(mut python) = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn() else {
                return skipped("no python3");
            };
            let mut said = [0; 7];
            python.stdout.as_mut().expect("is piped").read_exact(&mut said).expect("is mapped");
            let before = Snapshot::of(lop.work());
            let output = apply(&lop, by, ["--all"]);
            assert_eq!(done(&output), 0, "{by}");
            assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
            python.stdin.take().expect("is piped").write_all(b"X\n").expect("is told");
            assert!(python.wait().expect("ends").success());
            assert_eq!(fs::read(lop.path(mapped)).expect("is there")[0], b'X');
        }
    }
}

#[test]
fn a_plan_is_not_trusted_once_files_have_changed() {
    for by in KINDS.into_iter().filter(|by| *by != "reflink") {
        let lop = scanned(&pair().seeded("third", 1, 50_000));
        let later = SystemTime::now() + Duration::from_secs(1000);
        let third = File::options().write(true).open(lop.path("third")).expect("opens");
        third.set_modified(later).expect("its time is set");
        drop(third);
        let output = apply(&lop, by, ["--all"]);
        assert_eq!(done(&output), 1, "{by}: {}", document(&output));
        assert_eq!(fs::read(lop.path("third")).expect("was left alone").len(), 50_000);
    }
}
