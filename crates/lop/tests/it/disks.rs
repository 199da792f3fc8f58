//! Faulty disks: disks with unreadable sectors, and disks that become slow, stop responding or disappear. The disks
//! are simulated and contain ext4. Needs root and /dev/fuse.

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use bench::corpus::Counts;
use bench::hdd::{Disk, Settings, Trouble};
use bench::image::{Image, Mounted};
use bench::scenario::Device;
use testkit::{
    Groups, Running, Signal, TEST_TIMEOUT, TempTree, TreeBuilder, When, assert_groups, groups_of,
    naive_groups, naive_truth, parse_nul, skipped,
};

use crate::lop::{Lop, settle};

/// The disk is as fast as possible, except where a fault makes it slow.
const SETTINGS: Settings = Settings { scale: 0.0, span_bytes: None };
const ALL: Range<u64> = 0..u64::MAX;
const SECTOR: u64 = 4096;
pub(crate) const LARGE: u64 = 3 << 20;
/// Slow enough for a walk or the comparison of some files to be still running when the disk changes.
pub(crate) const SLOWLY: Trouble = Trouble::Delay(Duration::from_millis(2));

/// A mounted disk with a tree. Nothing of it is cached.
pub(crate) struct Ailing {
    mounted: Mounted,
    // Must follow the mount, because fields are dropped in declaration order.
    _home: TempTree,
}

impl Ailing {
    /// Creates the disk. If this machine cannot mount such a disk, prints the reason and returns `None`.
    pub(crate) fn with(tree: &TreeBuilder) -> Option<Ailing> {
        Ailing::with_settings(tree, &SETTINGS)
    }

    /// Creates a disk whose head has the given settings.
    pub(crate) fn with_settings(tree: &TreeBuilder, settings: &Settings) -> Option<Ailing> {
        if !testkit::is_root() || !Path::new("/dev/fuse").exists() {
            skipped("only root with /dev/fuse can mount a disk that fails");
            return None;
        }
        let home = TempTree::new();
        let image = Image::make(&home.join("image"), Device::Hdd, &Counts::default());
        let mounted = image.and_then(|image| image.mount(&home.join("mnt"), Some(settings)));
        let ailing = Ailing { mounted: mounted.expect("a mounted disk"), _home: home };
        tree.make(ailing.path());
        settle();
        // Unmounting also makes the file system allocate blocks for all files.
        ailing.cool();
        Some(ailing)
    }

    pub(crate) fn path(&self) -> &Path {
        self.mounted.path()
    }

    pub(crate) fn join(&self, name: &str) -> PathBuf {
        self.path().join(name)
    }

    pub(crate) fn disk(&self) -> &Disk {
        self.mounted.disk().expect("it is one")
    }

    /// Drops the page cache of the disk.
    pub(crate) fn cool(&self) {
        self.mounted.remount().expect("nothing uses it");
    }

    /// Returns the sector that contains the given byte of a file.
    pub(crate) fn sector(&self, name: &str, byte: u64) -> Range<u64> {
        let listing = Command::new("filefrag").args(["-e", "-b4096"]).arg(self.join(name)).output();
        let listing = String::from_utf8(listing.expect("filefrag runs").stdout).expect("text");
        // "   0:        0..     767:      34816..     35583:    768:             last,eof"
        let mut extents = listing.lines().filter_map(|line| {
            let mut numbers = line.split([':', '.']).filter_map(|word| word.trim().parse().ok());
            let mut next = || numbers.next();
            let (_, first, last, place): (u64, u64, u64, u64) =
                (next()?, next()?, next()?, next()?);
            (first..=last).contains(&(byte / SECTOR)).then_some(place + byte / SECTOR - first)
        });
        let sector =
            extents.next_back().unwrap_or_else(|| panic!("no byte {byte}:\n{listing}")) * SECTOR;
        sector..sector + SECTOR
    }

    /// Waits until the disk has served `requests` more requests while the scan runs.
    pub(crate) fn after(&self, requests: u64, running: &mut Running) {
        let before = self.disk().usage().requests;
        until(running, || self.disk().usage().requests >= before + requests);
    }
}

/// Waits until a condition holds while the program runs.
pub(crate) fn until(running: &mut Running, mut so: impl FnMut() -> bool) {
    let timeout = Instant::now() + TEST_TIMEOUT;
    while !so() {
        assert!(running.is_running(), "the program ended too early");
        assert!(Instant::now() < timeout, "the condition never held");
        sleep(Duration::from_millis(1));
    }
}

/// Returns a tree with pairs of files in some directories, and with two pairs of large files.
pub(crate) fn pairs(seed: u64) -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for i in 0..40 {
        for copy in ["a", "b"] {
            tree = tree.seeded(format!("d{}/{i}{copy}", i % 5), seed + i, 20_000 + 1000 * i);
        }
    }
    tree.seeded("d1/large", seed + 50, LARGE).seeded("d2/large", seed + 50, LARGE)
}

