//! `--include` and `--exclude` as users type them: with paths relative to the directory, or as completed by a shell.

use testkit::{Output, TreeBuilder};

use crate::lop::{Lop, document};

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("dir/keep/a", "a")
        .file("dir/sub/keep/b", "b")
        .file("dir/sub/IMG.JPG", "i")
        .file("dir/odd [1]/c", "c")
        .symlink("way", "dir")
        .dir("empty")
}

/// Returns the forms in which a user may type `dir/keep`.
fn spellings(lop: &Lop) -> Vec<String> {
    let absolute = lop.path("dir/keep").display().to_string();
    let spelt =
        ["/keep", "./keep", "dir/keep", "./dir/keep", "dir/keep/", "way/keep", "dir//./keep"];
    spelt.into_iter().map(String::from).chain([absolute]).collect()
}

fn said(output: &Output, text: &str) -> bool {
    output.stderr_str().contains(text)
}

#[test]
fn paths_completed_by_a_shell_are_kept_by_purge() {
    let spelt = spellings(&Lop::new());
    for number in 0..spelt.len() {
        let lop = Lop::with(&tree());
        let pattern = spellings(&lop).swap_remove(number);
        let output = lop.run(["purge", "--exclude", &pattern, "dir"]);
        output.success();
        assert!(lop.path("dir/keep/a").exists(), "{pattern}");
        assert!(!lop.path("dir/sub").exists(), "{pattern}");
        assert!(!said(&output, "matched nothing"), "{pattern}");
    }
}

#[test]
fn paths_completed_by_a_shell_are_neither_mirrored_nor_removed() {
    let spelt = spellings(&Lop::new());
    for number in 0..spelt.len() {
        // Patterns match paths both in the source and in the destination.
        for (source, destination) in [("dir", "other"), ("empty", "dir")] {
            let lop = Lop::with(&tree().file("empty/x", "x").file("other/old", "o"));
            let pattern = spellings(&lop).swap_remove(number);
            let output =
                lop.run(["mirror", "--delete", "--exclude", &pattern, source, destination]);
            output.success();
            assert!(!lop.path("other/keep").exists(), "{pattern}");
            assert!(lop.path("dir/keep/a").exists(), "{pattern}");
            assert!(!lop.path("other/old").exists() || destination == "dir", "{pattern}");
            assert!(!said(&output, "matched nothing"), "{pattern}: {}", output.stderr_str());
        }
    }
}

#[test]
fn paths_completed_by_a_shell_are_skipped_by_a_scan() {
    let lop = Lop::with(&tree());
    for pattern in spellings(&lop) {
        let summary = lop.scan_summary(["--no-catalog", "--exclude", &pattern, "dir"]);
        assert_eq!((&summary["files"], &summary["skipped"]["excluded"]), (&3.into(), &1.into()));
        assert!(summary.get("unmatched_patterns").is_none(), "{pattern}");
    }
    // If the operand is a file, its path begins at the root directory.
    for pattern in ["dir/keep/*", "./dir/keep/a", lop.path("dir/**").to_str().expect("UTF-8")] {
        let summary = lop.scan_summary(["--no-catalog", "--exclude", pattern, "./dir/keep/a"]);
        assert_eq!(summary["files"], 0, "{pattern}");
    }
}

#[test]
fn a_named_path_that_is_excluded_is_kept() {
    let lop = Lop::with(&tree());
    let kept = lop.path("dir/keep");
    for pattern in ["keep", "dir/keep", kept.to_str().expect("UTF-8")] {
        let args = ["purge", "--exclude", pattern, "dir/keep"];
        let output = lop.run(args);
        output.success();
        assert!(kept.join("a").exists() && !said(&output, "matched nothing"), "{pattern}");
    }
}

#[test]
fn a_name_with_brackets_is_kept_as_it_was_completed() {
    let lop = Lop::with(&tree());
    lop.run(["purge", "--exclude", "dir/odd [1]", "dir"]).success();
    assert!(lop.path("dir/odd [1]/c").exists() && !lop.path("dir/keep").exists());
}

