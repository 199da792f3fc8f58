//! lop keeps one of several identical files and does not touch protected files, even if the options
//! ask for more.

use testkit::{Snapshot, TreeBuilder, assert_contents_kept, assert_same};

use super::{CHANGING, KINDS, apply, back, bound, done, scanned, undo};
use crate::lop::{Lop, settle};

fn spread() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("a/1", 1, 5000)
        .seeded("b/2", 1, 5000)
        .seeded("b/c/3", 1, 5000)
        .hard_links(testkit::Content::Seeded { seed: 2, len: 7000 }, &["a/l1", "b/l2", "b/c/l3"])
        .seeded("b/c/l4", 2, 7000)
        .file("a/alone", "single")
        .mtime("b/2", 1_000_000_000, 0)
}

// Ways 8 and 13.
#[test]
fn no_combination_of_rules_selects_every_copy() {
    let rules: [&[&str]; 8] = [
        &["--all", "--keep", "path:/nowhere/**"],
        &["--all", "--keep", "newest", "--keep", "oldest"],
        &["--all", "--keep", "path:**"],
        &["--keep", "deepest", "a", "b", "."],
        &["a", "b"],
        &["b", "--keep", "path:**/b/**"],
        &["--keep", "first-root", "b/c", "b", "a"],
        &["--all", "--min-size", "0", "--keep", "shortest-path"],
    ];
    for by in CHANGING {
        let lop = scanned(&spread());
        for args in rules {
            let before = Snapshot::of(lop.work());
            apply(&lop, by, args).success();
            let after = Snapshot::of(lop.work());
            assert_contents_kept(&before, &[&after]);
            undo(&lop);
            assert_same(&before, &Snapshot::of(lop.work()), back());
            settle();
            lop.remember(["."]);
        }
    }
}

// Way 8.
#[test]
fn files_protected_everywhere_are_not_touched() {
    for by in CHANGING {
        let lop = scanned(&spread());
        let before = Snapshot::of(lop.work());
        let output = apply(&lop, by, ["--all", "--protect", "a", "--protect", "b"]);
        output.success();
        assert_eq!(done(&output), 0, "{by}");
        assert_same(&before, &Snapshot::of(lop.work()), testkit::Compare::ALL);
    }
}

#[test]
fn a_file_with_a_protected_name_keeps_all_its_names() {
    for by in CHANGING {
        let lop = scanned(&spread());
        let before = Snapshot::of(lop.work());
        apply(&lop, by, ["--all", "--protect", "a", "--keep", "path:**/b/c/**"]).success();
        let after = Snapshot::of(lop.work());
        for name in ["a/1", "a/l1", "b/l2", "b/c/l3", "a/alone"] {
            assert_eq!(before.get(name).map(|e| &e.sha256), after.get(name).map(|e| &e.sha256));
        }
        assert!(after.get("b/2").is_none_or(|e| e.sha256.is_none() || by == "hardlink"), "{by}");
        undo(&lop);
        assert_same(&before, &Snapshot::of(lop.work()), back());
    }
}

/// Acts on duplicates while protecting `protect`, which is another path to `a` or to a parent of `a`.
#[track_caller]
fn assert_protects_a(lop: &Lop, protect: &str, by: &str) {
    lop.remember(["a", "b"]);
    let before = Snapshot::of(lop.path("a"));
    apply(lop, by, ["--all", "--keep", "path:**/b/**", "--protect", protect]).success();
    assert_same(&before, &Snapshot::of(lop.path("a")), testkit::Compare::ALL);
}

#[test]
fn a_directory_is_protected_by_any_path() {
    for by in CHANGING {
        let lop = Lop::with(&spread().symlink("link", "a").symlink("round", "b/../a"));
        for protect in ["a", "./a/", "b/../a", "link", "round/.", "link/../a"] {
            assert_protects_a(&lop, protect, by);
        }
    }
}

#[test]
fn a_directory_is_protected_through_a_bind_mount() {
    for by in CHANGING {
        let lop = Lop::with(&spread().dir("again"));
        let Some(_mount) = bound(lop.path("a"), lop.path("again")) else { return };
        assert_protects_a(&lop, "again", by);
    }
}

#[test]
fn a_directory_is_protected_through_a_bind_mount_of_what_is_above_it() {
    for by in CHANGING {
        let lop = Lop::with(&spread().dir("again").seeded("above/a/1", 1, 5000));
        let Some(_mount) = bound(lop.path("above"), lop.path("again")) else { return };
        lop.remember(["above/a", "b"]);
        let before = Snapshot::of(lop.path("above"));
        apply(&lop, by, ["--all", "--keep", "path:**/b/**", "--protect", "again"]).success();
        assert_same(&before, &Snapshot::of(lop.path("above")), testkit::Compare::ALL);
    }
}

#[test]
fn a_bind_mount_of_a_part_is_protected_with_the_whole() {
    for by in CHANGING {
        let lop = Lop::with(&spread().dir("again").seeded("whole/x/part/1", 1, 5000));
        let Some(_mount) = bound(lop.path("whole/x/part"), lop.path("again")) else { return };
        lop.remember(["again", "b"]);
        let before = Snapshot::of(lop.path("whole"));
        // The kernel refuses hard links from one mount to another.
        let code = if by == "hardlink" { 3 } else { 0 };
        apply(&lop, by, ["--all", "--keep", "path:**/b/**", "--protect", "whole"]).code(code);
        assert_same(&before, &Snapshot::of(lop.path("whole")), testkit::Compare::ALL);
    }
}

// Way 12.
#[test]
fn an_equal_name_and_size_are_not_enough() {
    let mut tree = TreeBuilder::new();
    for dir in 0..20u8 {
        for (name, len, at) in
            [("IMG_0001.JPG", 70_000, 69_999), ("small", 10, 0), ("mid", 5000, 2500)]
        {
            tree = tree.differing(format!("{dir}/{name}"), 1, len, at, dir);
            tree = tree.mtime(format!("{dir}/{name}"), 1_500_000_000, 0);
        }
    }
    for by in KINDS {
        let lop = scanned(&tree);
        let before = Snapshot::of(lop.work());
        let output = apply(&lop, by, ["--all"]);
        output.success();
        assert_eq!(done(&output), 0, "{by}");
        assert_same(&before, &Snapshot::of(lop.work()), testkit::Compare::ALL);
    }
}

// Way 4.
#[test]
fn a_directory_with_one_different_file_keeps_it() {
    for by in CHANGING {
        let lop = scanned(
            &TreeBuilder::new()
                .seeded("one/a", 1, 5000)
                .seeded("one/b", 2, 5000)
                .seeded("two/a", 1, 5000)
                .seeded("two/b", 2, 5000)
                .file("two/more", "only here")
                .file("two/.hidden", "only here too")
                .dir("two/empty")
                .symlink("two/link", "../one/a"),
        );
        let before = Snapshot::of(lop.work());
        let output = apply(&lop, by, ["--all"]);
        assert_eq!(done(&output), 2, "{by}");
        let after = Snapshot::of(lop.work());
        for name in ["two", "two/more", "two/.hidden", "two/empty", "two/link", "one/a", "one/b"] {
            assert!(after.get(name).is_some(), "{by}: {name}");
        }
        assert_contents_kept(&before, &[&after]);
        undo(&lop);
        assert_same(&before, &Snapshot::of(lop.work()), back());
    }
}
