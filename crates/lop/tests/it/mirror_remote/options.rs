//! Options when one of the trees is on a remote host. The results must be the same as with two local trees.

use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::Value;
use testkit::{
    Compare, FileSystem, Invocation, Mount, Snapshot, TreeBuilder, assert_same, is_root, skipped,
};

use super::changes::set_time;
use super::{BOTH, Way, alike, nothing_was_done, two};
use crate::lop::{Lop, document};

/// The names of the only file in [`two`] that has more than one name.
const LINKED: [&str; 2] = ["l1", "d/l2"];

/// Returns three runs that mirror `src`, each to a different directory: locally, and with a remote
/// host in each direction.
fn three<'l>(lop: &'l Lop, way: &Way, args: &[&str]) -> Vec<(&'static str, Invocation<'l>)> {
    let here = lop.command().arg("mirror").args(args).arg(lop.path("src"));
    let mut all = vec![("local", here.arg(lop.path("local")))];
    for direction in BOTH {
        let to = lop.path(direction.name());
        all.push((direction.name(), way.run(lop, direction, args, (&lop.path("src"), &to))));
    }
    all
}

/// Creates three destinations that are identical to `dst`, including times.
fn three_alike(lop: &Lop) {
    for name in ["local", "pushed", "pulled"] {
        drop(fs::remove_dir_all(lop.path(name)));
        lop.run(["mirror", "dst", name]).success();
    }
}

/// Returns a sorted list without the names of the file that has several names. The timing of threads decides which of
/// these names is copied and which are linked.
fn in_order(listed: &str) -> Vec<String> {
    let mut lines: Vec<String> = listed.lines().map(str::to_string).collect();
    let of_linked = |line: &String| {
        let name = line.get(9..).unwrap_or_default().split(" => ").next().unwrap_or_default();
        LINKED.contains(&name.split(" (").next().unwrap_or_default())
    };
    let linked: Vec<String> = lines.extract_if(.., |line| of_linked(line)).collect();
    if !linked.is_empty() {
        let as_links = linked.iter().filter(|line| line.starts_with("link ")).count();
        assert_eq!((linked.len(), as_links), (2, 1), "{linked:?}");
    }
    lines.sort();
    lines
}

#[test]
fn a_dry_run_lists_what_a_run_here_lists_and_changes_nothing() {
    let lop = Lop::with(&two());
    let way = Way::shell();
    three_alike(&lop);
    let mut lists = Vec::new();
    for (name, run) in three(&lop, &way, &["--delete", "--dry-run"]) {
        let before = Snapshot::of(lop.path(name));
        let output = run.run();
        output.success();
        assert_same(&before, &Snapshot::of(lop.path(name)), Compare::ALL);
        lists.push((name, in_order(output.stdout_str())));
    }
    let (_, here) = lists[0].clone();
    assert!(here.len() > 6, "{here:?}");
    for (name, listed) in lists {
        assert_eq!(listed, here, "{name}");
    }
    let mut lists = Vec::new();
    for (name, run) in three(&lop, &way, &["--delete", "--itemize"]) {
        let output = run.run();
        output.success();
        alike(&lop.path("src"), &lop.path(name));
        lists.push((name, in_order(output.stdout_str())));
    }
    for (name, listed) in lists {
        assert_eq!(listed, here, "{name}, not a dry run");
    }
}

#[test]
fn a_dry_run_does_not_make_the_destination() {
    let lop = Lop::with(&two());
    for name in ["local", "pushed", "pulled"] {
        drop(fs::remove_dir_all(lop.path(name)));
    }
    let mut lists = Vec::new();
    for (name, run) in three(&lop, &Way::shell(), &["-n"]) {
        let output = run.run();
        output.success();
        assert!(!lop.path(name).exists(), "{name}");
        lists.push(in_order(output.stdout_str()));
    }
    assert!(lists[0].len() > 5 && lists.iter().all(|list| *list == lists[0]), "{lists:?}");
}

/// Returns the document without the values that differ between runs.
fn without_time(document: &Value) -> Value {
    let mut document = document.clone();
    document["summary"].as_object_mut().expect("a summary").remove("seconds").expect("seconds");
    if let Some(changes) = document.get_mut("changes") {
        let changes = changes.as_array_mut().expect("a list");
        changes.retain(|change| !LINKED.contains(&change["path"].as_str().unwrap_or_default()));
        changes.sort_by_key(ToString::to_string);
    }
    document
}

