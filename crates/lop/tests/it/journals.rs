//! Journals that are damaged, forged, or from another version.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, chown};

use testkit::{Compare, NOBODY, Snapshot, TreeBuilder, assert_same, is_root, skipped};

use crate::lop::Lop;

/// Returns a tree in which two of three identical files were deleted, and a snapshot from before the deletion.
fn deleted() -> (Lop, Snapshot) {
    let tree = TreeBuilder::new()
        .file("a", "alike")
        .file("deep/b", "alike")
        .file("deep/c", "alike")
        .mtime("a", 999_999_999, 0)
        .mtime("deep/b", 1_000_000_000, 0);
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let before = Snapshot::of(lop.work());
    lop.run(["dedupe", "--by", "delete", "--apply", "--all"]).success();
    assert!(!lop.path("deep/b").exists());
    (lop, before)
}

/// Changes the text of a journal.
fn edit(lop: &Lop, change: impl Fn(&str) -> String) {
    let journal = lop.runs().join("1.jsonl");
    let text = fs::read_to_string(&journal).expect("a journal");
    let changed = change(&text);
    assert_ne!(text, changed);
    fs::write(&journal, changed).expect("written");
}

#[test]
fn a_path_that_was_changed_in_a_journal_is_not_acted_on() {
    let (lop, _) = deleted();
    edit(&lop, |text| text.replace("/deep/b\"", "/elsewhere/x/b\""));
    let output = lop.run(["undo"]);
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("run 1: 1 line of its journal is damaged"), "{said}");
    assert!(!lop.path("elsewhere").exists(), "no directory was made");
    assert!(lop.path("deep/c").exists(), "what the other lines tell of is back");
    let history = lop.run(["history"]);
    let said = history.success().stdout_str();
    assert!(said.contains("1 line of its journal damaged"), "{said}");
}

#[test]
fn any_flipped_bit_of_a_journal_is_noticed() {
    for offset in [20, 60, 200, 300] {
        let (lop, before) = deleted();
        let journal = lop.runs().join("1.jsonl");
        let mut bytes = fs::read(&journal).expect("a journal");
        let mark = br#"{"record":"will""#;
        let at = bytes.windows(mark.len()).position(|some| some == mark).expect("an intent");
        bytes[at + offset] ^= 4;
        fs::write(&journal, &bytes).expect("written");
        lop.run(["undo"]).code(3);
        let after = Snapshot::of(lop.work());
        let strange: Vec<_> =
            after.entries.keys().filter(|name| before.get(name).is_none()).collect();
        assert!(strange.is_empty(), "{strange:?}");
        assert_eq!(after.entries.len(), before.entries.len() - 1, "the other one is back");
    }
}

#[test]
fn a_journal_of_an_earlier_format_is_refused_and_says_so() {
    let (lop, _) = deleted();
    edit(&lop, |text| text.replace("\"format_version\":2", "\"format_version\":1"));
    let output = lop.run(["undo", "1"]);
    output.code(1);
    let said = output.stderr_str();
    assert!(said.contains("an earlier version of lop wrote it (format 1)"), "{said}");
    assert!(!lop.path("deep/b").exists());
}

#[test]
fn a_journal_that_somebody_else_may_have_written_is_refused() {
    let (lop, before) = deleted();
    let journal = lop.runs().join("1.jsonl");
    let mode = |mode| fs::set_permissions(&journal, PermissionsExt::from_mode(mode));
    mode(0o666).expect("allowed");
    let output = lop.run(["undo", "1"]);
    output.code(1);
    let said = output.stderr_str();
    assert!(said.contains("1.jsonl: other users may write to it (mode 0666)"), "{said}");
    mode(0o600).expect("allowed");
    if is_root() {
        for path in [&journal, &lop.runs()] {
            chown(path, Some(NOBODY), None).expect("given away");
            let output = lop.run(["undo", "1"]);
            output.code(1);
            let said = output.stderr_str();
            assert!(said.contains("it belongs to user"), "{said}");
            chown(path, Some(0), None).expect("taken back");
        }
    } else {
        skipped("only root can create files of other users");
    }
    lop.run(["undo", "1"]).success();
    assert_same(&before, &Snapshot::of(lop.work()), Compare::VISIBLE);
}

#[test]
fn history_calls_no_run_interrupted_that_may_still_be_running() {
    let (lop, _) = deleted();
    edit(&lop, |text| {
        let end = text.trim_end().rfind('\n').expect("several lines") + 1;
        text[..end].into()
    });
    let lock = File::options().append(true).create(true).open(lop.runs().join("lock"));
    let lock = lock.expect("opens");
    let says = |result: &str| {
        let runs = lop.json(["history"])["runs"].clone();
        assert!(runs[0]["ended_ms"].is_null(), "{runs}");
        for arguments in [&["history"][..], &["history", "1"]] {
            let output = lop.run(arguments.iter().copied());
            let said = output.success().stdout_str().lines().next().unwrap_or_default().to_owned();
            assert!(said.ends_with(result), "{said}");
        }
    };
    says("2 files, 8.0 KiB freed, interrupted");
    lock.lock().expect("locked");
    says("2 files, 8.0 KiB freed, may still be running");
    lock.unlock().expect("unlocked");
    says("2 files, 8.0 KiB freed, interrupted");
}
