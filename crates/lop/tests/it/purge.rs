//! `lop purge` as users run it.

use std::fs;

use testkit::{Signal, TreeBuilder, When, is_root, skipped};

use crate::lop::{Lop, document};

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("tree/a/b/c", "c")
        .file("tree/a/d", vec![1; 10_000])
        .dir("tree/empty")
        .symlink("tree/link", "/")
        .file("other/kept", "kept")
}

#[test]
fn a_tree_is_removed_and_the_summary_printed() {
    let lop = Lop::with(&tree());
    let output = lop.run(["purge", "tree"]);
    output.success();
    let said = output.stderr_str();
    assert!(said.starts_with("3 files and 4 directories removed in "), "{said}");
    assert!(!lop.path("tree").exists());
    assert!(lop.path("other/kept").exists());
}

#[test]
fn a_dry_run_changes_nothing() {
    let lop = Lop::with(&tree());
    let output = lop.run(["purge", "--dry-run", "tree"]);
    output.success();
    let expected = "would remove 3 files and 4 directories and free 16.0 KiB\n";
    assert_eq!(output.stderr_str(), expected);
    assert!(lop.path("tree/a/b/c").exists());
}

#[test]
fn paths_that_must_stay_are_refused_before_anything_is_removed() {
    let lop = Lop::with(&tree());
    for path in ["/", ".", "..", "tree/..", "../work", lop.home().to_str().expect("UTF-8")] {
        let output = lop.run(["purge", "tree", path]);
        output.code(4);
        assert!(output.stderr_str().contains("nothing was removed"), "{path}");
        assert!(lop.path("tree/a/b/c").exists(), "{path}");
    }
}

#[test]
fn missing_paths_are_reported_and_the_rest_is_removed() {
    let lop = Lop::with(&tree());
    let output = lop.run(["purge", "missing", "tree"]);
    output.code(3);
    assert!(output.stderr_str().contains("missing: cannot open: No such file or directory"));
    assert!(!lop.path("tree").exists());
    lop.run(["purge", "missing"]).code(1);
    lop.run::<&str>(["purge"]).code(2);
    lop.run(["purge", "--include", "a[", "other"]).code(2);
}

#[test]
fn json_has_the_figures() {
    let lop = Lop::with(&tree());
    let output = lop.run(["purge", "--json", "--exclude", "d", "tree"]);
    output.success();
    let document = document(&output);
    let summary = &document["summary"];
    assert_eq!((&summary["files"], &summary["dirs"]), (&2.into(), &2.into()));
    assert_eq!((&summary["unselected"], &summary["failed"]), (&1.into(), &0.into()));
    assert!(lop.path("tree/a/d").exists());
}

#[test]
fn an_ordinary_user_learns_what_could_not_be_removed() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let tree = TreeBuilder::new()
        .file("tree/mine/a", "a")
        .file("tree/theirs/b", "b")
        .file("tree/sticky/c", "c")
        .dir("tree/closed")
        .owner("tree", 65534, 65534)
        .owner("tree/mine", 65534, 65534)
        .owner("tree/mine/a", 65534, 65534)
        .owner("tree/closed", 65534, 65534)
        .mode("tree/closed", 0)
        .mode("tree/sticky", 0o1777);
    let lop = Lop::with(&tree);
    let output = lop.command().args(["purge", "tree"]).as_user(65534, 65534).run();
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("tree/theirs/b: cannot remove: Permission denied"), "{said}");
    assert!(said.contains("tree/sticky/c: cannot remove: Operation not permitted"), "{said}");
    assert!(!lop.path("tree/mine").exists() && !lop.path("tree/closed").exists());
    assert!(lop.path("tree/theirs/b").exists() && lop.path("tree/sticky/c").exists());
}

#[test]
fn many_paths_in_one_directory_take_one_descriptor() {
    let lop = Lop::with(&TreeBuilder::new());
    let names: Vec<String> = (0..300).map(|n| format!("many/{n}")).collect();
    for name in &names {
        fs::create_dir_all(lop.path(name).join("inside")).expect("made");
    }
    let args = ["purge".to_string()].into_iter().chain(names);
    let output = lop.command().args(args).descriptor_limit(64).run();
    output.success();
    assert!(output.stderr_str().starts_with("600 directories removed"));
}

