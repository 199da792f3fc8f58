//! Confirmations on a terminal before many files are removed permanently, and the case that the user declines.

use std::fs;

use testkit::{FileSystem, Mount, Shown, TreeBuilder, skipped};

use crate::lop::Lop;

/// Returns a tree with the given number of files below one directory.
fn files(tree: TreeBuilder, dir: &str, number: usize) -> TreeBuilder {
    (0..number).fold(tree, |tree, n| tree.file(format!("{dir}/{}/{n}", n % 7), "x"))
}

#[track_caller]
fn talk(lop: &Lop, args: &[&str], dialogue: &[(&str, &str)], code: i32) -> Shown {
    let shown = lop.command().args(args).talk(80, dialogue);
    assert_eq!(shown.code, Some(code), "{args:?}:\n{}", shown.text);
    shown
}

#[test]
fn purge_asks_before_it_removes_much() {
    let lop = Lop::with(&files(TreeBuilder::new(), "much", 1000).file("little/a", "a"));
    let shown = talk(&lop, &["purge", "little"], &[], 0);
    assert!(!shown.text.contains("[y/N]"), "{}", shown.text);
    for answer in ["n\n", "\n", "\u{4}", "yess\n"] {
        let shown = talk(&lop, &["purge", "much"], &[("[y/N] ", answer)], 4);
        assert!(shown.text.contains("1,008 entries would be removed:\n  much\n"), "{}", shown.text);
        assert!(shown.text.contains("nothing was removed"), "{}", shown.text);
    }
    assert!(lop.path("much/0/0").exists());
    talk(&lop, &["purge", "much"], &[("[y/N] ", "y\n")], 0);
    assert!(!lop.path("much").exists());
}

#[test]
fn purge_asks_if_a_pattern_matched_nothing() {
    let lop = Lop::with(&TreeBuilder::new().file("dir/keep", "k").file("dir/b", "b"));
    let args = ["purge", "--exclude", "kept", "dir"];
    let shown = talk(&lop, &args, &[("[y/N] ", "n\n")], 4);
    assert!(shown.text.contains("--exclude kept matched nothing; 3 entries"), "{}", shown.text);
    assert!(lop.path("dir/keep").exists());
    talk(&lop, &["purge", "--yes", "--exclude", "kept", "dir"], &[], 0);
}

#[test]
fn mirror_asks_before_it_removes_more_than_there_is() {
    let tree = files(TreeBuilder::new().file("src/a", "a").file("src/d/b", "b"), "dst", 20);
    let lop = Lop::with(&tree);
    let args = ["mirror", "--delete", "src", "dst"];
    let shown = talk(&lop, &args, &[("[y/N] ", "n\n")], 3);
    let said = "27 entries of dst that SRC does not have would be removed (SRC has 3 entries):\n  ";
    assert!(shown.text.contains(said), "{}", shown.text);
    assert!(shown.text.contains("  … and 2 more\n"), "{}", shown.text);
    assert!(shown.text.contains("kept 7 extraneous entries: the answer"));
    assert!(lop.path("dst/a").exists() && lop.path("dst/0/0").exists());
    talk(&lop, &args, &[("[y/N] ", "y\n")], 0);
    assert!(lop.path("dst/a").exists() && !lop.path("dst/0").exists());
    // There are fewer entries to remove than entries in the source.
    fs::write(lop.path("dst/more"), "m").expect("written");
    let shown = talk(&lop, &args, &[], 0);
    assert!(!shown.text.contains("[y/N]") && !lop.path("dst/more").exists());
}

/// A source that was named by mistake may have more entries than the destination.
#[test]
fn mirror_asks_before_it_removes_half_of_the_destination() {
    let args = ["mirror", "--delete", "src", "dst"];
    for (answer, code) in [("n\n", 3), ("y\n", 0)] {
        let tree = files(files(TreeBuilder::new(), "src", 50), "dst/old", 20);
        let lop = Lop::with(&tree.file("src/same", "s").file("dst/same", "s"));
        let shown = talk(&lop, &args, &[("[y/N] ", answer)], code);
        assert!(
            shown.text.contains("entries of dst that SRC does not have would be removed"),
            "{}",
            shown.text
        );
        assert_eq!(lop.path("dst/old").exists(), code != 0);
        // There are fewer entries to remove than entries that stay.
        lop.lay(&files(TreeBuilder::new(), "dst/more", 12));
        let shown = talk(&lop, &args, &[], 0);
        assert!(!shown.text.contains("[y/N]") && !lop.path("dst/more").exists());
    }
}