#[test]
fn the_documents_are_equal() {
    let lop = Lop::with(&two().file(b"src/odd \xff\n".to_vec(), "odd"));
    let way = Way::shell();
    for args in [&["--delete", "--json"][..], &["--delete", "--json", "-i"]] {
        for dry in [&["-n"][..], &[]] {
            three_alike(&lop);
            let runs = three(&lop, &way, &[args, dry].concat()).into_iter().map(|(_, run)| {
                let output = run.run();
                output.success();
                without_time(&document(&output))
            });
            let reported: Vec<Value> = runs.collect();
            assert_eq!(reported[1], reported[0], "pushed");
            assert_eq!(reported[2], reported[0], "pulled");
            assert!(reported[0]["summary"]["files_copied"].as_u64() > Some(3), "{}", reported[0]);
        }
    }
}

#[test]
fn a_change_that_size_and_time_hide_is_found_by_the_bytes() {
    for direction in BOTH {
        let way = Way::shell();
        let tree = TreeBuilder::new()
            .seeded("src/a", 1, 500_000)
            .differing("dst/a", 1, 500_000, 499_000, 1)
            .file("src/b", "one")
            .file("dst/b", "two");
        let lop = Lop::with(&tree);
        for name in ["src/a", "dst/a", "src/b", "dst/b", "src", "dst"] {
            set_time(&lop.path(name), 1_000);
        }
        let (from, to) = (lop.path("src"), lop.path("dst"));
        nothing_was_done(&way.json(&lop, direction, &[], (&from, &to)));
        assert_eq!(fs::read_to_string(lop.path("dst/b")).expect("there"), "two");
        let done = way.json(&lop, direction, &["--checksum"], (&from, &to));
        assert_eq!(done["summary"]["files_copied"], 2, "{done}");
        alike(&from, &to);
        nothing_was_done(&way.json(&lop, direction, &["--checksum"], (&from, &to)));
    }
}

#[test]
fn copies_can_be_verified_synced_and_slowed_down() {
    for direction in BOTH {
        let lop = Lop::with(&two());
        let args = ["--verify", "--fsync", "--delete", "--bwlimit", "20M"];
        Way::shell().succeed(&lop, direction, &args);
        alike(&lop.path("src"), &lop.path("dst"));
    }
}

#[test]
fn files_equal_to_the_previous_backup_are_linked_to_it() {
    for direction in BOTH {
        let way = Way::shell();
        let lop = Lop::with(&two());
        let from = lop.path("src");
        lop.run(["mirror", "src", "monday"]).success();
        fs::write(lop.path("src/a"), "another").expect("written");
        let monday = Snapshot::of(lop.path("monday"));
        let absolute = lop.path("monday").display().to_string();
        for (day, base) in [("tuesday", "../monday"), ("wednesday", absolute.as_str())] {
            let to = lop.path(day);
            let done = way.json(&lop, direction, &["--link-dest", base], (&from, &to));
            assert_eq!(done["summary"]["files_copied"], 1, "{done}");
            alike(&from, &to);
            assert_same(&monday, &Snapshot::of(lop.path("monday")), Compare::ALL);
            let inode =
                |day: &str, name: &str| lop.path(day).join(name).metadata().expect("there").ino();
            for name in ["d/b", "d/large", "l1", "d/l2", "changed"] {
                assert_eq!(inode("monday", name), inode(day, name), "{name}");
            }
            assert_ne!(inode("monday", "a"), inode(day, "a"));
            let again = way.json(&lop, direction, &["--link-dest", base], (&from, &to));
            nothing_was_done(&again);
        }
        // The base does not exist.
        let to = lop.path("thursday");
        let output = way.run(&lop, direction, &["--link-dest", "../nowhere"], (&from, &to)).run();
        output.code(1);
        assert!(output.stderr_str().contains("nowhere"), "{}", output.stderr_str());
    }
}

