//! Files that the user may not change are left alone, and metadata is restored.

use std::fs::{self, OpenOptions};
use std::io::Write as _;

use testkit::{Compare, FileSystem, NOBODY, Snapshot, TreeBuilder, assert_same, is_root, skipped};

use super::{CHANGING, KINDS, apply, assert_kept, back, done, mounted, scanned_at, tool, undo};
use crate::lop::{Lop, document, settle};

fn pair() -> TreeBuilder {
    TreeBuilder::new().seeded("a/kept", 1, 50_000).seeded("b/other", 1, 50_000)
}

#[test]
fn a_read_only_mount_is_unchanged() {
    for by in KINDS {
        let Some(disk) = mounted(FileSystem::Ext4, 16 << 20) else { return };
        let lop = scanned_at(&disk, &pair());
        if let Err(reason) = disk.remount("ro") {
            return skipped(reason);
        }
        let before = Snapshot::of(&disk);
        let output = apply(&lop, by, ["--all"]);
        output.code(3);
        assert_eq!(done(&output), 0, "{by}");
        assert_same(&before, &Snapshot::of(&disk), Compare::ALL);
    }
}

/// Sets file attributes (chattr(1)), and clears them on drop.
struct Attributes(&'static str, std::path::PathBuf);

impl Attributes {
    fn set(flag: &'static str, path: std::path::PathBuf) -> Option<Attributes> {
        tool("chattr", &[&format!("+{flag}")], &path)?;
        Some(Attributes(flag, path))
    }
}

impl Drop for Attributes {
    fn drop(&mut self) {
        drop(tool("chattr", &[&format!("-{}", self.0)], &self.1));
    }
}

#[test]
fn immutable_and_append_only_files_are_unchanged() {
    let Some(disk) = mounted(FileSystem::Ext4, 16 << 20) else { return };
    for flag in ["i", "a"] {
        for by in CHANGING {
            let lop = scanned_at(&disk, &pair());
            let Some(file) = Attributes::set(flag, disk.path().join("b/other")) else { return };
            settle();
            lop.remember([disk.path()]);
            let before = Snapshot::of(&disk);
            let output = apply(&lop, by, ["--all", "--keep", "path:**/a/*"]);
            output.code(3);
            assert_eq!(done(&output), 0, "{by} +{flag}");
            assert_same(&before, &Snapshot::of(&disk), back());
            drop(file);
            let Some(dir) = Attributes::set(flag, disk.path().join("b")) else { return };
            settle();
            lop.remember([disk.path()]);
            let output = apply(&lop, by, ["--all", "--keep", "path:**/a/*"]);
            assert_eq!(done(&output), 0, "{by} +{flag}: {}", document(&output));
            assert_same(&before, &Snapshot::of(&disk), back());
            drop(dir);
            for name in ["a/kept", "b/other"] {
                fs::remove_file(disk.path().join(name)).expect("is removed");
            }
        }
    }
}

#[test]
fn owners_modes_times_attributes_and_acls_are_restored() {
    for kind in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs, FileSystem::Tmpfs] {
        let Some(disk) = mounted(kind, 16 << 20) else { continue };
        let tree = (0..6).fold(TreeBuilder::new().seeded("a", 1, 30_000), |tree, i| {
            tree.seeded(format!("b/{i}"), 1, 30_000)
        });
        let tree = tree
            .mode("b/0", 0o6755)
            .owner("b/0", NOBODY, 12)
            .mode("b/1", 0o000)
            .mtime("b/1", -1_000_000, 999_999_999)
            .xattr("b/2", "user.long", &[0xFF; 500])
            .xattr("b/2", "user.\u{fc}", b"")
            .xattr("b/3", "trusted.mine", b"\0\n")
            .mtime("b/3", 4_000_000_000, 1)
            .mode("b/4", 0o404)
            .owner("b/4", 1, 2)
            .dir("c");
        tree.make(&disk);
        let lists = tool("setfacl", &["-m", "u:12:r,g:13:rwx,m::rx"], disk.path().join("b/4"))
            .and_then(|_| tool("setfacl", &["-d", "-m", "u:99:rwx,g::r"], disk.path().join("b")));
        if lists.is_none() {
            skipped(format!("lists on {kind:?}"));
        }
        settle();
        for by in CHANGING {
            let lop = Lop::new();
            lop.remember([disk.path()]);
            let before = Snapshot::of(&disk);
            apply(&lop, by, ["--all", "--keep", "path:**/a"]).success();
            undo(&lop);
            assert_same(&before, &Snapshot::of(&disk), back());
            settle();
        }
    }
}

#[test]
fn extreme_times_are_restored() {
    let Some(disk) = mounted(FileSystem::Xfs, 16 << 20) else { return };
    for by in CHANGING {
        let tree = TreeBuilder::new()
            .seeded("kept", 1, 5000)
            .seeded("later", 1, 5000)
            .mtime("later", 12_000_000_000, 5)
            .seeded("much later", 1, 5000)
            .mtime("much later", 12_000_000_001, 6);
        let lop = scanned_at(&disk, &tree);
        let before = Snapshot::of(&disk);
        drop(apply(&lop, by, ["--all", "--keep", "path:**/kept"]));
        drop(lop.run(["undo"]));
        assert_same(&before, &Snapshot::of(&disk), back());
        for name in ["kept", "later", "much later"] {
            fs::remove_file(disk.path().join(name)).expect("is removed");
        }
    }
}

