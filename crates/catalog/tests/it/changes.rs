//! A scan of noted changes leaves the same catalog as a scan of everything.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use testkit::{CATALOG_FACTS, ChangedEntry, RandomChanges, TempTree, TreeBuilder};
use walk::Changes;

use crate::disk::{bytes, let_the_clock_tick, walked_changes};
use crate::sandbox::{Sandbox, later};

/// A tree with two catalogs that are updated by notes, and one that is updated by full scans.
struct Watched {
    tree: TempTree,
    by_notes: Sandbox,
    /// Its scans save their results before the end.
    by_saved_notes: Sandbox,
    by_scans: Sandbox,
    notes: Changes,
    /// Returns the time at which a scan starts. A file that changed just before is read again by the next scan.
    started: fn() -> SystemTime,
}

impl Watched {
    fn new(tree: TempTree, started: fn() -> SystemTime) -> Watched {
        let [by_notes, by_saved_notes, by_scans] = [(); 3].map(|()| {
            let catalog = Sandbox::new();
            catalog.scan_at(&[tree.path()], started());
            catalog
        });
        Watched { tree, by_notes, by_saved_notes, by_scans, notes: Changes::default(), started }
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
        let files = self.by_notes.scan_changes(&roots, notes.clone(), (self.started)(), false);
        self.by_saved_notes.scan_changes(&roots, notes, (self.started)(), true);
        self.by_scans.scan_at(&roots, (self.started)());
        let by_scans = facts(&self.by_scans);
        for catalog in [&self.by_notes, &self.by_saved_notes] {
            let by_notes = facts(catalog);
            assert!(by_notes == by_scans, "by notes: {by_notes:#?}\nby a full scan: {by_scans:#?}");
        }
        files
    }
}

/// Returns what a catalog says about files, directories, identical files and problems.
fn facts(catalog: &Sandbox) -> Vec<String> {
    CATALOG_FACTS.iter().flat_map(|sql| catalog.query(sql)).collect()
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
fn all_copies_of_a_content_can_be_replaced_by_new_files() {
    let mut watched = pairs();
    for (old, new) in [("a", "new"), ("d/b", "d/new"), ("d/sub/e", "d/sub/new")] {
        fs::copy(watched.at(old), watched.at(new)).expect("copied");
        fs::remove_file(watched.at(old)).expect("removed");
        watched.note(old);
        watched.note(new);
    }
    watched.check();
}

#[test]
fn a_damaged_file_in_a_moved_directory_is_read_again_once() {
    let watched = pairs();
    let catalog = &watched.by_notes;
    catalog.run("UPDATE file SET state = 2 WHERE name = CAST('b' AS BLOB)");
    fs::rename(watched.at("d"), watched.at("moved")).expect("renamed");
    let mut notes = Changes::default();
    notes.add_entry(&bytes(&watched.at("d")));
    notes.add_tree(&bytes(&watched.at("moved")));
    let mut tree = walked_changes(&[watched.tree.path()], Some(notes));
    let catalog = catalog.catalog();
    let found = catalog.match_changes(&tree).expect("matches");
    let matched = found.add_candidates(&catalog, &mut tree).expect("adds");
    let suspects: Vec<_> =
        matched.suspects().iter().map(|suspect| tree.name(suspect.file).to_bytes()).collect();
    assert_eq!(suspects, [b"b"]);
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
    for path in ["new", "linked", "many/2", "many/3"] {
        watched.note(path);
    }
    assert_eq!(watched.check(), 12, "four examined names, and eight of the copies");
}

/// The catalog does not list more than 10,000 entries, so it cannot know which of them are below a root.
/// The first copies in the catalog are on a disk that is not mounted.
#[test]
fn copies_on_an_offline_disk_do_not_hide_the_others() {
    let many =
        |tree: TreeBuilder, n| tree.file(format!("a/{n}"), "alike").file(format!("b/{n}"), "alike");
    let tree = (0..20).fold(TreeBuilder::new(), many).make_temp();
    let (catalog, a, b) = (Sandbox::new(), tree.join("a"), tree.join("b"));
    catalog.scan(&[&a]);
    catalog.scan(&[&b]);
    fs::remove_dir_all(a).expect("removed");
    catalog.run(
        "INSERT INTO volume (id, magic, fsid, device) VALUES (99, 99, 99, 99);
        UPDATE file SET volume = 99 WHERE dir = (SELECT id FROM dir WHERE name = CAST('a' AS BLOB))",
    );
    let_the_clock_tick(&b);
    fs::write(b.join("new"), "alike").expect("written");
    let mut notes = Changes::default();
    notes.add_entry(&bytes(&b.join("new")));
    catalog.scan_changes(&[&b], notes, later(), false);
    assert_eq!(catalog.query("SELECT count(*) FROM file WHERE content IS NULL"), ["0"]);
    assert_eq!(catalog.query("SELECT count(DISTINCT content) FROM file"), ["1"]);
}

#[test]
fn many_copies_of_a_new_content_are_counted_once() {
    let mut watched = pairs();
    for number in 0..20 {
        let name = format!("d/new {number}");
        fs::write(watched.at(&name), "a new content").expect("written");
        watched.note(&name);
    }
    watched.check();
}

#[test]
fn many_unsettled_files_elsewhere_lead_to_a_full_scan() {
    let watched = pairs();
    let catalog = &watched.by_notes;
    catalog.writer().index_for_changes().expect("indexed");
    let root = bytes(watched.tree.path());
    let unsettled = || catalog.catalog().unsettled(&[&root]).expect("query succeeds");
    assert_eq!(unsettled(), Some(Vec::new()));
    catalog.run(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10001) \
         INSERT INTO problem (scan, path, reason) SELECT 1, CAST('/elsewhere/' || i AS BLOB), '' FROM n",
    );
    assert_eq!(unsettled(), None);
}

#[test]
fn random_changes_leave_the_same_catalog() {
    for seed in 0..12 {
        let mut watched = Watched::new(small_tree(), SystemTime::now);
        let mut changes = RandomChanges::new(seed, &[watched.tree.path().to_path_buf()]);
        for _ in 0..25 {
            for _ in 0..changes.below(12) {
                for ChangedEntry { path, is_new_dir } in changes.step() {
                    let path = bytes(&path);
                    let notes = &mut watched.notes;
                    if is_new_dir { notes.add_tree(&path) } else { notes.add_entry(&path) }
                }
            }
            watched.check();
        }
    }
}
