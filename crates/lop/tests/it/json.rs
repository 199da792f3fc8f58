//! `--json` with every command, and the exit record.

use serde_json::{Value, json};
use testkit::{TreeBuilder, disk_space};

use crate::lop::{Lop, assert_exit_record, document, last_record};

fn scanned() -> Lop {
    let tree = TreeBuilder::new().file("a", "alike").file("b", "alike").file("d/c", "single");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

fn digest() -> Value {
    blake3::hash(b"alike").to_string().into()
}

fn absolute(lop: &Lop, name: &str) -> Value {
    lop.path(name).to_str().expect("UTF-8").into()
}

#[test]
fn scan_prints_a_summary_or_the_groups() {
    let lop = scanned();
    let summary = lop.json(["scan", "."])["summary"].clone();
    for (key, value) in [
        ("files", json!(3)),
        ("bytes", json!(16)),
        ("groups", json!(1)),
        ("redundant_files", json!(1)),
        ("reclaimable_bytes", json!(disk_space(lop.path("b")))),
        ("elsewhere", json!(0)),
        ("offline", json!(0)),
        ("skipped", json!({})),
        ("problems", json!(0)),
    ] {
        assert_eq!(summary[key], value, "{key}");
    }
    let document = lop.json(["scan", "--no-catalog", "."]);
    assert_eq!(document["summary"]["groups"], 1);
    let files = json!([{ "path": "./a" }, { "path": "./b" }]);
    let freed = disk_space(lop.path("b"));
    let group =
        json!({ "size": 5, "digest": digest(), "reclaimable_bytes": freed, "files": files });
    assert_eq!(document["groups"], json!([group]));
}

#[test]
fn the_summary_goes_to_standard_error_if_results_use_standard_output() {
    let lop = scanned();
    for command in [&["scan", "."][..], &["report"], &["dups", "."]] {
        for format in ["fdupes", "nul", "csv", "text"] {
            let output = lop.command().args(command).args(["--json", "--format", format]).run();
            output.success();
            let record = last_record(&output);
            assert!(record["summary"].is_object(), "{command:?} {format}: {record}");
        }
        let output = lop.command().args(command).args(["--json", "--format", "json"]).run();
        assert_eq!(output.stderr_str(), "", "{command:?}: it is in the document");
        assert!(document(&output)["summary"].is_object());
    }
}

#[test]
fn report_prints_groups_and_summary() {
    let lop = scanned();
    let files = json!([{ "path": absolute(&lop, "a") }, { "path": absolute(&lop, "b") }]);
    let freed = disk_space(lop.path("b"));
    let group =
        json!({ "size": 5, "digest": digest(), "reclaimable_bytes": freed, "files": files });
    let summary = json!({
        "groups": 1, "redundant_files": 1, "reclaimable_bytes": freed,
        "unknown": 0, "stale_files": 0, "pending": 0, "damaged": 0,
    });
    assert_eq!(lop.json(["report"]), json!({ "groups": [group], "summary": summary }));
}

#[test]
fn file_prints_the_file_and_the_others() {
    let lop = scanned();
    let other = json!({
        "path": absolute(&lop, "b"), "size": 5, "duplicates": null, "digest": digest(),
    });
    let a = json!({
        "path": "a", "size": 5, "duplicates": 1, "digest": digest(), "hard_links": 0,
        "others": [other],
    });
    let c = json!({
        "path": "d/c", "size": 6, "duplicates": 0, "digest": null, "hard_links": 0, "others": [],
    });
    assert_eq!(lop.json(["file", "a", "d/c"]), json!({ "files": [a, c] }));
}

#[test]
fn ls_prints_each_file_with_its_duplicates() {
    let lop = scanned();
    lop.lay(&TreeBuilder::new().file("new", "n").file("zero", ""));
    let a = json!({ "path": "./a", "size": 5, "duplicates": 1, "digest": digest() });
    let b = json!({ "path": "./b", "size": 5, "duplicates": 1, "digest": digest() });
    let new = json!({
        "path": "./new", "size": 1, "duplicates": null, "digest": null,
        "state": "not in the catalog",
    });
    let zero = json!({
        "path": "./zero", "size": 0, "duplicates": null, "digest": null, "state": "empty",
    });
    let output = lop.run(["ls", "--json"]);
    crate::lop::assert_exit_record(&output, 3);
    let d = json!({ "path": "./d", "files": 1, "bytes": 6, "duplicates": 0 });
    assert_eq!(document(&output), json!({ "files": [a, b, new, zero], "dirs": [d] }));
}

#[test]
fn dups_and_uniques_print_files_and_a_summary() {
    let lop = scanned();
    let dups = lop.json(["dups"]);
    let a = json!({ "path": "./a", "size": 5, "duplicates": 1, "digest": digest() });
    assert_eq!(dups["files"][0], a);
    let summary = json!({
        "files": 3, "duplicates": 2, "bytes": 10, "only_inside": 2, "only_system_dirs": 0,
        "unknown": 0, "stale_files": 0, "pending": 0, "damaged": 0, "problems": 0,
    });
    assert_eq!(dups["summary"], summary);
    let output = lop.run(["uniques", "--json", "--anywhere"]);
    output.code(6);
    let uniques = document(&output);
    let c = json!({ "path": "./d/c", "size": 6, "duplicates": 0, "digest": null });
    assert_eq!(uniques["files"], json!([c]));
    let summary = json!({
        "files": 3, "uniques": 1, "bytes": 6, "only_inside": 0, "only_system_dirs": 0,
        "unknown": 0, "stale_files": 0, "pending": 0, "damaged": 0,
        "empty": 0, "symlinks": 0, "special_files": 0, "problems": 0,
    });
    assert_eq!(uniques["summary"], summary);
    assert_eq!(output.stderr_str(), "", "an answer of no is no error");
}

#[test]
fn validate_and_refresh_print_a_summary() {
    let lop = scanned();
    let summary = json!({
        "matching": 2, "differing": 0, "changed": 0, "gone": 0, "offline": 0, "unchecked": 1,
        "problems": 0,
    });
    assert_eq!(lop.json(["validate"]), json!({ "files": [], "summary": summary }));
    let summary = json!({ "files": 3, "gone": 0, "offline": 0, "changed": 0, "problems": 0 });
    assert_eq!(lop.json(["refresh"]), json!({ "summary": summary }));
}

#[test]
fn every_document_is_plain_ascii_controls_escaped() {
    let tree =
        TreeBuilder::new().file("\u{202e}\u{7f}\u{9b}\n", "alike").file("b\x1b[31m", "alike");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    for command in [&["scan", "--no-catalog", "."][..], &["report"], &["ls"], &["dups"]] {
        let output = lop.command().args(command).arg("--json").run();
        output.success();
        let text = output.stdout_str();
        assert!(!text.contains(['\u{202e}', '\u{7f}', '\u{9b}', '\u{1b}']), "{command:?}: {text}");
        assert!(text.contains("\\u202e"), "{command:?}: {text}");
    }
}

#[test]
fn usage_errors_have_an_exit_record() {
    let lop = Lop::new();
    for args in [
        &["scan", "--json", "--no-such-option"][..],
        &["--json", "nothing-like-it"],
        &["scan", "--json", "--min-size", "2k", "--max-size", "1k"],
        &["scan", "--json", "--min-size", "much"],
        &["scan", "--json", "--include", "a[b"],
        &["--json", "file"],
    ] {
        assert_exit_record(&lop.run(args), 2);
    }
}

#[test]
fn a_missing_catalog_has_a_record_on_every_command() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "x"));
    for command in [
        &["report"][..],
        &["file", "a"],
        &["ls"],
        &["dups"],
        &["uniques"],
        &["validate"],
        &["refresh"],
    ] {
        let output = lop.command().args(command).arg("--json").run();
        assert_exit_record(&output, 5);
        let message = last_record(&output)["error"]["message"].to_string();
        assert!(message.contains("catalog.db"), "{command:?}: {message}");
        assert_eq!(output.stdout_str(), "", "{command:?}");
        assert!(output.stderr_str().contains("hint: "), "{command:?}");
    }
    assert!(!lop.catalog().exists(), "a question makes no catalog");
}

#[test]
fn partial_results_have_an_exit_record() {
    let lop = scanned();
    for args in [&["scan", ".", "nowhere"][..], &["file", "a", "nowhere"], &["file", "d"]] {
        assert_exit_record(&lop.command().args(args).arg("--json").run(), 3);
    }
}

#[test]
fn without_json_no_record_is_written() {
    let lop = scanned();
    for args in [&["scan", ".", "nowhere"][..], &["file", "nowhere"], &["ls", "nowhere"]] {
        let output = lop.run(args);
        assert!(!output.stderr_str().contains('{'), "{args:?}: {}", output.stderr_str());
    }
}