fn scan(lop: &Lop, args: &[&str], roots: &[&Path]) -> Running {
    let scan = lop.command().args(["scan", "--format", "nul"]).args(args);
    scan.args(roots).timeout(TEST_TIMEOUT).spawn()
}

/// Returns the groups without these files.
fn without(groups: &Groups, names: &[PathBuf]) -> Groups {
    use std::os::unix::ffi::OsStrExt;
    let gone = |path: &[u8]| names.iter().any(|name| name.as_os_str().as_bytes() == path);
    let left = groups.iter().map(|group| {
        group.iter().filter(|path| !gone(path)).cloned().collect::<std::collections::BTreeSet<_>>()
    });
    left.filter(|group| group.len() > 1).collect()
}

#[test]
fn sectors_that_cannot_be_read_cost_the_files_in_them_and_no_others() {
    let tree = pairs(0).seeded("e/small", 3, 23_000).seeded("e/large", 50, LARGE);
    let Some(ailing) = Ailing::with(&tree) else { return };
    let truth = naive_groups(ailing.path());
    let bad = [ailing.join("e/small"), ailing.join("e/large")];
    let sectors = [ailing.sector("e/small", 22_000), ailing.sector("e/large", LARGE / 2)];
    let lop = Lop::new();
    for io in ["auto", "hdd", "ssd", "cached"] {
        for sector in &sectors {
            ailing.disk().afflict(sector.clone(), Trouble::Error);
        }
        ailing.cool();
        let output = scan(&lop, &["--no-catalog", "--io", io], &[ailing.path()]).wait();
        output.code(3);
        for path in &bad {
            let line = format!("{}: cannot read: Input/output error", path.display());
            assert!(output.stderr_str().contains(&line), "{io}: {}", output.stderr_str());
        }
        assert_groups(&without(&truth, &bad), &parse_nul(&output.stdout));
        ailing.disk().heal();
        ailing.cool();
        let output = scan(&lop, &["--no-catalog", "--io", io], &[ailing.path()]).wait();
        assert_groups(&truth, &parse_nul(&output.success().stdout));
    }
}

#[test]
fn a_disk_that_turns_slow_is_waited_for() {
    let Some(ailing) = Ailing::with(&pairs(0)) else { return };
    let truth = naive_groups(ailing.path());
    for io in ["auto", "hdd", "ssd"] {
        ailing.cool();
        ailing.disk().afflict(ALL, SLOWLY);
        let lop = Lop::new();
        let mut running = scan(&lop, &["--io", io], &[ailing.path()]);
        ailing.after(20, &mut running);
        ailing.disk().heal();
        ailing.disk().afflict(ALL, Trouble::Delay(Duration::from_millis(40)));
        assert_groups(&truth, &parse_nul(&running.wait().success().stdout));
        ailing.disk().heal();
    }
}

#[test]
fn a_disk_that_is_gone_costs_its_own_files_only_and_comes_back() {
    let tree = pairs(100).seeded("d1/on both", 7, 27_000);
    let (Some(well), Some(ailing)) = (Ailing::with(&tree), Ailing::with(&pairs(0))) else { return };
    let own = naive_groups(well.path());
    let truth = naive_truth(&[well.path(), ailing.path()], testkit::Rules::default()).groups;
    ailing.cool();
    let before = ailing.disk().usage().requests;
    let lop = Lop::new();
    scan(&lop, &[], &[ailing.path()]).wait().success();
    let all = ailing.disk().usage().requests - before;
    for percent in [3, 25, 50, 75] {
        let lop = Lop::new();
        ailing.cool();
        ailing.disk().afflict(ALL, SLOWLY);
        let mut running = scan(&lop, &[], &[well.path(), ailing.path()]);
        ailing.after(all * percent / 100, &mut running);
        ailing.disk().heal();
        ailing.disk().afflict(ALL, Trouble::Error);
        let output = running.wait();
        output.code(3);
        let found = parse_nul(&output.stdout);
        for group in &found {
            assert!(truth.iter().any(|equal| group.is_subset(equal)), "{group:?} are not equal");
        }
        for group in &own {
            assert!(found.iter().any(|found| group.is_subset(found)), "{group:?} are missing");
        }
        // The catalog is correct even though the first scan was incomplete.
        ailing.disk().heal();
        ailing.cool();
        let again = scan(&lop, &[], &[well.path(), ailing.path()]).wait();
        assert_groups(&truth, &parse_nul(&again.success().stdout));
    }
}

