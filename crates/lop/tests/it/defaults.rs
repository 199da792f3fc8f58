//! The defaults of `lop dedupe`: which files it acts on, and which file it keeps.

use testkit::{Shown, Snapshot, TreeBuilder, assert_same};

use crate::lop::Lop;

const OLD: i64 = 1_000_000_000;

fn photos() -> TreeBuilder {
    TreeBuilder::new()
        .file("Downloads/IMG_0001 (1).jpg", "photo")
        .file("photos/2020/IMG_0001.jpg", "photo")
        .mtime("Downloads/IMG_0001 (1).jpg", OLD, 0)
        .mtime("photos/2020/IMG_0001.jpg", OLD + 1, 0)
        .file("letters/a copy.txt", "letter")
        .file("letters/b.txt", "letter")
        .mtime("letters/a copy.txt", OLD, 0)
        .mtime("letters/b.txt", OLD + 1, 0)
        .file("music/1/x.ogg", "song")
        .file("music/2/x.ogg", "song")
        .mtime("music/1/x.ogg", OLD + 1, 0)
        .mtime("music/2/x.ogg", OLD, 0)
        .file("same/long", "same time")
        .file("same/b", "same time")
        .mtime("same/long", OLD, 0)
        .mtime("same/b", OLD, 0)
}

fn scanned() -> Lop {
    let lop = Lop::with(&photos());
    lop.remember(["."]);
    lop
}

#[test]
fn the_file_that_a_person_would_keep_is_kept_and_the_reason_shown() {
    let lop = scanned();
    let shown = lop.run(["dedupe", "--by", "delete"]);
    shown.success();
    let work = lop.work().display().to_string();
    let text = shown.stdout_str().replace(&work, "");
    for line in [
        "  keep        /photos/2020/IMG_0001.jpg  (not in Downloads)\n",
        "  keep        /letters/b.txt  (name without \"copy\")\n",
        "  keep        /music/2/x.ogg  (oldest)\n",
        "  keep        /same/b  (shortest path)\n",
    ] {
        assert!(text.contains(line), "{line}{text}");
    }
    // Rules on the command line take precedence.
    let shown =
        lop.run(["dedupe", "--by", "delete", "--keep", "path:Downloads/", "--keep", "newest"]);
    let text = shown.stdout_str().replace(&work, "");
    assert!(text.contains("/Downloads/IMG_0001 (1).jpg  (path:Downloads/)\n"), "{text}");
    assert!(text.contains("/music/1/x.ogg  (newest)\n"), "{text}");
    assert!(text.contains("/same/b  (shortest path)\n"), "{text}");
    lop.run(["dedupe", "--by", "delete", "--keep", "tidy", "--apply", "."]).success();
    assert!(lop.path("photos/2020/IMG_0001.jpg").exists() && lop.path("letters/b.txt").exists());
}

#[test]
fn actions_that_remove_files_need_a_scope() {
    for by in ["delete", "quarantine", "symlink"] {
        let lop = scanned();
        let before = Snapshot::of(lop.work());
        let output = lop.run(["dedupe", "--by", by, "--apply"]);
        output.code(2);
        let said = output.stderr_str();
        assert!(said.contains(&format!("--by {by} --apply needs PATHs")), "{said}");
        assert_same(&before, &Snapshot::of(lop.work()), testkit::Compare::ALL);
        lop.run(["dedupe", "--by", by, "--apply", "--all", "letters"]).code(2);
        lop.run(["dedupe", "--by", by, "--apply", "letters"]).success();
        let output = lop.run(["dedupe", "--by", by, "--apply", "--all"]);
        assert!(output.success().stderr_str().starts_with("3 files "), "{}", output.stderr_str());
    }
    let lop = scanned();
    lop.run(["dedupe", "--by", "hardlink", "--apply"]).success();
}

#[test]
fn a_pattern_that_matched_no_file_is_reported() {
    let lop = scanned();
    let keep = |rule: &str| lop.run(["dedupe", "--by", "delete", "--keep", rule]);
    for rule in ["path:nowhere/photos", "path:*.png", "path:/photos/2020"] {
        let output = keep(rule);
        output.success();
        let expected = format!("lop: --keep {rule} matched no file\n");
        assert!(output.stderr_str().contains(&expected), "{}", output.stderr_str());
    }
    let absolute = format!("path:{}", lop.path("photos").display());
    for rule in ["path:photos", "path:2020/", "path:photos/**", "path:*.jpg", &absolute] {
        let output = keep(rule);
        assert!(!output.stderr_str().contains("matched no file"), "{rule}: {output:?}");
    }
    for rule in ["path:", "path:/", "path:a["] {
        keep(rule).code(2);
    }
    let quiet = lop.run(["dedupe", "--by", "delete", "-q", "--keep", "path:nowhere"]);
    assert!(quiet.stderr.is_empty(), "{}", quiet.stderr_str());
}

#[test]
fn deleting_many_files_needs_the_agreement_of_the_user() {
    let mut tree = TreeBuilder::new();
    for n in 0..=1001 {
        tree = tree.file(format!("d/{n}"), "alike");
    }
    let lop = Lop::with(&tree);
    lop.remember(["d"]);
    let plan = lop.state().join("plan.jsonl").display().to_string();
    lop.run(["dedupe", "--by", "delete", "--save-plan", &plan]).success();
    let talk = |args: &[&str], dialogue: &[(&str, &str)], code: i32| -> Shown {
        let shown = lop.command().arg("dedupe").args(args).talk(80, dialogue);
        assert_eq!(shown.code, Some(code), "{args:?}:\n{}", shown.text);
        shown
    };
    // A saved plan has the sizes of files, but not their disk space.
    for (args, size) in [
        (&["--by", "delete", "--apply", "d"][..], "3.9 MiB to free"),
        (&["--plan", &plan, "--apply"], "total size 4.9 KiB"),
    ] {
        let shown = talk(args, &[("Delete them? [y/N] ", "n\n")], 4);
        let requested = format!("1,001 files would be deleted ({size})");
        assert!(shown.text.contains(&requested), "{}", shown.text);
    }
    assert!(lop.path("d/1000").exists());
    let shown = talk(&["--by", "quarantine", "--apply", "d"], &[], 0);
    assert!(!shown.text.contains("[y/N]"), "{}", shown.text);
    lop.run(["undo"]).success();
    talk(&["--by", "delete", "--apply", "--yes", "d"], &[], 0);
}
