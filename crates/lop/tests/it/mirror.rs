//! `lop mirror` as users run it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

use testkit::{
    Compare, FileSystem, Mount, Signal, Snapshot, TreeBuilder, When, assert_same,
    at_random_moments, is_root, kill_after, skipped,
};

use crate::lop::{Lop, document};

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("src/a", "a")
        .file("src/d/b", vec![1; 10_000])
        .hard_links("linked", &["src/l1", "src/d/l2"])
        .symlink("src/link", "a")
        .file("dst/old", "old")
        .file("other/kept", "kept")
}

pub(crate) fn alike(lop: &Lop) {
    let all = Compare::ALL;
    assert_same(&Snapshot::of(lop.path("src")), &Snapshot::of(lop.path("dst")), all);
}

#[test]
fn a_tree_is_mirrored_and_the_summary_printed() {
    let lop = Lop::with(&tree());
    let output = lop.run(["mirror", "--delete", "src", "dst"]);
    output.success();
    let said = output.stderr_str();
    let (names, what) = said.split_once("; ").expect("two parts");
    assert!(names.starts_with("6 names in "), "{said}");
    let expected = "3 files copied (9.8 KiB), 1 linked, 1 directory made, \
                    1 symlink made, 1 removed\n";
    assert_eq!(what, expected);
    assert!(output.stdout.is_empty());
    alike(&lop);
    let again = lop.run(["mirror", "--delete", "src", "dst"]);
    again.success();
    assert!(again.stderr_str().ends_with("; nothing to change\n"), "{}", again.stderr_str());
    let quiet = lop.run(["mirror", "-q", "src", "new"]);
    quiet.success();
    assert!(quiet.stderr.is_empty() && quiet.stdout.is_empty());
}

#[test]
fn a_dry_run_lists_changes_and_makes_none() {
    let lop = Lop::with(&tree());
    fs::create_dir(lop.path("dst/link")).expect("made");
    let before = Snapshot::of(lop.path("dst"));
    let args = ["mirror", "--delete", "--threads", "1", "src", "dst"];
    let output = lop.command().args(args).arg("--dry-run").run();
    output.success();
    assert_same(&before, &Snapshot::of(lop.path("dst")), Compare::ALL);
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        lines.sort();
        lines
    };
    let listed = sorted(output.stdout_str());
    let real = lop.command().args(args).arg("-i").run();
    real.success();
    let done = sorted(real.stdout_str());
    // An entry that replaces a directory is listed after the removal of that directory. A dry run removes nothing.
    let done: Vec<_> = done.into_iter().filter(|line| line != "new      link").collect();
    let listed: Vec<_> = listed.into_iter().filter(|line| line != "new      link").collect();
    assert_eq!(listed, done);
    for line in ["new      a", "new      d/", "remove   link/", "remove   old"] {
        assert!(done.iter().any(|done| done.starts_with(line)), "{line}: {done:?}");
    }
    alike(&lop);
    lop.run(["mirror", "-n", "src", "nowhere"]).success();
    assert!(!lop.path("nowhere").exists());
}

#[test]
fn json_is_one_document() {
    let lop = Lop::with(&tree());
    for args in [&["-i"][..], &[]] {
        let output =
            lop.command().args(["mirror", "--json", "--delete", "src", "dst"]).args(args).run();
        output.success();
        let document = document(&output);
        let summary = &document["summary"];
        assert_eq!(summary["entries"], 6);
        if args.is_empty() {
            assert_eq!((&summary["files_copied"], &summary["failed"]), (&0.into(), &0.into()));
            assert!(document.get("changes").is_none());
            continue;
        }
        assert_eq!((&summary["files_copied"], &summary["linked"]), (&3.into(), &1.into()));
        let changes = document["changes"].as_array().expect("a list");
        let of = |what: &str| changes.iter().filter(|change| change["action"] == what).count();
        assert_eq!((of("new"), of("link"), of("remove")), (5, 1, 1), "{changes:?}");
    }
}

