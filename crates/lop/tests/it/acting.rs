//! `lop dedupe` acts only on files with the same content, whatever the source of the groups claims, and never on two
//! names of the same file. Actions that a file system does not support are reported.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::process::Command;

use testkit::{Compare, FileSystem, Mount, Snapshot, TreeBuilder, View, assert_same, skipped};

use crate::lop::{Lop, document, settle};

fn duplicates() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("a", 1, 50_000)
        .seeded("b", 1, 50_000)
        .seeded("c", 2, 60_000)
        .seeded("d", 2, 60_000)
}

/// Returns a file system with a scanned tree on it.
fn scanned_on(kind: FileSystem, tree: &TreeBuilder) -> Option<(Lop, Mount)> {
    let mount = Mount::new(kind, 64 << 20);
    let mount = mount.map_err(|reason| skipped(format!("no {}: {reason}", kind.name()))).ok()?;
    tree.make(mount.path());
    settle();
    let lop = Lop::new();
    lop.remember([mount.path()]);
    Some((lop, mount))
}

#[test]
fn a_file_that_has_grown_since_the_report_stays() {
    for kind in ["delete", "hardlink", "symlink", "quarantine"] {
        let lop = Lop::with(&TreeBuilder::new().file("a", "line 1\n").file("b", "line 1\n"));
        lop.remember(["."]);
        let report = lop.state().join("report.json");
        let text = lop.run(["report", "--format", "json"]);
        fs::write(&report, &text.success().stdout).expect("written");
        let grown = fs::OpenOptions::new().append(true).open(lop.path("b"));
        grown.expect("opens").write_all(b"line 2\n").expect("written");
        let before = Snapshot::of(lop.work());
        let file = report.to_str().expect("UTF-8");
        for last in ["--apply", "--color=never"] {
            let output = lop.run(["dedupe", "--by", kind, "--report", file, last]);
            output.code(3);
            let said = output.stderr_str();
            assert!(said.contains("b: changed since it was planned"), "{said}");
        }
        assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
    }
}

#[test]
fn wrong_content_in_the_catalog_does_not_make_a_file_a_copy() {
    let tree = TreeBuilder::new()
        .file("a", "line 1\n")
        .file("a2", "line 1\n")
        .file("b", "line 1\nline 2\n")
        .file("b2", "line 1\nline 2\n");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let one = "UPDATE file SET content = (SELECT min(content) FROM file)";
    assert_eq!(lop.database().execute(one, []).expect("is changed"), 4);
    lop.run(["dedupe", "--by", "delete", "--apply", "--all"]).success();
    let left = Snapshot::of(lop.work());
    assert!(left.get(b"a").is_some() && left.get(b"b").is_some(), "{left:?}");
}

#[test]
fn a_file_system_that_cannot_share_extents_is_named_once() {
    let Some((lop, mount)) = scanned_on(FileSystem::Ext4, &duplicates()) else { return };
    let before = Snapshot::of(mount.path());
    let said = "lop: 2 files: ext4 cannot share extents; try --by hardlink\n";
    let plan = lop.run(["dedupe", "--all", "--by", "reflink"]);
    assert_eq!(plan.code(3).stderr_str(), format!("Nothing to do\n{said}"));
    let applied = lop.run(["dedupe", "--all", "--by", "reflink", "--apply"]);
    assert!(applied.code(3).stderr_str().starts_with(said), "{}", applied.stderr_str());
    let all = lop.run(["dedupe", "--all", "--by", "reflink", "-v"]);
    assert!(all.code(3).stderr_str().contains("/b: ext4 cannot"), "{}", all.stderr_str());
    assert_same(&before, &Snapshot::of(mount.path()), Compare::ALL);
}

#[test]
fn inline_or_shared_files_gain_nothing_from_a_reflink() {
    let tree = duplicates().seeded("tiny 1", 3, 900).seeded("tiny 2", 3, 900);
    let Some((lop, mount)) = scanned_on(FileSystem::Btrfs, &tree) else { return };
    let plan = lop.run(["dedupe", "--all", "--by", "reflink"]);
    let gain = "2 files to reflink, 112.0 KiB to free; nothing was changed, use --apply to do it\n";
    assert_eq!(plan.success().stderr_str(), gain);
    let done = lop.run(["dedupe", "--all", "--by", "reflink", "--apply", "--json"]);
    let account = &document(done.success())["summary"];
    let counts = ["done", "already", "freed_bytes"].map(|name| account[name].as_u64());
    assert_eq!(counts, [Some(2), Some(1), Some(114_688)], "{account}");
    // The catalog records that the files share extents, and a new scan finds this as well.
    for again in [false, true] {
        if again {
            settle();
            lop.remember([mount.path()]);
        }
        let plan = lop.run(["dedupe", "--all", "--by", "reflink"]);
        assert_eq!(plan.success().stderr_str(), "Nothing to do\n");
        let done = lop.run(["dedupe", "--all", "--by", "reflink", "--apply", "--json"]);
        let account = &document(done.success())["summary"];
        let counts = ["done", "freed_bytes"].map(|name| account[name].as_u64());
        assert_eq!(counts, [Some(0), Some(0)], "{account}");
    }
    assert_eq!(fs::read(mount.path().join("tiny 1")).expect("is read").len(), 900);
}