#[test]
fn paths_in_more_directories_than_may_be_open_are_refused_together() {
    let lop = Lop::with(&TreeBuilder::new());
    let names: Vec<String> = (0..60).map(|n| format!("many/{n}/tree")).collect();
    for name in &names {
        fs::create_dir_all(lop.path(name)).expect("made");
    }
    let args = || ["purge".to_string()].into_iter().chain(names.clone());
    let output = lop.command().args(args()).descriptor_limit(64).run();
    output.code(4);
    assert!(output.stderr_str().contains("many/59/tree: is in one directory too many"));
    assert!(names.iter().all(|name| lop.path(name).exists()));
    lop.run(args()).success();
}

#[test]
fn a_rate_applies_to_all_paths_together() {
    let lop = Lop::with(&TreeBuilder::new());
    let mut names: Vec<String> = (0..20).map(|n| format!("file-{n}")).collect();
    for name in &names {
        fs::write(lop.path(name), "").expect("written");
    }
    for number in 0..5 {
        let dir = format!("dir-{number}");
        fs::create_dir(lop.path(&dir)).expect("made");
        (0..3).for_each(|n| fs::write(lop.path(&dir).join(n.to_string()), "").expect("written"));
        names.push(dir);
    }
    let args = ["purge", "--rate", "50"].map(String::from).into_iter().chain(names);
    let start = std::time::Instant::now();
    lop.run(args).success();
    // 35 files, minus the files that the throttle allows in its initial burst.
    assert!(start.elapsed() >= std::time::Duration::from_millis(34 * 20 - 60));
}

#[test]
fn descriptors_and_stack_may_be_few_however_deep_a_tree_is() {
    let lop = Lop::new();
    lop.lay(&TreeBuilder::new().deep_chain(30_000, "d", "at the bottom"));
    let mut tree: Vec<_> = fs::read_dir(lop.work()).expect("listed").collect();
    let top = tree.pop().expect("one").expect("an entry").path();
    let output = lop
        .command()
        .args(["purge", "--stats"])
        .arg(top.as_os_str())
        .descriptor_limit(32)
        .env("RUST_MIN_STACK", "262144")
        .run();
    output.success();
    assert!(!top.exists());
}

#[test]
fn ctrl_c_stops_and_says_how_far_it_came() {
    let mut tree = TreeBuilder::new();
    for i in 0..3000 {
        tree = tree.file(format!("tree/{}/{i}", i % 100), "x");
    }
    let lop = Lop::with(&tree);
    let output = lop
        .command()
        .args(["purge", "--rate", "500", "tree"])
        .signal(Signal::INT, When::After(std::time::Duration::from_millis(1500)))
        .run();
    output.signal(Signal::INT);
    let said = output.stderr_str();
    assert!(said.contains(" removed in "), "{said}");
    assert!(lop.path("tree").exists());
    lop.run(["purge", "tree"]).success();
    assert!(!lop.path("tree").exists());
}

/// No system call opens, moves or removes an entry by its full path; each call is relative to an open directory.
#[test]
fn after_the_operand_is_opened_no_path_is_resolved_again() {
    let lop = Lop::with(&tree());
    let trace = lop.path("trace");
    let traced = std::process::Command::new("strace")
        .args(["-f", "-y", "-e", "trace=%file,openat2", "-o"])
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_lop"))
        .args(["purge", "--threads", "2", "tree"])
        .current_dir(lop.work())
        .env("HOME", lop.home())
        .output();
    if !traced.is_ok_and(|output| output.status.success()) {
        return skipped("no strace");
    }
    let text = fs::read_to_string(&trace).expect("a trace");
    let calls: Vec<&str> = text.lines().collect();
    let opened =
        calls.iter().position(|call| call.contains("openat2(") && call.contains("\"tree\""));
    let after = &calls[opened.expect("the operand is opened") + 1..];
    let removals = after.iter().filter(|call| call.contains("unlinkat(")).count();
    assert_eq!(removals, 3 + 4, "{text}");
    for call in after {
        // The program reads /proc, /sys and /dev to learn about itself and the disk.
        let by_path = ["AT_FDCWD", "\"/", "unlink(", "rmdir(", "rename("];
        let own = ["\"/proc", "\"/sys", "\"/dev"];
        let is_bad = by_path.iter().any(|bad| call.contains(bad));
        assert!(!is_bad || own.iter().any(|own| call.contains(own)), "{call}");
        assert!(!call.contains("openat2(") || call.contains("RESOLVE_NO_XDEV"), "{call}");
    }
}

