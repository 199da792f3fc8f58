//! Files that change between the walk and the comparison, or that change constantly.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, SystemTime};

use runtime::Progress;
use testkit::{Groups, PathBytes, TempTree, TreeBuilder};

use crate::scan::{Walked, setup};

/// A change to one file of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Shorter,
    Emptied,
    Longer,
    /// The file's first byte changes, but not its modification time.
    First,
    /// The file's last byte changes, but not its modification time.
    Last,
    Removed,
    /// The file is replaced by another file with the same bytes and modification time.
    Copy,
    Touched,
    /// The file's mode changes but its bytes do not, so only the ctime shows the change.
    Mode,
    Fifo,
    Socket,
    Directory,
    /// The file is replaced by a link to another file of its class.
    Link,
    /// The file is moved away together with its directory.
    Moved,
}

const CHANGES: [Change; 14] = [
    Change::Shorter,
    Change::Emptied,
    Change::Longer,
    Change::First,
    Change::Last,
    Change::Removed,
    Change::Copy,
    Change::Touched,
    Change::Mode,
    Change::Fifo,
    Change::Socket,
    Change::Directory,
    Change::Link,
    Change::Moved,
];

impl Change {
    fn apply(self, victim: &Path, size: u64) {
        let modified = fs::metadata(victim).and_then(|m| m.modified()).expect("a time");
        let write = || OpenOptions::new().write(true).open(victim).expect("writable");
        match self {
            Change::Shorter => write().set_len(size - 1).expect("cut off"),
            Change::Emptied => write().set_len(0).expect("cut off"),
            Change::Longer => write().write_all_at(b"x", size).expect("room"),
            Change::First | Change::Last => {
                let file = write();
                let at = if self == Change::First { 0 } else { size - 1 };
                file.write_all_at(b"\xee", at).expect("room");
                file.set_modified(modified).expect("settable");
            }
            Change::Touched => write().set_modified(SystemTime::UNIX_EPOCH).expect("settable"),
            Change::Mode => {
                fs::set_permissions(victim, Permissions::from_mode(0o600)).expect("settable");
            }
            Change::Copy => {
                let aside = victim.with_extension("aside");
                fs::write(&aside, fs::read(victim).expect("readable")).expect("room");
                let file = OpenOptions::new().write(true).open(&aside).expect("writable");
                file.set_modified(modified).expect("settable");
                fs::rename(aside, victim).expect("same directory");
            }
            Change::Moved => {
                let dir = victim.parent().expect("a directory");
                fs::rename(dir, dir.with_extension("moved")).expect("same directory");
            }
            Change::Removed => fs::remove_file(victim).expect("removable"),
            Change::Fifo | Change::Socket | Change::Directory | Change::Link => {
                fs::remove_file(victim).expect("removable");
                self.put(victim);
            }
        }
    }

    fn put(self, place: &Path) {
        let dir = place.parent().expect("a directory");
        let name = place.file_name().expect("a name");
        match self {
            Change::Link => symlink("../0", place).expect("a free name"),
            Change::Socket => drop(TreeBuilder::new().socket(name).make(dir)),
            Change::Directory => drop(TreeBuilder::new().dir(name).make(dir)),
            _ => drop(TreeBuilder::new().fifo(name).make(dir)),
        }
    }

    /// Returns whether the head alone may distinguish the file from its class before the engine
    /// checks for changes. If so, the file is not in any group and need not be reported.
    fn may_go_unnoticed(self, class: &Class) -> bool {
        class.files > 3
            && (self == Change::First
                || self == Change::Last && class.size == content::head_length(class.size))
    }
}

/// A class of identical files, one of which changes.
struct Class {
    name: String,
    files: u64,
    size: u64,
    change: Change,
}

impl Class {
    fn all() -> Vec<Class> {
        let mut all = Vec::new();
        for change in CHANGES {
            for files in [2, 3, 5, 12] {
                for size in [900, 70_000, 200_000] {
                    let size = size + all.len() as u64 * 2;
                    let name = format!("{change:?} of {files} of {size}");
                    all.push(Class { name, files, size, change });
                }
            }
        }
        all
    }

    fn build(&self, mut builder: TreeBuilder) -> TreeBuilder {
        for i in 0..self.files - 1 {
            builder = builder.seeded(format!("{}/{i}", self.name), self.size, self.size);
        }
        builder.seeded(format!("{}/d/victim", self.name), self.size, self.size)
    }

    fn victim(&self, tree: &TempTree) -> Vec<u8> {
        tree.join(format!("{}/d/victim", self.name)).path_bytes().to_vec()
    }

    fn group(&self, tree: &TempTree) -> BTreeSet<Vec<u8>> {
        let path = |i| tree.join(format!("{}/{i}", self.name)).path_bytes().to_vec();
        (0..self.files - 1).map(path).collect()
    }
}