#[test]
fn a_disk_that_stops_answering_is_reported_and_the_others_continue() {
    let (Some(well), Some(ailing)) = (Ailing::with(&pairs(100)), Ailing::with(&pairs(0))) else {
        return;
    };
    let roots = [well.path(), ailing.path()];
    let truth = naive_truth(&roots, testkit::Rules::default()).groups;
    let held = ailing.sector("d3/3a", 0);
    for ailing in [&well, &ailing] {
        ailing.cool();
    }
    let before = well.disk().usage().bytes;
    ailing.disk().afflict(held.clone(), Trouble::Silence);
    let lop = Lop::new();
    // Without this option, the walk reads files as long as the disk does not seem to be cold. A read that hangs in one
    // walk then delays the reads that follow all walks.
    let mut running = scan(&lop, &["--no-catalog", "--io", "hdd"], &roots);
    let reported = format!("still waiting for {}", ailing.join("d3").display());
    assert!(running.wait_for(&When::Stderr(reported.into())));
    // The scan reads the first blocks of all files on the other disk. It cannot continue without the block that the
    // disk holds back.
    until(&mut running, || well.disk().usage().bytes - before > 80 * 8192);
    ailing.disk().heal();
    assert_groups(&truth, &parse_nul(&running.wait().success().stdout));
    // An interrupted scan does not wait for the disk.
    ailing.cool();
    ailing.disk().afflict(held, Trouble::Silence);
    let mut running = scan(&lop, &["--no-catalog"], &roots);
    until(&mut running, || ailing.disk().unanswered() > 0);
    assert!(running.signal(Signal::INT));
    let output = running.wait();
    output.signal(Signal::INT);
    assert!(output.stderr_str().contains("no longer waiting for "), "{}", output.stderr_str());
}

#[test]
fn a_root_that_does_not_answer_from_the_start_holds_up_no_other() {
    let (Some(well), Some(ailing)) = (Ailing::with(&pairs(100)), Ailing::with(&pairs(0))) else {
        return;
    };
    let roots = [ailing.join("d1"), ailing.join("d2/large"), well.path().to_path_buf()];
    let mut truth = naive_truth(&[&roots[0], &roots[2]], testkit::Rules::default()).groups;
    truth.extend(groups_of([[ailing.join("d1/large"), ailing.join("d2/large")]]));
    for disk in [&well, &ailing] {
        disk.cool();
    }
    let before = well.disk().usage().requests;
    ailing.disk().afflict(ALL, Trouble::Silence);
    let roots: Vec<&Path> = roots.iter().map(PathBuf::as_path).collect();
    let lop = Lop::new();
    let mut running = scan(&lop, &[], &roots);
    let reported = format!("still waiting for {}", ailing.path().display());
    assert!(running.wait_for(&When::Stderr(reported.into())));
    until(&mut running, || well.disk().usage().requests > before + 5); // it is walked meanwhile
    ailing.disk().heal();
    assert_groups(&truth, &parse_nul(&running.wait().success().stdout));
}

#[test]
fn a_root_that_never_answers_is_given_up_when_all_others_have_been_walked() {
    let (Some(well), Some(ailing)) = (Ailing::with(&pairs(100)), Ailing::with(&pairs(0))) else {
        return;
    };
    let silent = ["d1", "d2/large"].map(|name| ailing.join(name));
    let roots = [&silent[..], &[well.path().to_path_buf()]].concat();
    ailing.cool();
    ailing.disk().afflict(ALL, Trouble::Silence);
    let options = walk::Options {
        filter: walk::Filter::default(),
        one_file_system: false,
        threads: device::Threads { first: 2, grows: true },
        disks: std::sync::Arc::default(),
        open_dirs: 8,
        root_timeout: Duration::from_millis(500),
        changes: None,
        own: walk::OwnFiles::default(),
    };
    let tree =
        walk::walk(&roots, &options, None, &runtime::Progress::default()).expect("not stopped");
    assert_eq!(tree.files().len(), 82);
    let problems: Vec<String> = tree
        .problems
        .iter()
        .map(|problem| format!("{}: {}", String::from_utf8_lossy(&problem.path), problem.reason))
        .collect();
    let expected = silent.map(|path| format!("{}: cannot open: timed out", path.display()));
    assert_eq!(problems, expected);
    ailing.disk().heal();
}

#[test]
fn a_disk_that_is_only_remembered_does_not_hold_up_a_scan_of_another() {
    let (Some(well), Some(ailing)) = (Ailing::with(&pairs(100)), Ailing::with(&pairs(0))) else {
        return;
    };
    let own = naive_groups(well.path());
    let both = [well.path(), ailing.path()];
    let lop = Lop::new();
    let before = scan(&lop, &[], &both).wait();
    ailing.cool();
    ailing.disk().afflict(ALL, Trouble::Silence);
    let mut running = scan(&lop, &[], &[well.path()]);
    assert!(running.wait_for(&When::Stderr("Scanned   82 files".into())));
    // The thread that made the request cannot end before the disk answers.
    ailing.disk().heal();
    assert_groups(&own, &parse_nul(&running.wait().success().stdout));
    // The catalog keeps all entries for the other disk.
    let read = ailing.disk().usage().bytes;
    let after = scan(&lop, &[], &both).wait();
    assert_groups(&parse_nul(&before.success().stdout), &parse_nul(&after.success().stdout));
    let read = ailing.disk().usage().bytes - read;
    assert!(read < LARGE, "{read} bytes read again");
}
