//! Queries for files and directories.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use catalog::{Entry, FileMatch, Rows};
use content::Digest;
use testkit::{TempTree, TreeBuilder};

use crate::disk::{bytes, ids, let_the_clock_tick, stat, walked};
use crate::sandbox::Sandbox;

fn tree() -> TempTree {
    TreeBuilder::new()
        .hard_links("alike", &["a", "d/link"])
        .file("d/sub/copy", "alike")
        .file("d/sub/unlike", "Alike")
        .file("single", "no other has this size")
        .file(b"d/\xff\n", "another size")
        .make_temp()
}

/// The names of the files in [`tree`] with the content of "a".
const SAME: [&str; 3] = ["a", "d/link", "d/sub/copy"];

fn scanned() -> (Sandbox, TempTree) {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    (sandbox, tree)
}

fn paths(entries: Vec<Entry>) -> Vec<Vec<u8>> {
    entries.into_iter().map(|entry| entry.path).collect()
}

#[test]
fn a_file_is_found_by_its_directory_and_name() {
    let (sandbox, tree) = scanned();
    let copy = sandbox.entry(&tree.join("d/sub/copy")).expect("exists");
    assert_eq!((copy.name(), &copy.path), (&b"copy"[..], &bytes(&tree.join("d/sub/copy"))));
    assert_eq!((copy.size, copy.copies, copy.digest), (5, 2, Some(Digest::of(b"alike"))));
}

#[test]
fn a_file_without_a_comparison_has_no_content() {
    let (sandbox, tree) = scanned();
    let single = sandbox.entry(&tree.join("single")).expect("exists");
    assert_eq!((single.content, single.copies, single.digest), (None, 1, None));
}

#[test]
fn names_are_bytes() {
    let (sandbox, tree) = scanned();
    let odd = sandbox.entry(&tree.join(b"d/\xff\n")).expect("exists");
    assert_eq!(odd.path, bytes(&tree.join(b"d/\xff\n")));
}

#[test]
fn unknown_paths_are_not_found() {
    let (sandbox, tree) = scanned();
    let catalog = sandbox.catalog();
    for (dir, name) in
        [("", "A"), ("", "d"), ("nowhere", "a"), ("a", "a"), ("d/sub", ""), ("d", "a")]
    {
        let found = catalog.file(&bytes(&tree.join(dir)), name.as_bytes()).expect("query succeeds");
        assert!(found.is_none(), "{dir} {name}");
    }
}

#[test]
fn an_entry_matches_its_file_until_anything_changes() {
    let (sandbox, tree) = scanned();
    let entry = sandbox.entry(&tree.join("a")).expect("exists");
    assert!(entry.is_unchanged(&stat(&tree.join("a"))));
    let_the_clock_tick(&tree.join("a"));
    fs::remove_file(tree.join("d/link")).expect("removed");
    assert!(!entry.is_unchanged(&stat(&tree.join("a"))), "the ctime differs");
}

#[test]
fn an_entry_does_not_match_another_kind_of_file() {
    let (sandbox, tree) = scanned();
    let entry = sandbox.entry(&tree.join("a")).expect("exists");
    let file = stat(&tree.join("a"));
    assert!(!entry.is_unchanged(&fsops::Stat { kind: fsops::Kind::Symlink, ..file }));
}

#[test]
fn files_of_a_directory_are_sorted_by_name() {
    let (sandbox, tree) = scanned();
    let catalog = sandbox.catalog();
    let files = |dir: &Path| catalog.files_in(&bytes(dir)).expect("query succeeds").map(paths);
    let expected = vec![bytes(&tree.join("d/link")), bytes(&tree.join(b"d/\xff\n"))];
    assert_eq!(files(&tree.join("d")), Some(expected));
    assert_eq!(
        files(Path::new("/")),
        Some(Vec::new()),
        "the root directory is stored, without files"
    );
    assert_eq!(files(&tree.join("nowhere")), None);
}

#[test]
fn subdirectories_of_a_directory_are_listed() {
    let (sandbox, tree) = scanned();
    let catalog = sandbox.catalog();
    let dirs = |dir: &str| catalog.dirs_in(&bytes(&tree.join(dir))).expect("query succeeds");
    assert_eq!(dirs("d"), [b"sub"]);
    assert!(dirs("d/sub").is_empty() && dirs("nowhere").is_empty());
}

/// The order of the paths differs from the order of the scans and from that of the directory rows.
#[test]
fn files_with_a_content_are_sorted_by_path() {
    let tree = TreeBuilder::new().file("z/1", "alike").file("b/2", "alike").make_temp();
    let sandbox = Sandbox::new();
    for dir in ["z", "b"] {
        sandbox.scan(&[&tree.join(dir)]);
    }
    let file = sandbox.entry(&tree.join("z/1")).expect("exists");
    let same =
        sandbox.catalog().files_with(file.content.expect("compared")).expect("query succeeds");
    assert_eq!(paths(same), ["b/2", "z/1"].map(|name| bytes(&tree.join(name))));
}

