//! `lop sweep` as users and scripts run it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;
use testkit::{Compare, Output, Snapshot, TreeBuilder, assert_same};

use crate::lop::{Lop, assert_exit_record, document};

pub(crate) const RULES: &str = r#"
format = 1
[[rule]]
id = "tmp"
what = "Temporary files"
risk = "regenerates"
tags = ["temp"]
anywhere = ["*.tmp"]
except = ["keep.tmp"]
[[rule]]
id = "cargo.target"
what = "Build output"
risk = "costs"
tags = ["build"]
at = "**/target"
take = "self"
beside = ["Cargo.toml"]
"#;

/// A rule that a guard refuses.
pub(crate) const WIDE: &str = r#"
[[rule]]
id = "wide"
what = "Too much"
risk = "costs"
at = "{home}"
"#;

/// A rule that cannot be read.
pub(crate) const MALFORMED: &str = r#"
[[rule]]
id = "unknown"
what = "Uses a variable that no version of lop has"
risk = "costs"
at = "{nowhere}/a"
"#;

pub(crate) fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("t/a.tmp", "12345")
        .file("t/d/b.tmp", "b")
        .file("t/d/keep.tmp", "kept")
        .file("t/d/b.tmplate", "no match")
        .file("t/p/Cargo.toml", "")
        .file("t/p/target/debug/x", vec![1; 9000])
        .symlink("t/p/target/link", "../../d")
        .file("t/q/target/y", "no Cargo.toml beside it")
}

/// Returns the program in a directory with the tree and a rule file.
pub(crate) fn lop_with(rules: &str) -> Lop {
    lop_in(&tree(), rules)
}

pub(crate) fn lop_in(tree: &TreeBuilder, rules: &str) -> Lop {
    Lop::with(&tree.clone().file("rules.toml", rules).mode("rules.toml", 0o600))
}

#[track_caller]
pub(crate) fn sweep(lop: &Lop, args: &[&str]) -> Output {
    lop.command().args(["sweep", "--rules", "rules.toml"]).args(args).run()
}

#[track_caller]
fn preview(lop: &Lop, args: &[&str]) -> Value {
    let output = sweep(lop, &[args, &["--json"]].concat());
    output.success();
    document(&output)
}

fn rule<'d>(document: &'d Value, id: &str) -> &'d Value {
    let rules = document["rules"].as_array().expect("rules");
    rules.iter().find(|rule| rule["id"] == id).unwrap_or_else(|| panic!("no {id}: {document}"))
}

#[test]
fn a_preview_says_what_each_rule_takes_and_changes_nothing() {
    let lop = lop_with(RULES);
    let before = Snapshot::of(lop.path("t"));
    let found = preview(&lop, &["t"]);
    assert_same(&before, &Snapshot::of(lop.path("t")), Compare::ALL);
    let tmp = rule(&found, "tmp");
    assert_eq!((&tmp["files"], &tmp["risk"]), (&2.into(), &"regenerates".into()));
    assert_eq!((&tmp["bytes"], &tmp["matches"]), (&8192.into(), &2.into()));
    let target = rule(&found, "cargo.target");
    assert_eq!((&target["files"], &target["matches"]), (&2.into(), &1.into()));
    assert_eq!(
        (&found["refused"], &found["dropped"]),
        (&Value::Array(vec![]), &serde_json::json!({}))
    );
    assert_eq!(found["bindings"][0]["variable"], "top");
    assert_eq!(
        (&found["summary"]["files"], &found["summary"]["dry_run"]),
        (&4.into(), &true.into())
    );
    assert!(found.get("matches").is_none(), "{found}");
    let output = sweep(&lop, &["t"]);
    output.success();
    let text = output.stdout_str();
    assert!(text.starts_with("t  no operating system\n  rules: 2 active, 2 match\n"), "{text}");
    assert!(text.contains("  regenerates  tmp ") && text.contains("  2 directories\n"), "{text}");
    assert!(
        text.contains("  costs        cargo.target ") && text.contains("  p/target\n"),
        "{text}"
    );
    let said = output.stderr_str();
    assert!(said.starts_with("lop changed nothing. --apply moves 4 files ("), "{said}");
    assert_same(&before, &Snapshot::of(lop.path("t")), Compare::ALL);
}

#[test]
fn the_working_directory_is_the_default_target() {
    let lop = lop_with(RULES);
    let output = lop
        .command()
        .cwd(lop.path("t"))
        .args(["sweep", "--rules", "../rules.toml", "--list"])
        .run();
    output.success();
    assert_eq!(output.stdout_str(), "./a.tmp\n./d/b.tmp\n./p/target\n");
}

