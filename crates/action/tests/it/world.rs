//! A tree, its groups of duplicates, and the runs on the tree. The groups are found by a simple independent
//! implementation.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use action::plan::{Amount, Group, Kind, Member, Plan, Target, Version, plan, separate};
use action::run::{ApplyOptions, ApplyOutcome, DiskBatch, Runs};
use action::undo::UndoOutcome;
use device::{Disks, Io, Threads};
use fsops::{Dir, FileKey, Lease, Stat};
use runtime::Progress;
use testkit::{
    FileSystem, Mount, Rules, Snapshot, TEST_TIMEOUT, TempTree, TreeBuilder, naive_truth,
    without_forks,
};

use crate::sweep;

/// The properties to compare after a tree has been restored.
pub(crate) const WHOLE: testkit::Compare = testkit::Compare::ALL;

/// A tree, and the folder with the journals of its runs, which is outside the tree.
pub(crate) struct World {
    pub(crate) tree: PathBuf,
    pub(crate) runs: PathBuf,
    _home: TempTree,
}

/// Gives the thread of a test a descriptor table of its own with only the standard descriptors, when the
/// test creates its first world.
///
/// The kernel grants no lease on a file that appears to be open for writing anywhere. Threads and processes
/// that other tests start would otherwise copy the descriptors of this test. A copy of the table with the
/// descriptors of other tests would keep their files open in turn, and they would wait for this test.
fn leave_shared_descriptors() {
    thread_local!(static HAS_LEFT: Cell<bool> = const { Cell::new(false) });
    if !HAS_LEFT.replace(true) {
        runtime::keep_standard_descriptors();
    }
}

impl World {
    pub(crate) fn new(tree: &TreeBuilder) -> World {
        World::in_home(tree, TempTree::new())
    }

    /// Creates the tree on a file system that never reuses inode numbers, if such a file system can
    /// be mounted.
    pub(crate) fn in_memory(tree: &TreeBuilder) -> (World, Option<Mount>) {
        match Mount::new(FileSystem::Tmpfs, 64 << 20) {
            Ok(mount) => (World::in_home(tree, TempTree::new_in(&mount)), Some(mount)),
            Err(reason) => {
                testkit::skipped(format!("inode numbers that do not come back: {reason}"));
                (World::new(tree), None)
            }
        }
    }

    pub(crate) fn in_home(tree: &TreeBuilder, home: TempTree) -> World {
        leave_shared_descriptors();
        let home_path = home.path().canonicalize().expect("a home");
        let _quiet = without_forks();
        tree.make(home_path.join("tree"));
        wait_for_writers(&home_path.join("tree"));
        World { tree: home_path.join("tree"), runs: home_path.join("runs"), _home: home }
    }

    /// Uses an existing tree.
    pub(crate) fn of(tree: PathBuf, runs: PathBuf) -> World {
        leave_shared_descriptors();
        World { tree, runs, _home: TempTree::new() }
    }

    /// Creates the tree on `mount`, and the folder with the journals on another file system.
    pub(crate) fn on(tree: &TreeBuilder, mount: &Mount) -> World {
        let mut world = World::in_home(&TreeBuilder::new(), TempTree::new());
        world.tree = mount.path().canonicalize().expect("a mount").join("tree");
        tree.make(&world.tree);
        wait_for_writers(&world.tree);
        world
    }

    /// Returns the folder that contains the tree and its runs.
    pub(crate) fn folder(&self) -> PathBuf {
        self.tree.parent().expect("a folder").to_path_buf()
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.tree)
    }

    /// Returns the staging directories that are named in the journals and still exist.
    pub(crate) fn stores(&self) -> Vec<PathBuf> {
        testkit::stores(&self.runs)
    }

    pub(crate) fn apply(&self, kind: Kind) -> ApplyOutcome {
        let runs = Runs::open(&self.runs, |_| {}).expect("opens");
        if kind == Kind::Sweep {
            return sweep::sweep(&runs, sweep::some_entries(&self.tree)).0;
        }
        let plans = plans(&self.tree, kind);
        apply(&runs, kind, plans, 2).0
    }

    pub(crate) fn undo(&self) -> Option<UndoOutcome> {
        undo(&self.runs)
    }
}