#[test]
fn a_file_that_changed_since_the_walk_is_reported_and_the_rest_of_its_class_compared() {
    let classes = Class::all();
    for inline_reads in [false, true] {
        let tree = classes.iter().fold(TreeBuilder::new(), |b, c| c.build(b)).make_temp();
        let setup = setup().open_files(6).inline_reads(inline_reads).keys(!inline_reads);
        let walked = setup.walk(&[&tree]);
        // Longer than a timestamp tick of any file system.
        thread::sleep(Duration::from_millis(30));
        for class in &classes {
            class.change.apply(&tree.join(format!("{}/d/victim", class.name)), class.size);
        }
        let scan = walked.find(&setup);
        let (groups, problems) = (scan.groups(), scan.problems());
        let expected: Groups =
            classes.iter().filter(|c| c.files > 2).map(|c| c.group(&tree)).collect();
        testkit::assert_groups(&expected, &groups);
        let silent = |class: &&Class| !problems.contains_key(&class.victim(&tree));
        for class in classes.iter().filter(silent) {
            assert!(class.change.may_go_unnoticed(class), "{} is not reported", class.name);
        }
        let victims: BTreeSet<_> = classes.iter().map(|c| c.victim(&tree)).collect();
        assert!(problems.keys().all(|path| victims.contains(path)), "{problems:?}");
    }
}

#[test]
fn a_small_file_that_changes_after_it_was_read_during_the_walk_stays_in_its_group() {
    let names = ["a", "b", "c"];
    let tree = names.iter().fold(TreeBuilder::new(), |b, name| b.seeded(name, 1, 900)).make_temp();
    let setup = setup().inline_reads(true);
    let walked = setup.walk(&[&tree]);
    thread::sleep(Duration::from_millis(30));
    for name in names {
        fs::write(tree.join(name), [7; 900]).expect("a file");
    }
    let Walked { tree: files, fingerprints, keys } = walked;
    let found = dupes::find(&files, &fingerprints, keys, &setup.find, &Progress::default());
    let found = found.expect("not stopped");
    // The first file of a size is read after the walk.
    let problems: Vec<_> = found.problems.iter().map(|p| p.reason.to_string()).collect();
    assert_eq!(problems, ["changed while it was read"]);
    let group = found.groups.get(0);
    assert_eq!((found.groups.len(), group.files.len()), (1, 2));
    let before = TreeBuilder::new().seeded("a", 1, 900).make_temp();
    let bytes = fs::read(before.join("a")).expect("a file");
    assert_eq!(group.digest.map(|digest| digest.0), Some(*blake3::hash(&bytes).as_bytes()));
}

#[test]
fn a_tree_that_is_gone_is_reported_file_by_file() {
    let tree = TreeBuilder::new()
        .file("root/a", "equal")
        .file("root/d/b", "equal")
        .file("root/alone", "of another size")
        .make_temp();
    let root = tree.join("root");
    let walked = setup().walk(&[&root]);
    fs::rename(&root, tree.join("elsewhere")).expect("same directory");
    let scan = walked.find(&setup());
    assert!(scan.found.groups.is_empty());
    let problems = scan.problems();
    let expected = [root.join("a"), root.join("d/b")].map(|p| p.path_bytes().to_vec());
    assert!(problems.keys().eq(&expected), "{problems:?}");
}

#[test]
fn a_directory_replaced_by_a_link_to_another_is_not_followed() {
    let tree = TreeBuilder::new()
        .file("d/a", "equal")
        .file("e/a", "equal")
        .file("b", "equal")
        .file("c", "equal")
        .make_temp();
    let walked = setup().walk(&[&tree]);
    fs::rename(tree.join("d"), tree.join("gone")).expect("same directory");
    symlink("e", tree.join("d")).expect("a free name");
    let scan = walked.find(&setup());
    assert_eq!(scan.only_group().files.len(), 3);
    assert_eq!(scan.problems().len(), 1);
}

#[test]
fn files_that_keep_changing_do_not_affect_the_others() {
    let mut builder = TreeBuilder::new();
    for i in 0..5 {
        builder =
            builder.seeded(format!("stable {i}"), 1, 300_000).seeded(format!("{i}"), 1, 300_000);
    }
    let tree = builder.make_temp();
    let stable: BTreeSet<Vec<u8>> =
        (0..5).map(|i| tree.join(format!("stable {i}")).path_bytes().to_vec()).collect();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let _stop = SetOnDrop(&done);
        scope.spawn(|| {
            for i in (0_u64..5).cycle() {
                churn(&tree.join(i.to_string()));
                if done.load(Relaxed) {
                    return;
                }
            }
        });
        let mut reported = 0;
        for round in 0..60 {
            let setup = setup().open_files([2, 32][round % 2]).inline_reads(round % 3 == 0);
            let scan = setup.scan_once(&[&tree]);
            let together = scan.groups().into_iter().any(|group| group.is_superset(&stable));
            assert!(together, "{:?}", scan.problems());
            assert!(scan.problems().keys().all(|path| !stable.contains(path)));
            reported += scan.problems().len();
        }
        assert!(reported > 0, "no change was noticed");
    });
}

/// Stops the other thread when dropped, even on a panic.
pub(crate) struct SetOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Changes a file in several ways. In the end, there is a file with the same name and bytes.
fn churn(path: &Path) {
    let bytes = fs::read(path).expect("readable");
    let open = || OpenOptions::new().write(true).open(path).expect("writable");
    open().set_len(100).expect("cut off");
    open().write_all_at(&bytes, 0).expect("room");
    open().write_all_at(b"x", 299_999).expect("room");
    let aside = path.with_extension("aside");
    drop(fs::remove_file(&aside));
    File::create(&aside).and_then(|f| f.write_all_at(&bytes, 0)).expect("room");
    fs::rename(&aside, path).expect("same directory");
    fs::remove_file(path).expect("removable");
    fs::write(path, &bytes).expect("room");
}