#[test]
fn inline_files_free_nothing() {
    for kind in ["hardlink", "delete"] {
        let tiny = |tree: TreeBuilder, i: u64| tree.seeded(format!("tiny {i}"), 3, 500);
        let big = TreeBuilder::new().seeded("a", 1, 5000).seeded("b", 1, 5000);
        let Some((lop, mount)) = scanned_on(FileSystem::Btrfs, &(0..30).fold(big, tiny)) else {
            return;
        };
        // btrfs inlines a file only when it is written to the disk.
        fsops::Dir::open(mount.path()).and_then(|dir| dir.sync_file_system()).expect("synced");
        lop.remember(["--reread".as_ref(), mount.path().as_os_str()]);
        let figures = || {
            let report = lop.json(["report"]);
            let group = |group: &serde_json::Value| group["reclaimable_bytes"].as_u64();
            report["groups"].as_array().expect("groups").iter().map(group).collect::<Vec<_>>()
        };
        assert_eq!(figures(), [Some(8192), Some(0)]);
        let plan = lop.run(["dedupe", "--all", "--by", kind]);
        let gain = format!("30 files to {kind}, 8.0 KiB to free;");
        let said = plan.success().stderr_str();
        assert!(said.contains(&gain), "{said}");
        let done = lop.run(["dedupe", "--all", "--by", kind, "--apply", "--json"]);
        let account = &document(done.success())["summary"];
        let counts = ["done", "freed_bytes"].map(|name| account[name].as_u64());
        assert_eq!(counts, [Some(30), Some(8192)], "{account}");
        lop.run(["undo"]).success();
        assert_eq!(figures()[1], Some(0), "after an undo of {kind}");
    }
}

/// Scans a tree and its alias, and removes files of one in favour of the other. Returns the
/// messages.
fn said_of_a_view(view: View, kind: &str, view_stays: bool, more: &[&str]) -> Option<String> {
    let lop = Lop::with(&TreeBuilder::new().seeded("t/f", 1, 5000).seeded("t/g", 2, 6000));
    let (tree, before) = (lop.path("t"), Snapshot::of(lop.path("t")));
    let mount = Mount::view(view, &tree);
    let mount = mount.map_err(|reason| skipped(format!("no {view:?}: {reason}"))).ok()?;
    settle();
    lop.remember([tree.as_path(), mount.path()]);
    let stays = if view_stays { mount.path() } else { &tree };
    let keep = format!("path:{}/**", stays.display());
    let more = more
        .iter()
        .map(|&word| if word == "VIEW" { mount.path().as_os_str() } else { word.as_ref() });
    let command = ["dedupe", "--all", "--by", kind, "--keep", &keep].map(OsStr::new);
    let output = lop.run(command.into_iter().chain(more));
    let said = output.code(3).stderr_str().to_owned();
    assert_same(&before, &Snapshot::of(&tree), Compare::VISIBLE | Compare::METADATA);
    Some(said)
}

#[test]
fn an_alias_of_a_file_does_not_count_as_a_copy() {
    let views =
        [(View::Sshfs, &["delete", "symlink", "quarantine"][..]), (View::Mergerfs, &["delete"])];
    for (view, kinds) in views {
        for &kind in kinds {
            // lop cannot tell whether the file under the alias is a different file.
            for last in ["--apply", "--color=never"] {
                let Some(said) = said_of_a_view(view, kind, true, &[last]) else { return };
                assert!(
                    said.contains("2 files: the file that would be kept is on a FUSE file system"),
                    "{said}"
                );
                assert!(said.contains("--distinct DIR"), "{said}");
            }
            // Even with --distinct, lop checks that the kept file and the removed file are
            // different files.
            let untrue = said_of_a_view(view, kind, true, &["--apply", "--distinct", "VIEW"]);
            let file_stays = said_of_a_view(view, kind, false, &["--apply"]);
            for said in [untrue, file_stays].into_iter().flatten() {
                let is_known = view == View::Mergerfs && said.contains("may be this very file");
                let is_seen = said.contains("the kept file is no longer where it was");
                assert!(is_known || is_seen, "{said}");
            }
        }
    }
}

#[test]
fn a_copy_on_a_network_counts_with_distinct() {
    let lop = Lop::with(&TreeBuilder::new().seeded("t/f", 1, 5000).seeded("far/f", 1, 5000));
    let mount = match Mount::view(View::Sshfs, &lop.path("far")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no sshfs: {reason}")),
    };
    settle();
    lop.remember([lop.path("t").as_path(), mount.path()]);
    let far = mount.path().display().to_string();
    let keep = format!("path:{far}/**");
    lop.run(["dedupe", "--all", "--by", "delete", "--keep", &keep, "--apply"]).code(3);
    assert!(lop.path("t/f").exists());
    let distinct =
        ["dedupe", "--all", "--by", "delete", "--keep", &keep, "--apply", "--distinct", &far];
    lop.run(distinct).success();
    assert!(!lop.path("t/f").exists() && lop.path("far/f").exists());
    lop.run(["undo"]).success();
    assert_eq!(fs::read(lop.path("t/f")).expect("is back").len(), 5000);
    // To delete a file in favour of one on this machine, --distinct is not needed.
    let keep = format!("path:{}/**", lop.path("t").display());
    lop.remember([lop.path("t").as_path(), mount.path()]);
    lop.run(["dedupe", "--all", "--by", "delete", "--keep", &keep, "--apply"]).success();
    assert!(lop.path("t/f").exists() && !lop.path("far/f").exists());
}

