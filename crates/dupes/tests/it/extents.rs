//! Files that are stored in different ways, or that move on disk during a search. Disk offsets only
//! determine the order of reads and must never affect the groups.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Instant;

use device::Io;
use testkit::{FileSystem, Mount, TEST_TIMEOUT, TreeBuilder, assert_groups, naive_groups, skipped};

use crate::changes::SetOnDrop;
use crate::mounts::mounted;
use crate::reclaimable::{SHARING, reflink};
use crate::scan::setup;

/// Sizes at which a file is stored inside the inode, in one block, in one extent of several blocks,
/// and (if compressed) in several extents.
const SIZES: [u64; 4] = [40, 3000, 70_000, 700_000];

/// Writes a file of `size` bytes that compresses well. Only the last byte of the file depends on
/// `number`.
fn compressible(path: &Path, number: u8, size: u64) {
    let mut bytes: Vec<u8> =
        (0..size).map(|at| u8::try_from(at / 512 % 7).expect("small")).collect();
    *bytes.last_mut().expect("some") = number;
    fs::write(path, bytes).expect("written");
}

/// Reserves space for a file without writing to it, so that it reads as zeros.
fn preallocated(path: &Path, size: u64) {
    let made = Command::new("fallocate").arg("-l").arg(size.to_string()).arg(path).status();
    assert!(made.expect("fallocate runs").success());
}

/// Creates identical files of each size that are stored in different ways.
fn fill(dir: &Path, reflinks: bool, synced: bool) {
    for size in SIZES {
        let dir = dir.join(size.to_string());
        TreeBuilder::new()
            .seeded("written", 1, size)
            .seeded("written again", 1, size)
            .sparse("hole", size, &[])
            .make(&dir);
        let sets = [("x", 1), ("y", 2)];
        for (name, number) in sets {
            compressible(&dir.join(name), number, size);
            compressible(&dir.join(format!("{name} again")), number, size);
        }
        fs::write(dir.join("zeros"), vec![0; usize::try_from(size).expect("small")])
            .expect("written");
        preallocated(&dir.join("preallocated"), size);
        preallocated(&dir.join("half"), size);
        let half = fs::File::options().write(true).open(dir.join("half"));
        half.and_then(|mut half| half.write_all(&vec![0; 2048])).expect("written");
        fs::File::options()
            .write(true)
            .open(dir.join("half"))
            .and_then(|f| f.set_len(size))
            .expect("cut");
        if synced {
            rustix::fs::sync();
        }
        if reflinks {
            for name in ["written", "x", "y", "preallocated", "hole", "half"] {
                reflink(&dir.join(name), &dir.join(format!("{name} shared")));
            }
        }
    }
}

#[test]
fn only_the_bytes_of_a_file_count_however_it_is_stored() {
    for kind in FileSystem::ALL {
        let Some(mount) = mounted(kind) else { continue };
        let compressed = kind == FileSystem::Btrfs && mount.remount("compress-force=zstd").is_ok();
        if kind == FileSystem::Btrfs && !compressed {
            skipped("no compression");
        }
        for synced in [false, true] {
            let dir = mount.path().join(synced.to_string());
            fs::create_dir(&dir).expect("made");
            fill(&dir, SHARING.contains(&kind), synced);
            let scan = setup().scan(&[&dir]);
            assert_groups(&naive_groups(&dir), &scan.groups());
        }
    }
}