#[test]
fn excluded_entries_are_neither_sent_nor_removed() {
    for direction in BOTH {
        let lop = Lop::with(&two().file("dst/d/b", "stays").file("dst/empty/extraneous", "s"));
        let args = ["--delete", "--exclude", "b", "--exclude", "gone/", "--exclude", "d/l2"];
        Way::shell().succeed(&lop, direction, &args);
        let text = |name: &str| fs::read_to_string(lop.path(name)).unwrap_or_default();
        assert_eq!(text("dst/d/b"), "stays");
        assert_eq!(text("dst/gone/with/it"), "g");
        assert!(!lop.path("dst/d/l2").exists() && lop.path("dst/l1").exists());
        assert!(!lop.path("dst/extraneous").exists() && !lop.path("dst/empty/extraneous").exists());
        let lop = Lop::with(&two().file("dst/l9", "9"));
        Way::shell().succeed(&lop, direction, &["--delete", "--include", "l?"]);
        let there = |name: &str| lop.path("dst").join(name).exists();
        assert!(there("l1") && there("d/l2") && !there("a") && !there("d/b") && !there("l9"));
        assert!(there("extraneous") && there("changed"));
    }
}

#[test]
fn more_than_max_delete_is_not_removed() {
    for direction in BOTH {
        let lop = Lop::with(&two());
        let way = Way::shell();
        let places = (&*lop.path("src"), &*lop.path("dst"));
        // The extraneous entries are `extraneous`, `gone`, and `with` including its contents.
        let args = ["--delete", "--max-delete", "3"];
        let output = way.run(&lop, direction, &args, places).run();
        output.code(3);
        let said = output.stderr_str();
        assert!(
            said.contains(
                "lop: kept 4 extraneous entries: deleting them would exceed --max-delete 3\n"
            ),
            "{said}"
        );
        assert!(lop.path("dst/extraneous").exists() && lop.path("dst/gone/with/it").exists());
        assert_eq!(fs::read_to_string(lop.path("dst/changed")).expect("there"), "new");
        let output = way.run(&lop, direction, &["--delete", "--max-delete", "4"], places).run();
        output.success();
        alike(places.0, places.1);
        way.run(&lop, direction, &["--max-delete", "4"], places).run().code(2);
    }
}