/// Names and times do not affect which copy is kept.
#[test]
fn a_copy_on_this_machine_is_kept_rather_than_one_on_a_network() {
    let tree = TreeBuilder::new().seeded("far/f", 1, 5000).mtime("far/f", 1, 0);
    let lop = Lop::with(&tree.seeded("Downloads/f (1)", 1, 5000));
    let mount = match Mount::view(View::Sshfs, &lop.path("far")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no sshfs: {reason}")),
    };
    settle();
    lop.remember([lop.path("Downloads").as_path(), mount.path()]);
    let output = lop.run(["dedupe", "--by", "delete"]);
    let kept = format!("{}  (on a local file system)", lop.path("Downloads/f (1)").display());
    assert!(output.success().stdout_str().contains(&kept), "{}", output.stdout_str());
    lop.run(["dedupe", "--all", "--by", "delete", "--apply"]).success();
    assert!(lop.path("Downloads/f (1)").exists() && !lop.path("far/f").exists());
}

#[test]
fn a_script_takes_names_of_any_length() {
    let long = ["n".repeat(255), format!("{}'$(x)", "q".repeat(248))];
    for action in ["hardlink", "symlink", "delete"] {
        let tree = long.iter().fold(TreeBuilder::new().seeded("a", 1, 5000), |tree, name| {
            tree.seeded(format!("d/{name}"), 1, 5000)
        });
        let lop = Lop::with(&tree);
        lop.remember(["."]);
        let script = lop.run(["dedupe", "--all", "--by", "script", "--keep", "shortest-path"]);
        let file = lop.state().join("act.sh");
        fs::write(&file, &script.success().stdout).expect("is written");
        let ran = Command::new("/bin/sh").arg(&file).arg(action).output().expect("runs");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert_eq!(said, format!("{action}: 2 files, 0 left alone\n"));
        for name in &long {
            let path = lop.path("d").join(name);
            assert_eq!(path.exists(), action != "delete", "{action}");
            assert_eq!(path.is_symlink(), action == "symlink", "{action}");
        }
        let left = fs::read_dir(lop.path("d")).expect("a directory").count();
        assert_eq!(left, if action == "delete" { 0 } else { 2 });
    }
}

#[test]
fn an_obstacle_to_the_quarantine_is_named() {
    let Some((lop, mount)) = scanned_on(FileSystem::Tmpfs, &duplicates()) else { return };
    let store = mount.path().join(format!(".lop-quarantine-{}", fsops::effective_user()));
    fs::write(&store, "in the way").expect("is written");
    let output = lop.run(["dedupe", "--all", "--by", "delete", "--apply"]);
    let said = format!("lop: 2 files: cannot use {}: Not a directory\n", store.display());
    assert!(output.code(3).stderr_str().starts_with(&said), "{}", output.stderr_str());
    assert_eq!(fs::read(&store).expect("is read"), b"in the way");
    fs::remove_file(&store).expect("is removed");
    lop.run(["dedupe", "--all", "--by", "delete", "--apply"]).success();
}

#[test]
fn a_file_system_without_permissions_gets_no_quarantine_which_is_reported() {
    let Some((lop, mount)) = scanned_on(FileSystem::Ntfs, &duplicates()) else { return };
    let before = Snapshot::of(mount.path());
    let output = lop.run(["dedupe", "--all", "--by", "delete", "--apply"]);
    let said = output.code(3).stderr_str();
    let store = mount.path().join(format!(".lop-quarantine-{}", fsops::effective_user()));
    assert!(said.contains(&format!("2 files: cannot use {}", store.display())), "{said}");
    assert!(said.contains("other users can access it") && said.contains("umask=077"), "{said}");
    assert!(!store.exists(), "what it made is gone again");
    assert_same(&before, &Snapshot::of(mount.path()), Compare::VISIBLE);
}

#[test]
fn a_directory_that_may_not_be_changed_is_named() {
    if !testkit::is_root() {
        return skipped("only root can become another user");
    }
    let user = testkit::NOBODY;
    let lop = Lop::with(&duplicates().mode("", 0o755));
    let run = |args: &[&str]| lop.command().args(args.iter().copied()).as_user(user, user).run();
    run(&["scan", "."]).success();
    let output = run(&["dedupe", "--all", "--by", "delete", "--apply"]);
    let dir = lop.work().display().to_string();
    let said = format!("lop: 2 files: cannot change names in {dir}: Permission denied\n");
    assert!(output.code(3).stderr_str().starts_with(&said), "{}", output.stderr_str());
}