#[test]
fn apply_moves_the_matches_and_undo_restores_the_tree() {
    let lop = lop_with(RULES);
    let before = Snapshot::of(lop.path("t"));
    let output = sweep(&lop, &["--apply", "t"]);
    output.success();
    let said = output.stderr_str();
    assert!(
        said.starts_with("Moved 4 files (")
            && said.ends_with(" to quarantine. Undo with: lop undo 1\n"),
        "{said}"
    );
    for gone in ["t/a.tmp", "t/d/b.tmp", "t/p/target"] {
        assert!(!lop.path(gone).exists(), "{gone}");
    }
    for kept in ["t/d/keep.tmp", "t/d/b.tmplate", "t/q/target/y", "t/p/Cargo.toml"] {
        assert!(lop.path(kept).exists(), "{kept}");
    }
    lop.run(["undo", "1"]).success();
    assert_same(&before, &Snapshot::of(lop.path("t")), Compare::ALL - Compare::DIR_MTIMES);
}

#[test]
fn delete_frees_the_space_and_says_how_much() {
    let lop = lop_with(RULES);
    let shown = sweep(&lop, &["t"]);
    let (_, space) = shown.stderr_str().split_once("moves 4 files (").expect("an amount");
    let (space, _) = space.split_once(')').expect("an amount");
    let output = sweep(&lop, &["--delete", "t"]);
    output.success();
    let said = output.stderr_str();
    assert_eq!(said, format!("Freed {space}: 4 files removed\n"));
    assert!(!lop.path("t/p/target").exists() && lop.path("t/d/keep.tmp").exists());
    assert!(!lop.runs().exists(), "nothing can be undone");
    let again = sweep(&lop, &["--delete", "t"]);
    again.success();
    assert_eq!(again.stderr_str(), "Nothing to take. lop changed nothing.\n");
}

#[test]
fn names_that_are_not_utf_8_are_listed_and_moved() {
    let name = OsStr::from_bytes(b"t/\xff\n.tmp");
    let lop = lop_in(&TreeBuilder::new().file(name, "x"), RULES);
    let listed = sweep(&lop, &["t", "--list", "-0"]);
    listed.success();
    assert_eq!(listed.stdout, b"t/\xff\n.tmp\0");
    let found = preview(&lop, &["t", "--list"]);
    assert_eq!(found["matches"][0]["path_base64"], "dC//Ci50bXA=");
    sweep(&lop, &["--plan", "plan", "t"]).success();
    lop.run(["sweep", "--plan", "plan", "--apply"]).success();
    assert!(!lop.path(name).exists());
    lop.run(["undo"]).success();
    assert!(lop.path(name).exists());
}

#[test]
fn a_list_can_be_limited_to_one_rule() {
    let lop = lop_with(RULES);
    let list = |args: &[&str]| {
        let output = sweep(&lop, args);
        output.success();
        output.stdout_str().to_string()
    };
    let all = "t/a.tmp\nt/d/b.tmp\nt/p/target\n";
    assert_eq!(list(&["t", "--list", "cargo.target"]), "t/p/target\n");
    assert_eq!(list(&["--list=tmp", "t"]), "t/a.tmp\nt/d/b.tmp\n");
    // The value is not the ID of a rule.
    assert_eq!(list(&["--list", "t"]), all);
    assert_eq!(list(&["--list", "-0", "t"]), all.replace('\n', "\0"));
    let output = sweep(&lop, &["t", "--list", "no-such-rule"]);
    output.code(2);
    assert!(output.stderr_str().starts_with("lop: --list no-such-rule: no rule has this ID"));
}

#[test]
fn refused_rules_take_nothing_and_others_still_work() {
    let lop = lop_with(&[RULES, WIDE, MALFORMED].concat());
    let found = preview(&lop, &["t"]);
    assert_eq!(found["refused"][0]["id"], "wide");
    assert_eq!(found["refused"][0]["guard"], 2);
    assert!(found["refused"][0]["reason"].as_str().is_some_and(|reason| !reason.is_empty()));
    assert_eq!(found["dropped"], serde_json::json!({"unknown_variable": 1}));
    assert_eq!(rule(&found, "tmp")["files"], 2);
    let output = sweep(&lop, &["t"]);
    output.success();
    assert!(output.stdout_str().contains("  refused      wide  "), "{}", output.stdout_str());
    sweep(&lop, &["--apply", "t"]).success();
    assert!(!lop.path("t/a.tmp").exists());
}