#[test]
fn a_dry_run_lists_every_entry_that_would_be_removed() {
    let lop = Lop::with(&tree().file("tree/a/odd \n\u{7f}", "o").hard_link("tree/a/d", "other/d"));
    let output = lop.run(["purge", "-n", "-v", "--exclude", "c", "tree", "other/kept"]);
    output.success();
    let listed: Vec<&str> = output.stdout_str().lines().collect();
    let mut sorted = listed.clone();
    sorted.sort_unstable();
    let expected = ["other/kept", "tree/a/d", "tree/empty/", "tree/link", "\\tree/a/odd \\n\u{7f}"];
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    assert!(lop.path("tree/empty").exists());
    let said = output.stderr_str();
    assert!(said.starts_with("would remove 4 files and 1 directory and free "), "{said}");
    assert!(said.contains(", 1 not selected; 1 is a hard link to a file outside and frees"));
    let quiet = lop.run(["purge", "-n", "tree"]);
    assert!(quiet.stdout.is_empty(), "{quiet:?}");
}

#[test]
fn a_dry_run_lists_exactly_what_is_removed() {
    let mut trees = tree();
    for n in 0..300 {
        trees = trees.file(format!("tree/wide/{}/{n}", n % 3), "x");
    }
    let lop = Lop::with(&trees);
    let every = |lop: &Lop| -> Vec<String> {
        let found = std::process::Command::new("find").arg("tree").current_dir(lop.work()).output();
        let found = String::from_utf8(found.expect("find runs").stdout).expect("UTF-8");
        let mut found: Vec<String> = found.lines().map(String::from).collect();
        found.sort_unstable();
        found
    };
    let before = every(&lop);
    let output = lop.run(["purge", "-n", "--json", "tree"]);
    output.success();
    let document = document(&output);
    let entries = document["entries"].as_array().expect("a list");
    let path = |entry: &serde_json::Value| entry["path"].as_str().expect("a path").to_string();
    let paths: Vec<String> = entries.iter().map(path).collect();
    // A directory comes after its entries.
    assert_eq!(paths.last().map(String::as_str), Some("tree"));
    let place = |path: &str| paths.iter().position(|other| other == path).expect("listed");
    assert!(place("tree/a/b/c") < place("tree/a/b") && place("tree/a/b") < place("tree/a"));
    assert_eq!(entries[place("tree/a")]["kind"], "directory");
    assert_eq!(entries[place("tree/link")]["kind"], "file");
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, before);
    assert_eq!(document["summary"]["files"], 303);
    lop.run(["purge", "--json", "tree"]).success();
    assert!(!lop.path("tree").exists());
}

#[test]
fn paths_come_from_a_list_too() {
    let lop = Lop::with(&tree().file("odd\nname/a", "a").file("list", "tree\n\nother/kept\n"));
    let output = lop.command().args(["purge", "--files-from", "-", "-0"]);
    output.stdin("odd\nname\0".as_bytes()).run().success();
    assert!(!lop.path("odd\nname").exists());
    lop.run(["purge", "--files-from", "list", "tree"]).code(2);
    lop.run(["purge", "--files-from", "list"]).success();
    assert!(!lop.path("tree").exists() && !lop.path("other/kept").exists());
    let missing = lop.run(["purge", "--files-from", "nowhere"]);
    missing.code(1);
    assert!(missing.stderr_str().contains("cannot read the list nowhere"), "{missing:?}");
    let none = lop.command().args(["purge", "--files-from", "-"]).run();
    none.success();
    assert!(none.stderr_str().starts_with("nothing removed in "), "{none:?}");
    let refused = lop.command().args(["purge", "--files-from", "-"]).stdin("other\n/\n").run();
    refused.code(4);
    assert!(lop.path("other").exists());
}

#[test]
fn ages_are_accepted_as_people_write_them() {
    let lop = Lop::with(&TreeBuilder::new().file("t/old", "o").mtime("t/old", 1_000_000_000, 0));
    for age in ["1y", "6mo", "2w", "30d"] {
        let output = lop.run(["purge", "-n", "--older-than", age, "t"]);
        assert!(
            output.stderr_str().starts_with("would remove 1 file and free"),
            "{age}: {output:?}"
        );
    }
    let output = lop.run(["purge", "--older-than", "1m", "t"]);
    output.code(2);
    assert!(
        output.stderr_str().contains("s, min, h, d, w, mo (30 days) or y (365 days)"),
        "{output:?}"
    );
}