#[test]
fn mounts_in_a_remote_source_can_be_skipped() {
    if !is_root() {
        return skipped("only root can mount file systems");
    }
    let lop = Lop::with(&two().dir("src/mounted"));
    let mount = match Mount::new(FileSystem::Tmpfs, 1 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    fs::write(mount.path().join("inside"), "i").expect("written");
    let _bound = match Mount::bind(mount.path(), lop.path("src/mounted")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(&reason),
    };
    for direction in BOTH {
        let to = lop.path(direction.name());
        let within = ["--delete", "--one-file-system"];
        let mirror = |args: &[&str]| {
            Way::shell().run(&lop, direction, args, (&lop.path("src"), &to)).run().success();
        };
        mirror(&within);
        assert_eq!(fs::read_dir(to.join("mounted")).expect("made").count(), 0);
        mirror(&["--delete"]);
        alike(&lop.path("src"), &to);
        // lop cannot tell whether the entry is extraneous.
        mirror(&within);
        assert!(to.join("mounted/inside").exists());
    }
}

/// Both sides may share a terminal, because the local side receives the remote side's error messages.
#[test]
fn the_remote_side_shows_no_progress() {
    for direction in BOTH {
        let lop = Lop::with(&two());
        let way = Way::script("exec sh -c \"$* --progress always\"");
        let places = (&*lop.path("src"), &*lop.path("dst"));
        let output = way.run(&lop, direction, &["--bwlimit", "2M"], places).run();
        output.success();
        assert!(!output.stderr_str().contains("Mirroring"), "{}", output.stderr_str());
    }
}

#[test]
fn the_summary_is_the_same_as_without_another_host() {
    let lop = Lop::with(&two());
    three_alike(&lop);
    let mut said = Vec::new();
    for (name, run) in three(&lop, &Way::shell(), &["--delete"]) {
        let output = run.run();
        output.success();
        assert!(output.stdout.is_empty(), "{name}");
        let text = output.stderr_str().to_string();
        let (names, what) = text.split_once("; ").expect("two parts");
        let (names, _) = names.split_once(" in ").expect("a time");
        said.push((names.to_string(), what.to_string()));
    }
    assert!(said.iter().all(|text| *text == said[0]), "{said:?}");
    for (name, run) in three(&lop, &Way::shell(), &["--delete", "-q"]) {
        let output = run.run();
        output.success();
        assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{name}");
    }
}

#[test]
fn patterns_may_be_paths_of_either_side_and_those_that_matched_nothing_are_known() {
    let lop = Lop::with(
        &TreeBuilder::new()
            .file("src/a/b", "b")
            .file("src/IMG.JPG", "i")
            .file("src/img.png", "p")
            .file("old/keep/x", "x")
            .file("old/gone", "g"),
    );
    let way = Way::shell();
    for name in ["local", "pushed", "pulled"] {
        lop.run(["mirror", "old", name]).success();
        let to = lop.path(name);
        let patterns = [
            "--ignore-case".to_string(),
            format!("--exclude={}", lop.path("src/a").display()),
            format!("--exclude={}/keep/", to.display()),
            format!("--exclude={}/other", to.display()),
            "--exclude=*.jpg".into(),
            "--exclude=*.gif".into(),
        ];
        let patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
        let args = [&["--delete", "--json"][..], &patterns].concat();
        let (_, run) =
            three(&lop, &way, &args).into_iter().find(|(way, _)| *way == name).expect("one");
        let output = run.run();
        output.success();
        assert!(to.join("keep/x").exists() && !to.join("gone").exists(), "{name}");
        assert!(!to.join("a").exists() && !to.join("IMG.JPG").exists(), "{name}");
        assert!(to.join("img.png").exists(), "{name}");
        let unmatched = &document(&output)["summary"]["unmatched_patterns"];
        let expected = [format!("--exclude {}/other", to.display()), "--exclude *.gif".into()];
        assert_eq!(*unmatched, serde_json::json!(expected), "{name}");
    }
}

#[test]
fn much_is_removed_only_if_the_user_agrees_whichever_side_has_it() {
    let many = |tree: TreeBuilder| (0..9).fold(tree, |tree, n| tree.file(format!("old/{n}"), "x"));
    let lop = Lop::with(&many(TreeBuilder::new().file("src/a", "a")));
    let way = Way::shell();
    for direction in BOTH {
        let to = lop.path(direction.name());
        lop.run(["mirror", "old", direction.name()]).success();
        let run = || way.run(&lop, direction, &["--delete"], (&lop.path("src"), &to));
        let shown = run().talk(80, &[("[y/N] ", "n\n")]);
        assert_eq!(shown.code, Some(3), "{}", shown.text);
        assert!(shown.text.contains("9 entries of "), "{}", shown.text);
        assert!(shown.text.contains("extraneous entries: the answer was no"), "{}", shown.text);
        assert!(to.join("a").exists() && to.join("8").exists(), "{direction:?}");
        let shown = run().talk(80, &[("[y/N] ", "y\n")]);
        assert_eq!(shown.code, Some(0), "{}", shown.text);
        assert!(!to.join("8").exists(), "{direction:?}");
    }
}

#[test]
fn an_empty_source_empties_nothing_on_another_host() {
    empties_nothing(&TreeBuilder::new().dir("src"));
    empties_nothing(&TreeBuilder::new().dir("src/lost+found").dir("src/d/b"));
}

#[track_caller]
fn empties_nothing(source: &TreeBuilder) {
    let lop = Lop::with(source);
    lop.lay(&TreeBuilder::new().file("old/a", "a"));
    let way = Way::shell();
    for direction in BOTH {
        let to = lop.path(direction.name());
        lop.run(["mirror", "old", direction.name()]).success();
        let run = |args: &[&str]| {
            way.run(&lop, direction, &[&["--delete"][..], args].concat(), (&lop.path("src"), &to))
                .run()
        };
        let output = run(&[]);
        output.code(4);
        assert!(output.stderr_str().contains("is its disk mounted?"), "{}", output.stderr_str());
        assert!(to.join("a").exists(), "{direction:?}");
        run(&["--allow-empty-source"]).success();
        assert!(!to.join("a").exists(), "{direction:?}");
    }
}