#[test]
fn strict_refuses_everything_if_a_rule_was_refused_or_dropped() {
    for more in [WIDE, MALFORMED] {
        let lop = lop_with(&[RULES, more].concat());
        let before = Snapshot::of(lop.path("t"));
        for how in [
            &["--json"][..],
            &["--json", "--apply"],
            &["--json", "--delete"],
            &["--json", "--plan", "p"],
        ] {
            let output = sweep(&lop, &[&["--strict", "t"], how].concat());
            assert_exit_record(&output, 4);
            assert!(output.stderr_str().contains("nothing was changed"));
        }
        assert!(!lop.path("p").exists());
        assert_same(&before, &Snapshot::of(lop.path("t")), Compare::ALL);
    }
    sweep(&lop_with(RULES), &["--strict", "t"]).success();
}

#[test]
fn quiet_never_asks_before_a_move() {
    let lop = lop_with(RULES);
    let shown =
        lop.command().args(["sweep", "-q", "--rules", "rules.toml", "--apply", "t"]).talk(80, &[]);
    assert_eq!((shown.code, shown.text.as_str()), (Some(0), ""));
    assert!(!lop.path("t/a.tmp").exists());
}

#[test]
fn a_person_may_decline() {
    let lop = lop_with(RULES);
    let talk = |args: &[&str], answer: &str| {
        let args = [&["sweep", "--rules", "rules.toml", "t"], args].concat();
        lop.command().args(args).talk(100, &[("[y/N] ", answer)])
    };
    for how in ["--apply", "--delete"] {
        let shown = talk(&[how], "n\n");
        assert_eq!(shown.code, Some(4), "{}", shown.text);
        assert!(
            shown.text.contains("cargo.target") && shown.text.contains("4 files ("),
            "{}",
            shown.text
        );
        assert!(shown.text.contains("nothing was changed"), "{}", shown.text);
        assert!(lop.path("t/a.tmp").exists() && lop.path("t/p/target").exists());
    }
    assert_eq!(talk(&["--apply"], "y\n").code, Some(0));
    assert!(!lop.path("t/a.tmp").exists());
    lop.run(["undo"]).success();
    let shown = lop
        .command()
        .args(["sweep", "--rules", "rules.toml", "--delete", "--yes", "t"])
        .talk(80, &[]);
    assert_eq!(shown.code, Some(0), "{}", shown.text);
    assert!(!lop.path("t/a.tmp").exists());
}

#[test]
fn options_select_rules_by_tag_id_and_age() {
    let lop = lop_in(&tree().mtime("t/a.tmp", 1_000_000_000, 0), RULES);
    let ids = |args: &[&str]| -> Vec<String> {
        let found = preview(&lop, &[args, &["t"]].concat());
        let rules = found["rules"].as_array().expect("rules");
        let taking = rules.iter().filter(|rule| rule["files"] != 0);
        taking.map(|rule| rule["id"].as_str().unwrap_or_default().into()).collect()
    };
    assert_eq!(ids(&[]), ["tmp", "cargo.target"]);
    assert_eq!(ids(&["--only", "build"]), ["cargo.target"]);
    assert_eq!(ids(&["--only", "build,temp"]), ["tmp", "cargo.target"]);
    assert_eq!(ids(&["--skip", "cargo.target"]), ["tmp"]);
    // The status of every file has just changed.
    assert!(ids(&["--older", "1d"]).is_empty());
    assert_eq!(ids(&["--older", "0s"]), ["tmp", "cargo.target"]);
    for wrong in [["--only", "none"], ["--skip", "none"], ["--allow", "none"]] {
        let output = sweep(&lop, &[&wrong[..], &["t"]].concat());
        output.code(2);
        assert!(output.stderr_str().contains(wrong[0]), "{}", output.stderr_str());
    }
}

#[test]
fn unknown_sets_and_missing_rules_list_the_shipped_sets() {
    let lop = lop_with(RULES);
    for args in [
        &["sweep", "t"][..],
        &["sweep", "--rules", "no-such-set", "t"],
        &["sweep", "--rules", "rules.toml,no-such-set"],
    ] {
        let output = lop.run(args);
        output.code(2);
        let said = output.stderr_str();
        assert!(said.contains("the shipped sets are: ") && said.contains("thumbnails"), "{said}");
    }
    lop.run(["sweep", "--rules", "missing.toml", "t"]).code(1);
    fs::write(lop.path("rules.yaml"), "").expect("written");
    lop.run(["sweep", "--rules", "rules.yaml", "t"]).code(2);
}