/// Waits until the kernel reports that no file below a directory is open for writing. On a busy machine, the kernel may
/// report a file as open for a moment after the last writer has closed it, and lop would skip that file.
pub(crate) fn wait_for_writers(dir: &Path) {
    let opened = Dir::open(dir).expect("exists");
    for entry in std::fs::read_dir(dir).expect("is listed").flatten() {
        let kind = entry.file_type().expect("has a kind");
        if kind.is_dir() {
            wait_for_writers(&entry.path());
        }
        let name = CString::new(entry.file_name().into_vec()).expect("a name");
        let Some(file) = opened.open_file(&name).ok().filter(|_| kind.is_file()) else { continue };
        let timeout = Instant::now() + TEST_TIMEOUT;
        while let Lease::Written = file.take_lease() {
            assert!(Instant::now() < timeout, "{} is open for writing", entry.path().display());
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for World {
    /// Removes everything that runs left outside the folder.
    fn drop(&mut self) {
        for folder in [self.runs.clone(), other_runs(self)] {
            testkit::remove_stores(&folder);
        }
    }
}

/// Returns a second folder for runs that do not share a lock with the first folder.
pub(crate) fn other_runs(world: &World) -> PathBuf {
    world.folder().join("other runs")
}

/// Plans actions on all groups below a directory. An independent reader finds the groups.
pub(crate) fn plans(tree: &Path, kind: Kind) -> Vec<Plan> {
    plans_of(tree, kind, &[], |_| None)
}

/// Like `plans`, but with rules and protected names.
pub(crate) fn plans_of(
    tree: &Path,
    kind: Kind,
    rules: &[action::plan::Rule],
    protect: impl Fn(&[u8]) -> Option<action::plan::Protection>,
) -> Vec<Plan> {
    use std::os::unix::ffi::OsStrExt;
    let rules_of_truth = Rules { every_link: true, ..Rules::default() };
    let groups = naive_truth(&[tree], rules_of_truth).groups;
    let member = |path: &Vec<u8>| {
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(path));
        let stat = Stat::of_path(&path).expect("exists");
        let path = path.as_os_str().as_bytes().to_vec();
        let protected = protect(&path);
        let target = Target { path, version: Version::from(&stat), tag: 0 };
        Member { protected, ..Member::new(target, stat) }
    };
    let members = |group: &Vec<Vec<u8>>| group.iter().map(member).collect::<Vec<_>>();
    let groups = groups.iter().map(|group| members(&group.iter().cloned().collect()));
    if kind != Kind::Separate {
        return groups.flat_map(|group| plan(group, kind, rules)).collect();
    }
    let mut files: BTreeMap<FileKey, Vec<Member>> = BTreeMap::new();
    for member in groups.flatten() {
        files.entry(member.stat.key()).or_default().push(member);
    }
    files.into_values().filter_map(separate).collect()
}

/// Carries out plans.
pub(crate) fn apply(
    runs: &Runs,
    kind: Kind,
    plans: Vec<Plan>,
    threads: usize,
) -> (ApplyOutcome, Result<(), action::Error>) {
    apply_groups(runs, kind, plans.into_iter().map(Into::into).collect(), threads)
}

/// Carries out groups.
pub(crate) fn apply_groups(
    runs: &Runs,
    kind: Kind,
    groups: Vec<Group>,
    threads: usize,
) -> (ApplyOutcome, Result<(), action::Error>) {
    let progress = Progress::default();
    match apply_with(runs, kind, groups, threads, &progress) {
        Ok((_, outcome, ended)) => (outcome, ended),
        Err(error) => (ApplyOutcome::default(), Err(error)),
    }
}

/// Carries out groups, and reports to `progress`. Returns what [`Runs::apply`] returns.
pub(crate) fn apply_with(
    runs: &Runs,
    kind: Kind,
    groups: Vec<Group>,
    threads: usize,
    progress: &Progress,
) -> Result<(u64, ApplyOutcome, Result<(), action::Error>), action::Error> {
    let _quiet = without_forks();
    let how = ApplyOptions {
        kind,
        directory_times: true,
        threads: Threads { first: threads, grows: false },
        open_dirs: 8,
        open_files: 6,
        distinct: Vec::new(),
        own: walk::OwnFiles::default(),
    };
    let disks = Disks::new(Io::Cached);
    let device = groups.first().map_or(0, |group| group.keep.version.device);
    groups.iter().map(|group| group.amount(kind)).sum::<Amount>().expect(progress);
    let groups = Box::new(groups.into_iter());
    let applied = runs.apply(&how, vec![DiskBatch { disk: disks.of(device), groups }], progress);
    if matches!(applied, Ok((.., Ok(())))) {
        assert_gone_through(progress);
    }
    applied
}

/// Asserts that the progress counters of a finished run have reached their totals, regardless of the outcome.
fn assert_gone_through(progress: &Progress) {
    let load = |counter: &AtomicU64| counter.load(Relaxed);
    assert_eq!(load(&progress.files_done), load(&progress.files_total));
    // If the limit on open files is low, the kept file is read more than once.
    assert!(load(&progress.bytes_done) >= load(&progress.bytes_total), "{progress:?}");
}

/// Undoes the last run. Returns `None` if there was nothing to undo.
pub(crate) fn undo(runs: &Path) -> Option<UndoOutcome> {
    let _quiet = without_forks();
    let runs = Runs::open(runs, |_| {}).expect("opens");
    let progress = Progress::default();
    match runs.undo(None, &[], &progress, |error| panic!("{error}")) {
        Ok((_, undone, ended)) => {
            ended.expect("ends");
            assert_gone_through(&progress);
            Some(undone)
        }
        Err(action::Error::NothingToUndo | action::Error::NothingToRestore { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// Returns a tree with all known special cases of identical files.
pub(crate) fn odd_tree() -> TreeBuilder {
    let long = [b'n'; 255];
    TreeBuilder::new()
        .seeded("a/one", 1, 5000)
        .seeded("b/two", 1, 5000)
        .seeded("b/deep/er/three", 1, 5000)
        .mode("b/two", 0o4711)
        .mtime("b/two", 1_000_000_000, 123_456_789)
        .xattr("b/two", "user.note", b"\xff\x00mine")
        .xattr("b/deep/er/three", "user.long", &[7; 2000])
        .hard_links(testkit::Content::Seeded { seed: 2, len: 300_000 }, &["h/1", "h/2"])
        .hard_links(testkit::Content::Seeded { seed: 2, len: 300_000 }, &["h/3", "g/4", "h/5"])
        .seeded(&b"\xff\xfe"[..], 3, 1)
        .seeded("new\nline", 3, 1)
        .seeded(&long[..], 3, 1)
        .sparse("s/1", 1 << 20, &[(700_000, b"island")])
        .sparse("s/2", 1 << 20, &[(700_000, b"island")])
        .seeded("alone", 9, 4096)
        .symlink("link", "a/one")
        .mtime("b", 1_100_000_000, 5)
}