#[test]
fn the_exit_code_reflects_the_outcome() {
    let lop = Lop::with(&tree());
    lop.run(["mirror", "src"]).code(2);
    lop.run(["mirror", "--max-delete", "1", "src", "dst"]).code(2);
    lop.run(["mirror", "--exclude", "a[", "src", "dst"]).code(2);
    lop.run(["mirror", "--bwlimit", "0", "src", "dst"]).code(2);
    lop.run(["mirror", "missing", "dst"]).code(1);
    lop.run(["mirror", "src", "missing/too"]).code(1);
    for (from, to) in [("src", "src"), ("src/d", "src"), ("src", "dst/../src")] {
        let output = lop.run(["mirror", from, to]);
        output.code(4);
        assert!(output.stderr_str().contains("nothing was changed"), "{}", output.stderr_str());
    }
    fs::create_dir_all(lop.path("dst/a/full")).expect("made");
    let output = lop.run(["mirror", "src", "dst"]);
    output.code(3);
    let expected = "lop: dst/a: a directory is in the way; --delete replaces it\n";
    assert!(output.stderr_str().starts_with(expected), "{}", output.stderr_str());
    let output = lop.run(["mirror", "--delete", "--max-delete", "1", "src", "dst"]);
    output.code(3);
    let said = output.stderr_str();
    assert!(
        said.contains(
            "lop: kept 3 extraneous entries: deleting them would exceed --max-delete 1\n"
        ),
        "{said}"
    );
    lop.run(["mirror", "--delete", "src", "dst"]).success();
    alike(&lop);
}

#[test]
fn a_directory_kept_by_patterns_is_reported_as_such() {
    let lop = Lop::with(&TreeBuilder::new().file("s/x", "new").file("d/x/keep", "k"));
    for dry in [&["-n"][..], &[]] {
        let args = ["mirror", "--delete", "--exclude", "keep", "s", "d"];
        let output = lop.command().args(args).args(dry).run();
        output.code(1);
        let expected = "lop: d/x: a directory is in the way; it is kept, because --exclude or \
                        --include leaves out entries in it\n";
        assert!(output.stderr_str().starts_with(expected), "{}", output.stderr_str());
    }
    assert!(lop.path("d/x/keep").exists());
}

#[test]
fn skipped_entries_are_reported() {
    let tree = TreeBuilder::new()
        .file("src/a", "a")
        .dir("src/sub/dst")
        .file("src/.lop-quarantine-0/1/0", "last");
    let lop = Lop::with(&tree);
    let output = lop.run(["mirror", "src", "src/sub/dst"]);
    output.success();
    let said = output.stderr_str();
    let expected = "; skipped: the destination itself (sub/dst), \
                    files in quarantine (.lop-quarantine-0)\n";
    assert!(said.ends_with(expected), "{said}");
    let output = lop.run(["mirror", "--json", "src", "src/sub/dst"]);
    output.success();
    let document = document(&output);
    let mut left: Vec<String> = document["summary"]["left_out"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|left| format!("{} {}", left["why"], left["path"]))
        .collect();
    left.sort();
    let expected = ["\"destination\" \"sub/dst\"", "\"quarantine\" \".lop-quarantine-0\""];
    assert_eq!(left, expected);
}

#[test]
fn a_file_is_no_tree() {
    let lop = Lop::with(&TreeBuilder::new().file("file", "f").dir("dst"));
    for args in [["file", "dst"], ["dst", "file"]] {
        let output = lop.run(["mirror", args[0], args[1]]);
        output.code(1);
        let expected = "lop: file: mirror needs a directory; for one file use cp\n";
        assert_eq!(output.stderr_str(), expected);
    }
}