#[test]
fn neither_a_script_nor_a_user_with_yes_gets_a_question() {
    let lop = Lop::with(&files(TreeBuilder::new().file("src/a", "a"), "dst", 20));
    lop.run(["mirror", "src", "two"]).success();
    lop.lay(&files(TreeBuilder::new(), "two", 20));
    let shown = talk(&lop, &["mirror", "--delete", "--yes", "src", "dst"], &[], 0);
    assert!(!shown.text.contains("[y/N]") && !lop.path("dst/0").exists());
    lop.run(["mirror", "--delete", "src", "two"]).success();
    assert!(!lop.path("two/0").exists());
}

#[test]
fn an_empty_source_empties_nothing() {
    let lop = Lop::with(&TreeBuilder::new().dir("empty").file("dst/a", "a").file("dst/d/b", "b"));
    for dry in [&["-n"][..], &[]] {
        let output = lop.command().args(["mirror", "--delete", "empty", "dst"]).args(dry).run();
        output.code(4);
        let said = output.stderr_str();
        assert!(said.contains("empty is empty (is its disk mounted?), and --delete"), "{said}");
        assert!(said.contains("nothing was changed\nhint: to empty DST anyway"), "{said}");
    }
    assert!(lop.path("dst/d/b").exists());
    // Without --delete, an empty source does no harm.
    lop.run(["mirror", "empty", "dst"]).success();
    lop.run(["mirror", "--delete", "--allow-empty-source", "empty", "dst"]).success();
    assert_eq!(fs::read_dir(lop.path("dst")).expect("there").count(), 0);
}

/// A new file system contains only `lost+found`, and an empty directory tree contains no files.
#[test]
fn a_source_that_has_only_directories_empties_nothing() {
    let tree = TreeBuilder::new().dir("new/lost+found").dir("new/a/b/c").dir("new/a/d");
    let lop = Lop::with(&tree.file("dst/a/file", "a").file("dst/d/b", "b"));
    for dry in [&["-n"][..], &[]] {
        let output = lop.command().args(["mirror", "--delete", "new", "dst"]).args(dry).run();
        output.code(4);
        let said = output.stderr_str();
        let expected = "new has no files, only directories (is its disk mounted?), and --delete";
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("nothing was changed\nhint: to empty DST anyway"), "{said}");
    }
    assert!(lop.path("dst/a/file").exists() && lop.path("dst/d/b").exists());
    lop.run(["mirror", "--delete", "--allow-empty-source", "new", "dst"]).success();
    assert!(lop.path("dst/a/b/c").exists());
    assert!(!lop.path("dst/a/file").exists() && !lop.path("dst/d").exists());
    // An entry at any depth that is not a directory makes the source non-empty.
    lop.lay(&TreeBuilder::new().symlink("new/a/b/c/link", "nowhere").file("dst/more", "m"));
    lop.run(["mirror", "--delete", "new", "dst"]).success();
    assert!(!lop.path("dst/more").exists());
}

/// A source counts as empty if the patterns select only directories.
#[test]
fn a_source_of_which_only_directories_are_mirrored_empties_nothing() {
    let tree = TreeBuilder::new().file("src/d/text", "t").file("dst/d/old.jpg", "j");
    let lop = Lop::with(&tree);
    let args = ["mirror", "--delete", "--include", "*.jpg", "src", "dst"];
    let output = lop.run(args);
    output.code(4);
    let said = output.stderr_str();
    let expected = "kept 1 extraneous entry: the source has nothing to mirror, or only directories";
    assert!(said.contains(expected), "{said}");
    assert!(lop.path("dst/d/old.jpg").exists());
    lop.command().args(args).arg("--allow-empty-source").run().success();
    assert!(!lop.path("dst/d/old.jpg").exists());
}

#[test]
fn a_source_of_which_nothing_is_mirrored_empties_nothing() {
    let lop = Lop::with(&TreeBuilder::new().file("src/cache/c", "c").file("dst/a", "a"));
    let args = ["mirror", "--delete", "--exclude", "cache/", "src", "dst"];
    let output = lop.run(args);
    output.code(4);
    let said = output.stderr_str();
    assert!(
        said.contains(
            "kept 1 extraneous entry: the source has nothing to mirror, or only directories"
        ),
        "{said}"
    );
    assert!(lop.path("dst/a").exists());
    lop.command().args(args).arg("--allow-empty-source").run().success();
    assert!(!lop.path("dst/a").exists());
}

#[test]
fn the_mount_point_of_a_missing_disk_is_an_empty_source() {
    let lop = Lop::with(&TreeBuilder::new().dir("usb"));
    let mount = match Mount::new(FileSystem::Tmpfs, 1 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    TreeBuilder::new().file("photo", "p").make(&mount);
    let bound = match Mount::bind(mount.path(), lop.path("usb")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(reason),
    };
    lop.run(["mirror", "--delete", "usb", "backup"]).success();
    drop(bound);
    lop.run(["mirror", "--delete", "usb", "backup"]).code(4);
    assert!(lop.path("backup/photo").exists());
}