#[test]
fn an_ordinary_user_changes_only_what_they_may() {
    if !is_root() {
        return skipped("only root can create files of other users");
    }
    let own = |tree: TreeBuilder, path: &str| tree.owner(path, NOBODY, NOBODY);
    let mut tree = TreeBuilder::new();
    for dir in ["own", "others", "sticky", "open"] {
        for file in ["mine", "theirs"] {
            tree =
                tree.seeded(format!("{dir}/{file}"), 1, 5000).mode(format!("{dir}/{file}"), 0o644);
        }
        tree = own(tree, &format!("{dir}/mine"));
    }
    let tree = own(own(tree, "own"), "")
        .mode("others", 0o755)
        .mode("sticky", 0o1777)
        .mode("open", 0o777)
        .seeded("own/kept", 1, 5000);
    for by in CHANGING {
        let lop = Lop::with(&own(tree.clone(), "own/kept"));
        let run = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
        run(&["scan", "."]).success();
        let before = Snapshot::of(lop.work());
        let keep = "path:**/own/kept";
        let output = run(&["dedupe", "--json", "--apply", "--all", "--by", by, "--keep", keep]);
        output.code(3);
        let after = Snapshot::of(lop.work());
        for name in ["others/mine", "others/theirs", "sticky/theirs", "own/kept"] {
            assert_eq!(
                before.get(name).map(|e| &e.sha256),
                after.get(name).map(|e| &e.sha256),
                "{by}"
            );
            assert_eq!(before.get(name).map(|e| e.uid), after.get(name).map(|e| e.uid), "{by}");
        }
        assert!(done(&output) >= 3, "{by}: {}", document(&output));
        assert_kept(&lop, &before, &[&lop.work()]);
        drop(run(&["undo"]));
        // The files of the user are unchanged. The files of other users still have their content.
        let again = Snapshot::of(lop.work());
        for name in ["own/mine", "sticky/mine", "open/mine", "own/kept", "others/theirs"] {
            let (was, is) = (before.get(name).expect("is there"), again.get(name));
            let same = is.is_some_and(|is| {
                (is.sha256, is.mode, is.uid, is.mtime_ns)
                    == (was.sha256, was.mode, was.uid, was.mtime_ns)
            });
            assert!(same, "{by}: {name} was {was:?}, is {is:?}");
        }
    }
}

#[test]
fn a_full_disk_loses_nothing_and_can_be_undone_later() {
    for by in CHANGING {
        let Some(disk) = mounted(FileSystem::Ext4, 16 << 20) else { return };
        let tree = (0..40).fold(TreeBuilder::new(), |tree, i| {
            let tree = tree.seeded(format!("a/{i}"), i, 70_000);
            tree.seeded(format!("b/{i}"), i, 70_000).mode(format!("b/{i}"), 0o600)
        });
        let lop = scanned_at(&disk, &tree);
        let before = Snapshot::of(&disk);
        let fill = |name: &str| {
            let mut file = OpenOptions::new()
                .append(true)
                .create(true)
                .open(disk.path().join(name))
                .expect("opens");
            while file.write_all(&[7; 4096]).is_ok() {}
            drop(file.sync_all());
        };
        fill("filler 1");
        let output = apply(&lop, by, ["--all", "--keep", "path:**/a/*"]);
        let done = done(&output);
        assert_kept(&lop, &before, &[disk.path()]);
        fill("filler 2");
        // The disk has no space for copies. Files that cannot be restored now are reported and left alone.
        let undone = lop.run(["undo"]);
        assert!(
            by == "quarantine" || done == 0 || undone.ending == testkit::Ending::Code(3),
            "{by}"
        );
        assert_kept(&lop, &before, &[disk.path()]);
        for name in ["filler 1", "filler 2"] {
            fs::remove_file(disk.path().join(name)).expect("is removed");
        }
        drop(lop.run(["undo"]));
        assert_same(&before, &Snapshot::of(&disk), back());
    }
}

#[test]
fn a_journal_that_cannot_be_written_stops_the_run_and_nothing_is_forgotten() {
    for by in CHANGING {
        let Some(state) = mounted(FileSystem::Tmpfs, 1 << 20) else { return };
        let tree = (0..3000).fold(TreeBuilder::new(), |tree, i| {
            tree.file(format!("a/{i}"), format!("content {i}").into_bytes())
                .file(format!("b/{i}"), format!("content {i}").into_bytes())
        });
        let lop = Lop::with(&tree);
        let catalog = state.path().join("catalog.db");
        let with = |args: &[&str]| lop.command().args(["--catalog"]).arg(&catalog).args(args).run();
        let scanned = with(&["scan", "."]);
        if scanned.ending != testkit::Ending::Code(0) {
            return skipped("the catalog does not fit either");
        }
        let before = Snapshot::of(lop.work());
        let output = with(&["dedupe", "--apply", "--all", "--by", by]);
        assert_ne!(output.ending, testkit::Ending::Code(0), "{by}: the journal fits");
        state.remount("size=64m").expect("grows");
        drop(with(&["undo"]));
        assert_same(&before, &Snapshot::of(lop.work()), back());
    }
}

#[test]
fn nothing_is_done_where_a_quarantine_is_not_private() {
    if !is_root() {
        return skipped("only root can act as another user");
    }
    let tree = TreeBuilder::new()
        .seeded("a", 1, 5000)
        .seeded("b", 1, 5000)
        .owner("a", NOBODY, NOBODY)
        .owner("b", NOBODY, NOBODY)
        .owner("", NOBODY, NOBODY)
        .dir(format!(".lop-quarantine-{NOBODY}"));
    for mode in [0o777, 0o700] {
        let lop = Lop::with(&tree.clone().mode(format!(".lop-quarantine-{NOBODY}"), mode));
        let run = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
        run(&["scan", "."]).success();
        for by in CHANGING {
            let before = Snapshot::of(lop.work());
            run(&["dedupe", "--apply", "--all", "--by", by]).code(3);
            assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
        }
    }
}