#[test]
fn files_that_move_on_disk_keep_their_groups() {
    const SIZE: u64 = 1_500_000;
    for kind in SHARING {
        let Some(mount) = mounted(kind) else { continue };
        let dir = mount.path();
        // The contents x and y differ in their last byte, and `turns` alternates between them.
        for (number, name) in [(1, "x"), (2, "y")] {
            compressible(&dir.join(name), number, SIZE);
            compressible(&dir.join(format!("{name} apart")), number, SIZE);
            reflink(&dir.join(name), &dir.join(format!("{name} shared")));
        }
        fs::write(dir.join("turns"), "").expect("written");
        rustix::fs::sync();
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for name in ["x", "y"].into_iter().cycle() {
                    reflink(&dir.join(name), &dir.join("turns"));
                    // The other copy is written to a new location.
                    let apart = dir.join(format!("{name} apart"));
                    let copy = dir.join("copy");
                    // Writes the bytes, because a copy would share the old extents.
                    let written = fs::read(&apart).and_then(|bytes| fs::write(&copy, bytes));
                    let synced = written.and_then(|()| fs::File::open(&copy)?.sync_data());
                    synced.and_then(|()| fs::rename(&copy, &apart)).expect("moved");
                    if done.load(Relaxed) {
                        return;
                    }
                }
            });
            let _stop = SetOnDrop(&done);
            for round in 0..30 {
                let io = [Io::Hdd, Io::Ssd, Io::Cached][round % 3];
                let scan = setup().io(io).scan_once(&[dir]);
                for group in scan.groups() {
                    let has = |name: &[u8]| group.iter().any(|path| path.ends_with(name));
                    let (x, y) = (has(b"/x") || has(b"/x shared"), has(b"/y") || has(b"/y shared"));
                    assert!(!(x && y), "{group:?}");
                    assert!(!(has(b"/x apart") && has(b"/y apart")), "{group:?}");
                }
                let all: std::collections::BTreeSet<_> =
                    scan.groups().into_iter().flatten().collect();
                for name in [&b"/x"[..], b"/x shared", b"/y", b"/y shared"] {
                    assert!(all.iter().any(|path| path.ends_with(name)), "{io:?}: one is missing");
                }
            }
        });
        let scan = setup().scan(&[dir]);
        assert_groups(&naive_groups(dir), &scan.groups());
    }
}

/// Runs an `xfs_io` command on a path, with `input`. Returns the last word of the command's output.
fn xfs_io(command: &str, path: &Path, input: &[u8]) -> Result<String, String> {
    let mut child = Command::new("xfs_io")
        .args(["-c", command])
        .arg(path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("xfs_io: {error}"))?;
    let fed = child.stdin.take().expect("piped").write_all(input);
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if fed.is_err() || !output.status.success() || !output.stderr.is_empty() {
        return Err(format!("xfs_io: {said}{}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(said.split_whitespace().last().unwrap_or_default().to_owned())
}

#[test]
fn encrypted_files_equal_plain_ones_and_are_reported_without_the_key() {
    let mount = Mount::with_features(FileSystem::Ext4, 64 << 20, &["-O", "encrypt"]);
    let mount = match mount {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    let (plain, secret) = (mount.path().join("plain"), mount.path().join("secret"));
    for dir in [&plain, &secret] {
        fs::create_dir(dir).expect("made");
    }
    let key = match xfs_io("add_enckey", mount.path(), &[7; 64]) {
        Ok(key) => key,
        Err(reason) => return skipped(reason),
    };
    xfs_io(&format!("set_encpolicy -v 2 {key}"), &secret, b"").expect("encrypted from now on");
    for dir in [&plain, &secret] {
        fill(dir, false, true);
    }
    let alone = naive_groups(&plain);
    for io in [Io::Auto, Io::Hdd, Io::Ssd, Io::Cached] {
        let scan = setup().io(io).scan(&[mount.path()]);
        assert_groups(&naive_groups(mount.path()), &scan.groups());
    }
    // A file stays readable while it is open, and a process started by another test may hold it
    // open for a moment.
    let timeout = Instant::now() + TEST_TIMEOUT;
    while xfs_io(&format!("enckey_status {key}"), mount.path(), b"").as_deref() != Ok("Absent") {
        assert!(Instant::now() < timeout, "some files are still unlocked");
        let _in_use = xfs_io(&format!("rm_enckey {key}"), mount.path(), b"");
    }
    let scan = setup().scan(&[mount.path()]);
    assert_groups(&alone, &scan.groups());
    let problems = scan.problems();
    let files = SIZES.len() * 10;
    assert_eq!(problems.len(), files, "{problems:?}");
}