#[test]
fn a_full_disk_is_reported_and_leaves_whole_files() {
    if !is_root() {
        return skipped("only root can mount file systems");
    }
    let mount = match Mount::new(FileSystem::Tmpfs, 2 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    let mut tree = TreeBuilder::new();
    for i in 0..30 {
        tree = tree.seeded(format!("src/{}/{i}", i % 3), i, 150_000);
    }
    let lop = Lop::with(&tree);
    let to = mount.path().join("dst");
    let run = || lop.command().args(["mirror", "src"]).arg(&to).run();
    let output = run();
    output.code(3);
    let full = format!("lop: {} is full: ", to.display());
    let said = output.stderr_str();
    assert!(said.starts_with(&full) && said.lines().count() == 2, "{said}");
    // A second run cannot do more, and reports the same problem.
    let second = run();
    let first = second.stderr_str();
    for _ in 0..2 {
        let next = run();
        let said = next.stderr_str();
        assert!(said.starts_with(&full) && said.contains("; nothing changed, "), "{first}{said}");
        assert_eq!(said.split("; ").nth(1), first.split("; ").nth(1), "{first}{said}");
    }
    let (from, to) = (Snapshot::of(lop.path("src")), Snapshot::of(&to));
    let copied = to.entries.iter().filter(|(_, entry)| entry.sha256.is_some());
    let mut files = 0;
    for (path, entry) in copied {
        assert_eq!(Some(entry.sha256), from.get(path).map(|from| from.sha256), "{path:?}");
        files += 1;
    }
    assert!(files > 3, "{files}");
}

#[test]
fn an_interrupted_run_says_so_and_the_next_one_continues() {
    // In an existing directory, names appear one by one. In a new directory, all names appear at the end of the copy.
    let mut tree = TreeBuilder::new().dir("dst/0").dir("dst/1");
    for i in 0..40 {
        tree = tree.seeded(format!("src/{}/{i}", i % 4), i, 100_000);
    }
    let lop = Lop::with(&tree);
    let slow = ["mirror", "--bwlimit", "1M", "src", "dst"];
    let when = When::File(lop.path("dst/1/1"), Vec::new());
    let output = lop.command().args(slow).signal(Signal::INT, when).run();
    output.signal(Signal::INT);
    assert!(output.stderr_str().contains("interrupted"), "{}", output.stderr_str());
    let partly = Snapshot::of(lop.path("dst"));
    assert!(partly.entries.len() > 2 && partly.entries.len() < 45, "{}", partly.entries.len());
    let left = |path: &Vec<u8>| path.windows(10).any(|name| name == b".lop-part-");
    assert!(!partly.entries.keys().any(left), "{:?}", partly.entries.keys());
    let output = lop.run(["mirror", "src", "dst"]);
    output.success();
    let files = partly.entries.values().filter(|entry| entry.sha256.is_some()).count();
    let expected = format!("{} files copied", 40 - files);
    assert!(output.stderr_str().contains(&expected), "{expected}: {}", output.stderr_str());
    alike(&lop);
}

/// Kills runs at 200 random moments. Every second run starts from the state that the previous run left.
#[test]
fn killed_at_random_moments_no_name_has_half_a_file() {
    let mut tree = TreeBuilder::new().seeded("src/large", 1, 3 << 20);
    for i in 0..300u64 {
        tree = tree.seeded(format!("src/{}/{i}", i % 7), i, 500 + 97 * i);
        tree = tree.hard_link(format!("src/{}/{i}", i % 7), format!("src/{}/link {i}", i % 5));
    }
    let lop = Lop::with(&tree);
    let from = Snapshot::of(lop.path("src"));
    let command = lop.command().args(["mirror", "--delete", "src", "dst"]);
    let start = Instant::now();
    command.clone().run().success();
    let whole = start.elapsed();
    at_random_moments(100, 42, whole, |round, delay| {
        if round % 2 == 0 {
            fs::remove_dir_all(lop.path("dst")).expect("removed");
        }
        let fired = kill_after(&command, delay).fired;
        if !lop.path("dst").exists() {
            fs::create_dir(lop.path("dst")).expect("made");
        }
        let to = Snapshot::of(lop.path("dst"));
        for (path, entry) in &to.entries {
            let is_part = path.split(|&b| b == b'/').any(|name| name.starts_with(b".lop-part-"));
            let was = from.get(path).map(|from| from.sha256);
            assert!(is_part || was == Some(entry.sha256), "{}", path.escape_ascii());
        }
        fired
    });
    command.run().success();
    alike(&lop);
}

#[test]
fn backups_of_days_share_what_has_not_changed() {
    let lop = Lop::with(&tree());
    lop.run(["mirror", "src", "monday"]).success();
    fs::write(lop.path("src/a"), "changed").expect("written");
    lop.run(["mirror", "--link-dest", "../monday", "src", "tuesday"]).success();
    let inode = |name: &str| lop.path(name).metadata().expect("there").ino();
    assert_eq!(inode("monday/d/b"), inode("tuesday/d/b"));
    assert_ne!(inode("monday/a"), inode("tuesday/a"));
    assert_eq!(fs::read_to_string(lop.path("monday/a")).expect("there"), "a");
    lop.run(["mirror", "--link-dest", "nowhere", "src", "wednesday"]).code(1);
}

#[test]
fn progress_shows_how_far_it_is() {
    let lop =
        Lop::with(&TreeBuilder::new().seeded("src/a", 1, 900_000).seeded("src/b", 2, 900_000));
    let args = ["mirror", "--progress", "always", "--bwlimit", "1M", "src", "dst"];
    let output = lop.command().args(args).run();
    output.success();
    let said = output.stderr_str();
    assert!(said.contains(" of 2 names, ") && said.contains(" of 1.7 MiB, "), "{said}");
    assert!(said.contains(" left"), "{said}");
}