#[test]
fn a_tilde_is_the_home_directory() {
    let lop = Lop::new();
    TreeBuilder::new().file("dir/keep/a", "a").file("dir/b", "b").make(lop.home());
    let output = lop.command().args(["purge", "--exclude=~/dir/keep"]).arg(lop.home().join("dir"));
    output.run().success();
    assert!(lop.home().join("dir/keep/a").exists() && !lop.home().join("dir/b").exists());
}

#[test]
fn patterns_that_matched_nothing_are_named() {
    let lop = Lop::with(&tree());
    let patterns = ["--exclude", "/scratch/keep", "--exclude", "keep", "--include", "*.jpg"];
    for (command, dry) in [(&["purge", "-n", "dir"][..], true), (&["mirror", "dir", "new"], false)]
    {
        let output = lop.command().args(command).args(patterns).run();
        output.success();
        assert!(said(&output, "lop: --exclude /scratch/keep matched nothing\n"), "{command:?}");
        assert!(said(&output, "lop: --include *.jpg matched nothing\n"), "{command:?}");
        assert!(!said(&output, "--exclude keep"), "{command:?}");
        let quiet = lop.command().args(command).args(patterns).arg("-q").run();
        quiet.success();
        assert!(quiet.stderr.is_empty() || dry, "{}", quiet.stderr_str());
        assert!(!said(&quiet, "matched nothing"));
        let json = lop.command().args(command).args(patterns).arg("--json").run();
        let unmatched = &document(&json)["summary"]["unmatched_patterns"];
        let expected = serde_json::json!(["--include *.jpg", "--exclude /scratch/keep"]);
        assert_eq!(*unmatched, expected, "{command:?}");
    }
    let scan = lop.command().args(["scan", "--no-catalog", "dir"]).args(patterns).run();
    assert!(said(&scan, "lop: --include *.jpg matched nothing\n"));
    assert!(
        !lop.run(["purge", "-n", "--exclude", "/keep/a", "dir"]).stderr_str().contains("nothing")
    );
}

#[test]
fn entries_matched_by_an_ambiguous_pattern_are_kept() {
    let lop = Lop::with(&tree().file("dir/dir/keep/d", "d"));
    let output = lop.run(["purge", "--include", "dir/keep", "dir"]);
    output.code(4);
    let (inside, path) = (lop.path("dir/dir/keep"), lop.path("dir/keep"));
    let expected = format!("can mean {} or {}; nothing was", inside.display(), path.display());
    assert!(said(&output, &expected), "{}", output.stderr_str());
    assert!(lop.path("dir/keep/a").exists() && lop.path("dir/dir/keep/d").exists());
    lop.run(["mirror", "--delete", "--include", "dir/keep", "dir", "new"]).code(4);
    lop.run(["mirror", "--include", "dir/keep", "dir", "new"]).success();
    // An absolute path is not ambiguous.
    lop.run(["purge", "--include", path.to_str().expect("UTF-8"), "dir"]).success();
    assert!(!lop.path("dir/keep").exists() && lop.path("dir/dir/keep/d").exists());
    lop.run(["purge", "--exclude", "dir/keep", "dir"]).success();
    assert!(lop.path("dir/dir/keep/d").exists() && !lop.path("dir/sub").exists());
}

#[test]
fn patterns_are_case_sensitive_by_default() {
    let lop = Lop::with(&tree());
    let files = |args: &[&str]| {
        let summary =
            lop.scan_summary(["--no-catalog", "dir", "--include", "*.jpg"].iter().chain(args));
        summary["files"].as_u64().expect("a number")
    };
    assert_eq!((files(&[]), files(&["--ignore-case"])), (0, 1));
    lop.run(["mirror", "--ignore-case", "--include", "*.jpg", "dir", "new"]).success();
    assert!(lop.path("new/sub/IMG.JPG").exists());
    lop.run(["purge", "--include", "*.jpg", "dir"]).success();
    assert!(lop.path("dir/sub/IMG.JPG").exists());
    lop.run(["purge", "--ignore-case", "--include", "*.jpg", "dir"]).success();
    assert!(!lop.path("dir/sub/IMG.JPG").exists() && lop.path("dir/sub/keep/b").exists());
}
