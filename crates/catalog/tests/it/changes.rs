//! A scan of noted changes leaves the same catalog as a scan of everything.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use testkit::{Dice, TempTree, TreeBuilder};
use walk::Changes;

use crate::disk::{bytes, let_the_clock_tick};
use crate::sandbox::{Sandbox, later};

/// A tree with a catalog that is updated by notes, and one that is updated by full scans.
struct Watched {
    tree: TempTree,
    by_notes: Sandbox,
    by_scans: Sandbox,
    notes: Changes,
    /// Returns the time at which a scan starts. A file that changed just before is read again by the next scan.
    started: fn() -> SystemTime,
}

impl Watched {
    fn new(tree: TempTree, started: fn() -> SystemTime) -> Watched {
        let (by_notes, by_scans) = (Sandbox::new(), Sandbox::new());
        by_notes.scan_at(&[tree.path()], started());
        by_scans.scan_at(&[tree.path()], started());
        Watched { tree, by_notes, by_scans, notes: Changes::default(), started }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.tree.join(path)
    }

    /// Notes a changed entry.
    fn note(&mut self, path: &str) {
        let path = self.at(path);
        self.notes.add_entry(&bytes(&path));
    }

    /// Notes a directory that is new at its path.
    fn note_tree(&mut self, path: &str) {
        let path = self.at(path);
        self.notes.add_tree(&bytes(&path));
    }

    /// Scans the notes and the whole tree, and compares the catalogs. Returns the number of files in the scan of
    /// the notes.
    fn check(&mut self) -> usize {
        let roots = [self.tree.path()];
        let notes = std::mem::take(&mut self.notes);
        let files = self.by_notes.scan_changes(&roots, notes, (self.started)());
        self.by_scans.scan_at(&roots, (self.started)());
        let (noted, scanned) = (facts(&self.by_notes), facts(&self.by_scans));
        assert!(noted == scanned, "by notes: {noted:#?}\nby a full scan: {scanned:#?}");
        files
    }
}

/// Returns what a catalog says about files, directories, identical files and problems.
fn facts(catalog: &Sandbox) -> Vec<String> {
    let queries = [
        "SELECT 'file ' || path || ' ' || file.size || ' ' || file.inode || ' ' || mtime_ns || ' ' || ctime_ns \
         || ' ' || file.state FROM files JOIN file ON file.inode = files.inode GROUP BY 1 ORDER BY 1",
        "SELECT 'dir ' || path FROM dir_path ORDER BY 1",
        "SELECT 'group of ' || inodes || ' inodes, ' || reclaimable || ' reclaimable: ' || paths FROM content \
         JOIN (SELECT \"group\", group_concat(path, ', ') AS paths FROM \
         (SELECT * FROM duplicates ORDER BY path) GROUP BY 1) AS d ON d.\"group\" = content.id ORDER BY paths",
        "SELECT 'problem ' || CAST(path AS TEXT) || ' ' || reason FROM problem ORDER BY 1",
    ];
    queries.iter().flat_map(|sql| catalog.query(sql)).collect()
}

fn pairs() -> Watched {
    let watched = Watched::new(small_tree(), later);
    let_the_clock_tick(watched.tree.path());
    watched
}

fn small_tree() -> TempTree {
    TreeBuilder::new()
        .file("a", "alike")
        .file("d/b", "alike")
        .file("d/sub/c", "other")
        .file("d/sub/e", "alike")
        .file("single", "alone with its size")
        .make_temp()
}

#[test]
fn without_changes_nothing_is_examined() {
    let mut watched = pairs();
    assert_eq!(watched.check(), 0);
}

#[test]
fn a_new_copy_joins_its_group() {
    let mut watched = pairs();
    fs::write(watched.at("d/new"), "alike").expect("written");
    watched.note("d/new");
    assert_eq!(watched.check(), 4, "the new file and its three copies, but not c");
}

#[test]
fn a_file_that_was_alone_with_its_size_is_compared() {
    let mut watched = pairs();
    fs::write(watched.at("d/sub/twin"), "alone with its size").expect("written");
    watched.note("d/sub/twin");
    assert_eq!(watched.check(), 2);
}

#[test]
fn a_removed_file_leaves_its_group() {
    let mut watched = pairs();
    fs::remove_file(watched.at("a")).expect("removed");
    watched.note("a");
    watched.check();
    fs::remove_file(watched.at("d/b")).expect("removed");
    watched.note("d/b");
    watched.check();
}

#[test]
fn a_changed_file_changes_its_group() {
    let mut watched = pairs();
    fs::write(watched.at("a"), "other").expect("written");
    watched.note("a");
    watched.check();
}

#[test]
fn other_names_of_a_changed_inode_are_found() {
    let mut watched = pairs();
    fs::hard_link(watched.at("a"), watched.at("d/sub/name")).expect("linked");
    watched.note("d/sub/name");
    watched.check();
    fs::write(watched.at("d/sub/name"), "changed").expect("written");
    watched.note("d/sub/name");
    watched.check();
    fs::remove_file(watched.at("a")).expect("removed");
    watched.note("a");
    watched.check();
}

#[test]
fn a_moved_directory_is_found_at_its_new_path() {
    let mut watched = pairs();
    fs::rename(watched.at("d"), watched.at("moved")).expect("renamed");
    watched.note("d");
    watched.note_tree("moved");
    watched.check();
}