#[test]
fn rules_that_others_could_have_written_are_refused() {
    let tree = tree().file("open.toml", RULES).mode("open.toml", 0o666);
    let lop = Lop::with(&tree);
    let output = lop.run(["sweep", "--rules", "open.toml", "--apply", "t"]);
    output.code(4);
    assert!(output.stderr_str().contains("open.toml") && lop.path("t/a.tmp").exists());
}

#[test]
fn several_rule_files_and_targets_are_swept_together() {
    let other = "format = 1\n[[rule]]\nid = \"log\"\nwhat = \"Logs\"\nrisk = \"costs\"\nanywhere = [\"*.log\"]\n";
    let tree = tree()
        .file("u/x.log", "x")
        .file("u/y.tmp", "y")
        .file("b.toml", other)
        .mode("b.toml", 0o600);
    let lop = lop_in(&tree, RULES);
    let output = lop.run(["sweep", "--rules", "rules.toml,b.toml", "t", "u", "--list"]);
    output.success();
    assert_eq!(output.stdout_str(), "t/a.tmp\nt/d/b.tmp\nt/p/target\nu/x.log\nu/y.tmp\n");
    lop.run(["sweep", "--rules", "rules.toml", "--rules", "b.toml", "--apply", "t", "u"]).success();
    assert!(!lop.path("u/x.log").exists() && !lop.path("t/a.tmp").exists());
    lop.run(["undo"]).success();
    assert!(lop.path("u/x.log").exists() && lop.path("t/a.tmp").exists());
    lop.run(["sweep", "--rules", "rules.toml", "t", "t/d"]).code(2);
    let twice = lop.run(["sweep", "--rules", "rules.toml", "t", "./t", "--list"]);
    assert_eq!(twice.stdout_str(), "t/a.tmp\nt/d/b.tmp\nt/p/target\n");
    fs::write(lop.path("b.toml"), RULES).expect("written");
    let output = lop.run(["sweep", "--rules", "rules.toml,b.toml", "t"]);
    output.code(1);
    assert!(
        output.stderr_str().contains("two rules have the ID tmp: rules.toml:3 and b.toml:3"),
        "{}",
        output.stderr_str()
    );
}

#[test]
fn explain_names_the_rule_and_what_each_component_matches() {
    let lop = lop_with(RULES);
    let explain = |path: &str| {
        let output = sweep(&lop, &["t", "--explain", path]);
        output.success();
        output.stdout_str().to_string()
    };
    let text = explain("t/p/target/debug/x");
    assert!(text.starts_with("t/p/target/debug/x: matches cargo.target\n"), "{text}");
    assert!(text.contains("takes all of t/p/target\n"), "{text}");
    assert!(
        text.contains("component   ** matches p\n    component   target matches target\n"),
        "{text}"
    );
    let text = explain("t/d/keep.tmp");
    assert!(
        text.starts_with("t/d/keep.tmp: no rule takes it\n  tmp  kept by the exclusion "),
        "{text}"
    );
    let text = explain("t/q/target/y");
    assert!(text.contains("a condition is not met: beside"), "{text}");
    assert_eq!(explain("t/d/b.tmplate"), "t/d/b.tmplate: no rule matches\n");
    let found = preview(&lop, &["t", "--explain", "t/a.tmp"]);
    assert_eq!(
        (&found["rules"][0]["id"], &found["rules"][0]["takes"]),
        (&"tmp".into(), &true.into())
    );
    sweep(&lop, &["t", "--explain", "rules.toml"]).code(2);
}

#[test]
fn shipped_rules_with_a_risk_for_the_user_are_off() {
    let lop = lop_with(RULES);
    let off = |args: &[&str]| -> usize {
        let args = [&["sweep", "--rules", "bins", "--json", "t"], args].concat();
        let output = lop.run(args);
        output.success();
        document(&output)["off"].as_array().expect("off").len()
    };
    let table = lop.run(["sweep", "--rules", "bins", "t"]);
    let text = table.stdout_str();
    assert!(
        text.contains("\n  off          --allow ID turns these rules on: windows.bin"),
        "{text}"
    );
    let all = off(&[]);
    assert!(all > 0, "the set has rules that need a review");
    let output = lop.run(["sweep", "--rules", "bins", "--json", "t"]);
    let id = document(&output)["off"][0]["id"].as_str().expect("an ID").to_string();
    assert_eq!(off(&["--allow", &id]), all - 1);
}
