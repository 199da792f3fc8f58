//! A file that FUSE or overlayfs shows under two paths does not count as a copy of itself. Needs
//! root.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use testkit::{FileSystem, Mount, TreeBuilder, View, skipped};

use crate::lop::{Lop, document, settle};

/// The file systems that can show a directory under a second path. `None` stands for overlayfs.
const WAYS: [Option<View>; 3] = [Some(View::Sshfs), Some(View::Mergerfs), None];

/// Mounts an alias of a directory. `None` mounts an overlay.
fn shown(way: Option<View>, dir: &Path) -> Option<Mount> {
    let mount = match way {
        Some(view) => Mount::view(view, dir),
        None => Mount::overlay(dir),
    };
    mount.map_err(|reason| skipped(format!("no {way:?} to test on: {reason}"))).ok()
}

/// Returns the program with a tree `t` and an alias of it, both scanned.
fn scanned(way: Option<View>) -> Option<(Lop, Mount)> {
    let tree = TreeBuilder::new().seeded("t/f", 1, 5000).seeded("t/d/g", 2, 6000);
    let lop = Lop::with(&tree);
    let mount = shown(way, &lop.path("t"))?;
    settle();
    lop.remember([lop.path("t").as_path(), mount.path()]);
    Some((lop, mount))
}

/// Runs a query about directories, and returns the summary of its output. The exit code must be the one for an unknown
/// result.
#[track_caller]
fn unknown(lop: &Lop, command: &str, dirs: &[&Path], more: &[&str]) -> serde_json::Value {
    let output = lop.command().args([command, "--json"]).args(dirs).args(more).run();
    document(output.code(3))["summary"].clone()
}

#[test]
fn a_folder_whose_copy_may_be_itself_is_unknown() {
    for way in WAYS {
        let Some((lop, mount)) = scanned(way) else { continue };
        let (tree, view) = (lop.path("t"), mount.path().to_path_buf());
        for (dir, other) in [(&tree, &view), (&view, &tree)] {
            for more in [&[][..], &["--verify"]] {
                let summary = unknown(&lop, "uniques", &[dir], more);
                assert_eq!(
                    (&summary["unknown"], &summary["views"]),
                    (&2.into(), &2.into()),
                    "{way:?} {summary}"
                );
                let summary = unknown(&lop, "contains", &[dir, other], more);
                assert_eq!(
                    (&summary["unknown"], &summary["missing"]),
                    (&2.into(), &0.into()),
                    "{way:?} {summary}"
                );
            }
        }
        let said = lop.run(["uniques".as_ref(), tree.as_os_str()]);
        assert!(said.code(3).stderr_str().contains(
            "2 files may be other files under a second path (network, FUSE, overlayfs); if not, \
             pass their directory with --distinct DIR\n"), "{}", said.stderr_str());
        assert!(
            said.stdout_str()
                .contains("its copy elsewhere may be the same file under another path")
        );
    }
}

#[test]
fn a_report_counts_a_file_and_its_alias_once() {
    for way in WAYS {
        let Some((lop, mount)) = scanned(way) else { continue };
        for more in [&[][..], &["--dirs"]] {
            let report = lop.run(["report", "--json"].iter().chain(more));
            let summary = &document(report.code(3))["summary"];
            let counts = (&summary["reclaimable_bytes"], &summary["views"]);
            assert_eq!(counts, (&0.into(), &2.into()), "{way:?} {more:?} {summary}");
        }
        let file = lop.run(["file".as_ref(), lop.path("t/f").as_os_str()]);
        let said = file.code(3).stdout_str();
        assert!(said.contains("t/f: no known duplicates"), "{said}");
        assert!(said.contains("/f  (may be the same file under another path)"), "{said}");
        let listed = lop.run(["ls".as_ref(), mount.path().as_os_str()]);
        let said = listed.code(3).stdout_str();
        assert!(said.contains("its copy elsewhere may be the same file"), "{said}");
        drop(mount);
    }
}

#[test]
fn a_file_on_another_file_system_counts_as_a_copy_with_distinct() {
    for way in WAYS {
        let tree = TreeBuilder::new().seeded("t/f", 1, 5000).mtime("t/f", 1_000_000_000, 0);
        let lop = Lop::with(&tree.seeded("far/f", 1, 5000).mtime("far/f", 1_000_000_005, 0));
        let Some(mount) = shown(way, &lop.path("far")) else { continue };
        settle();
        lop.remember([lop.path("t").as_path(), mount.path()]);
        let (tree, far) = (lop.path("t"), mount.path().as_os_str());
        lop.run(["uniques".as_ref(), tree.as_os_str()]).code(3);
        let word = "--distinct".as_ref();
        for question in
            [&["uniques", "--verify"][..], &["dups"], &["report"], &["report", "--dirs"]]
        {
            let (args, dir) = (question.iter().map(AsRef::as_ref), tree.as_os_str());
            let output = lop.run(args.chain([dir, word, far]));
            output.success();
        }
        let dirs = [tree.as_os_str(), far];
        lop.run(["contains".as_ref()].into_iter().chain(dirs).chain([word, far])).success();
        let whole = lop.run(["report".as_ref(), "--json".as_ref(), word, far]);
        assert_eq!(document(&whole)["summary"]["reclaimable_bytes"], 8192, "{way:?}");
        let [near, seen] = [tree.join("f"), mount.path().join("f")].map(PathBuf::into_os_string);
        for args in [near.as_os_str(), &seen] {
            let file = lop.run(["file".as_ref(), args, word, far]);
            let said = file.success().stdout_str();
            assert!(said.contains(": 1 duplicate"), "{way:?}: {said}");
        }
        for dir in [tree.as_os_str(), far] {
            let listed = lop.run(["ls".as_ref(), dir, word, far]);
            assert!(listed.success().stdout_str().starts_with("        1  "), "{way:?}");
        }
    }
}