#[test]
fn a_directory_can_take_the_place_of_a_file_and_of_another_directory() {
    let mut watched = pairs();
    fs::remove_file(watched.at("a")).expect("removed");
    fs::rename(watched.at("d/sub"), watched.at("a")).expect("renamed");
    fs::create_dir(watched.at("d/sub")).expect("made");
    watched.note_tree("a");
    watched.note_tree("d/sub");
    watched.check();
    fs::remove_dir(watched.at("d/sub")).expect("removed");
    fs::write(watched.at("d/sub"), "alike").expect("written");
    watched.note("d/sub");
    watched.check();
}

#[test]
fn a_listed_directory_loses_what_is_not_in_it() {
    let mut watched = pairs();
    fs::remove_dir_all(watched.at("d/sub")).expect("removed");
    fs::remove_file(watched.at("d/b")).expect("removed");
    fs::write(watched.at("d/new"), "other").expect("written");
    let listed = watched.at("d");
    watched.notes.add_listing(&bytes(&listed));
    watched.check();
}

#[test]
fn a_group_with_many_copies_is_not_read_as_a_whole() {
    let many = (0..100).fold(TreeBuilder::new(), |tree, n| tree.file(format!("many/{n}"), "alike"));
    let mut watched = Watched::new(many.make_temp(), later);
    let_the_clock_tick(watched.tree.path());
    fs::write(watched.at("new"), "alike").expect("written");
    fs::hard_link(watched.at("many/1"), watched.at("linked")).expect("linked");
    fs::remove_file(watched.at("many/2")).expect("removed");
    fs::write(watched.at("many/3"), "other").expect("written");
    ["new", "linked", "many/2", "many/3"].iter().for_each(|path| watched.note(path));
    assert_eq!(watched.check(), 12, "four examined names, and eight of the copies");
}

/// Random operations, with the notes that a kernel reports for them.
struct Operations {
    dice: Dice,
    number: u64,
}

impl Operations {
    fn name(&mut self) -> String {
        format!("n{}", self.dice.below(12))
    }

    /// Returns a random directory of the tree, relative to its top; empty for the top.
    fn dir(&mut self, top: &Path) -> String {
        let mut at = String::new();
        while self.dice.below(3) > 0 {
            let here = top.join(&at);
            let is_dir = |name: &String| here.join(name).is_dir() && !here.join(name).is_symlink();
            let below: Vec<String> = names(&here).into_iter().filter(is_dir).collect();
            let Some(name) = self.dice.pick(&below) else { break };
            at = join(&at, name);
        }
        at
    }

    /// Returns a random existing entry.
    fn entry(&mut self, top: &Path) -> Option<String> {
        let dir = self.dir(top);
        let names = names(&top.join(&dir));
        self.dice.pick(&names).map(|name| join(&dir, name))
    }

    fn content(&mut self) -> String {
        let sizes = [1, 5, 5, 5, 9, 4096];
        let size = *self.dice.pick(&sizes).expect("some");
        ["a", "b"][usize::try_from(self.dice.below(2)).expect("small")].repeat(size)
    }

    /// Changes the tree in a random way.
    fn step(&mut self, watched: &mut Watched) {
        self.number += 1;
        let top = watched.tree.path().to_path_buf();
        let new = join(&self.dir(&top), &self.name());
        let Some(old) = self.entry(&top) else { return };
        let (from, to) = (top.join(&old), top.join(&new));
        let is_free = fs::symlink_metadata(&to).is_err();
        let is_file = fs::symlink_metadata(&from).is_ok_and(|found| found.is_file());
        match self.dice.below(12) {
            0..=2 if is_free || to.is_file() && !to.is_symlink() => {
                fs::write(&to, self.content()).expect("written");
                watched.note(&new);
            }
            3 if is_file => {
                let mut file = fs::File::options().append(true).open(&from).expect("opens");
                file.write_all(b"a").expect("written");
                watched.note(&old);
            }
            4 if is_file && is_free => {
                fs::hard_link(&from, &to).expect("linked");
                watched.note(&new);
            }
            5 | 6 if fs::rename(&from, &to).is_ok() => {
                watched.note(&old);
                if to.is_dir() { watched.note_tree(&new) } else { watched.note(&new) }
            }
            7 if is_free => {
                fs::create_dir(&to).expect("made");
                watched.note_tree(&new);
            }
            8 if !is_file => {
                let removed = fs::remove_dir_all(&from).or_else(|_| fs::remove_file(&from));
                removed.expect("removed");
                watched.note(&old);
            }
            9 if is_file => {
                fs::remove_file(&from).expect("removed");
                watched.note(&old);
            }
            10 if is_free => {
                symlink("n1", &to).expect("linked");
                watched.note(&new);
            }
            11 if is_file => {
                let times = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(self.number);
                let file = fs::File::options().append(true).open(&from).expect("opens");
                file.set_modified(times).expect("set");
                watched.note(&old);
            }
            _ => {}
        }
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("read").file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).into_string().expect("text")).collect();
    names.sort();
    names
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_string() } else { format!("{dir}/{name}") }
}

#[test]
fn random_changes_leave_the_same_catalog() {
    for seed in 0..12 {
        let mut operations = Operations { dice: Dice::new(seed), number: 0 };
        let mut watched = Watched::new(small_tree(), SystemTime::now);
        for _ in 0..25 {
            for _ in 0..operations.dice.below(12) {
                operations.step(&mut watched);
            }
            watched.check();
        }
    }
}