#[test]
fn names_of_an_inode_are_listed() {
    let (sandbox, tree) = scanned();
    let a = sandbox.entry(&tree.join("a")).expect("exists");
    let names = |inodes: &[(i64, u64)]| {
        let inodes: HashSet<(i64, u64)> = inodes.iter().copied().collect();
        let mut names = paths(sandbox.catalog().names_of(&inodes).expect("query succeeds"));
        names.sort();
        names
    };
    let expected = ["a", "d/link"].map(|name| bytes(&tree.join(name)));
    assert_eq!(names(&[(a.volume, a.inode)]), expected);
    assert!(names(&[(a.volume + 1, a.inode)]).is_empty(), "an inode of another file system");
    assert!(names(&[]).is_empty());
}

#[test]
fn only_unchanged_files_are_known() {
    let (sandbox, tree) = scanned();
    let_the_clock_tick(&tree.join("d/sub/unlike"));
    fs::write(tree.join("d/sub/unlike"), "aLike").expect("written");
    fs::write(tree.join("new"), "new").expect("written");
    let now = walked(&[tree.path()]);
    let known = sandbox.catalog().match_files(&now).expect("query succeeds");
    assert_eq!(known.len(), 7);
    for (id, known) in ids(&now).zip(known) {
        let name = now.name(id).to_bytes();
        assert_eq!(known == FileMatch::Changed, name == b"unlike", "{name:?}");
        assert_eq!(known == FileMatch::Missing, name == b"new", "{name:?}");
        if let Some(known) = known.known() {
            assert_eq!(known.inode, now.file(id).inode);
            let compared = [&b"a"[..], b"link", b"copy"].contains(&name);
            assert_eq!(known.content.is_some(), compared, "{name:?}");
        }
    }
}

#[test]
fn all_files_are_loaded_with_their_fingerprints() {
    let (sandbox, tree) = scanned();
    let all = sandbox.catalog().load(Rows::All).expect("loads");
    assert_eq!(all.tree.files().len(), 6);
    for id in ids(&all.tree) {
        let path = all.tree.path(id);
        assert!(all.tree.is_remembered(id));
        let compared = all.tree.file(id).size == 5;
        assert_eq!(all.fingerprints.head(id.0).is_some(), compared, "{path:?}");
        let content = all.fingerprints.content(id.0).map(|content| all.content(content));
        let alike = SAME.iter().any(|name| path == bytes(&tree.join(*name)));
        assert_eq!(content == Some((Some(Digest::of(b"alike")), 1000)), alike, "{path:?}");
    }
}

#[test]
fn files_of_a_directory_are_loaded_in_name_order() {
    let tree = TreeBuilder::new().file("c", "3").file("a", "1").file("b", "2").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    let loaded = sandbox.catalog().load(Rows::All).expect("loads").tree;
    let names: Vec<&[u8]> = ids(&loaded).map(|id| loaded.name(id).to_bytes()).collect();
    assert_eq!(names, [b"a", b"b", b"c"]);
}

#[test]
fn files_with_copies_can_be_loaded_on_their_own() {
    let (sandbox, tree) = scanned();
    let grouped = sandbox.catalog().load(Rows::Grouped).expect("loads");
    let mut loaded: Vec<Vec<u8>> = ids(&grouped.tree).map(|id| grouped.tree.path(id)).collect();
    loaded.sort();
    assert_eq!(loaded, SAME.map(|name| bytes(&tree.join(name))));
}

#[test]
fn loaded_files_match_the_live_files_until_they_change() {
    let (sandbox, tree) = scanned();
    let_the_clock_tick(&tree.join("d/sub/copy"));
    fs::write(tree.join("d/sub/copy"), "aLike").expect("written");
    let loaded = sandbox.catalog().load(Rows::Grouped).expect("loads").tree;
    for id in ids(&loaded) {
        let path = String::from_utf8(loaded.path(id)).expect("UTF-8");
        let unchanged = loaded.unchanged(id, &stat(Path::new(&path)));
        assert_eq!(unchanged, !path.ends_with("copy"), "{path}");
    }
}

#[test]
fn the_groups_with_the_most_reclaimable_bytes_come_first() {
    let tree = TreeBuilder::new()
        .seeded("small/1", 1, 5_000)
        .seeded("small/2", 1, 5_000)
        .seeded("large/1", 2, 70_000)
        .seeded("large/2", 2, 70_000)
        .hard_links("alike", &["many/1", "many/link"])
        .file("many/2", "alike")
        .file("many/3", "alike")
        .file("alone", "no copy")
        .make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    sandbox.run("UPDATE content SET reclaimable = size * (inodes - 1)");
    let groups = sandbox.catalog().top_groups(9, 9).expect("query succeeds");
    let facts: Vec<_> =
        groups.iter().map(|group| (group.size, group.inodes, group.names)).collect();
    assert_eq!(facts, [(70_000, 2, 2), (5_000, 2, 2), (5, 3, 4)]);
    let mut paths = groups[2].paths.clone();
    paths.sort();
    assert_eq!(
        paths,
        ["many/1", "many/2", "many/3", "many/link"].map(|name| bytes(&tree.join(name)))
    );
    let first = sandbox.catalog().top_groups(1, 1).expect("query succeeds");
    assert_eq!((first.len(), first[0].number, first[0].paths.len()), (1, groups[0].number, 1));
}