/// An SFTP server follows links, and sshfs invents inode numbers.
#[test]
fn a_directory_that_a_server_shows_by_two_paths_has_no_copy() {
    let tree = TreeBuilder::new().seeded("far/x/f", 1, 5000).symlink("far/y", "x");
    let lop = Lop::with(&tree);
    let mount = match Mount::view(View::SshfsFollowing, &lop.path("far")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no sshfs: {reason}")),
    };
    settle();
    lop.remember([mount.path()]);
    let [x, y] = ["x", "y"].map(|name| mount.path().join(name));
    lop.run(["uniques".as_ref(), x.as_os_str()]).code(3);
    lop.run(["contains".as_ref(), x.as_os_str(), y.as_os_str()]).code(3);
}

/// The source is inside the destination, and the file system has no free inode for the marker file that would reveal
/// this.
#[test]
fn mirror_delete_is_refused_if_it_cannot_tell_whether_the_source_is_in_the_destination() {
    let mount = match Mount::new(FileSystem::Tmpfs, 2 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    let to = mount.path().join("to");
    TreeBuilder::new().file("sub/a", "a").file("sub/b", "b").make(&to);
    let lop = Lop::with(&TreeBuilder::new());
    mount.remount("nr_inodes=64").expect("fewer inodes");
    let is_full = |number| File::create(mount.path().join(format!("{number}"))).is_err();
    assert!((0..100).any(is_full), "there is room");
    let Some(view) = shown(Some(View::Sshfs), &to) else { return };
    let mirror = |more: &[&str]| {
        let source = view.path().join("sub");
        lop.command().arg("mirror").args(more).arg(source).arg(&to).run()
    };
    let refused = mirror(&["--delete"]);
    let said = refused.code(4).stderr_str();
    assert!(said.contains("cannot tell whether") && said.contains("No space left"), "{said}");
    assert!(said.contains(to.to_str().expect("a name")) && said.contains("hint: "), "{said}");
    for name in ["a", "b"] {
        assert!(to.join("sub").join(name).exists(), "{name} is lost");
    }
    // Without --delete, the mirror starts but cannot create anything.
    let said = mirror(&[]);
    assert!(said.stderr_str().contains("is full"), "{}", said.stderr_str());
}

/// mergerfs renames a file on all of its branches, so the kept file would be moved together with the removed file.
#[test]
fn a_file_of_a_pool_is_not_removed_in_favour_of_what_it_shows() {
    let tree = TreeBuilder::new().seeded("one/x", 1, 5000).seeded("two/x", 2, 5000);
    let lop = Lop::with(&tree);
    let branches = format!("{}:{}", lop.path("one").display(), lop.path("two").display());
    let mount = match Mount::view(View::Mergerfs, Path::new(&branches)) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no mergerfs: {reason}")),
    };
    settle();
    lop.remember([lop.path("one").as_path(), mount.path()]);
    for kind in ["delete", "symlink", "quarantine"] {
        let run = lop.run(["dedupe", "--all", "--by", kind, "--apply"]);
        let said = run.code(3).stderr_str();
        assert!(said.contains("may be this very file by another path"), "{said}");
        assert!(lop.path("one/x").exists() && lop.path("two/x").exists(), "{kind}");
    }
}

/// The upper layer of an overlayfs can store only the metadata of a file, while its bytes stay in the lower layer.
#[test]
fn a_file_below_an_overlay_is_not_removed_in_favour_of_the_overlay() {
    let lop = Lop::with(&TreeBuilder::new().seeded("low/x", 1, 5000));
    let Some(mount) = shown(None, &lop.path("low")) else { return };
    std::fs::set_permissions(mount.path().join("x"), PermissionsExt::from_mode(0o600))
        .expect("set");
    settle();
    lop.remember([lop.path("low").as_path(), mount.path()]);
    let keep = format!("path:{}/**", mount.path().display());
    let run = lop.run(["dedupe", "--all", "--by", "delete", "--keep", &keep, "--apply"]);
    let said = run.code(3).stderr_str();
    assert!(said.contains("is on overlayfs, and may be this very file"), "{said}");
    assert!(lop.path("low/x").exists());
    lop.run(["uniques".as_ref(), lop.path("low").as_os_str()]).code(3);
}
