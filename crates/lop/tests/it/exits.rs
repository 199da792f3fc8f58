//! Every exit code of docs/exit-codes.md, with its message.

use testkit::{NOBODY, Signal, TreeBuilder, When, is_root, skipped};

use crate::lop::Lop;

fn scanned() -> Lop {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("d/b", "alike").file("c", "x"));
    lop.remember(["."]);
    lop
}

#[test]
fn done_is_0_also_where_nothing_was_found() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "x").dir("empty"));
    lop.run(["scan", "."]).success();
    lop.run(["scan", "--no-catalog", "empty"]).success();
    lop.run(["report"]).success();
    lop.run(["file", "a"]).success();
    lop.run(["ls", "empty"]).success();
    lop.run(["dups", "."]).success();
    lop.run(["uniques", "empty"]).success();
    lop.run(["validate"]).success();
    lop.run(["refresh"]).success();
}

#[test]
fn help_and_version_are_0() {
    let lop = Lop::new();
    for args in [
        &["--help"][..],
        &["-h"],
        &["help"],
        &["help", "scan"],
        &["scan", "--help"],
        &["uniques", "-h"],
        &["--version"],
    ] {
        let output = lop.run(args);
        output.success();
        assert_ne!(output.stdout_str(), "", "{args:?}");
        assert_eq!(output.stderr_str(), "", "{args:?}");
    }
}

#[test]
fn failed_is_1() {
    let lop = scanned();
    for args in [
        &["ls", "nowhere"][..],
        &["ls", "a"],
        &["dups", "nowhere"],
        &["uniques", "nowhere"],
        &["uniques", "a"],
        &["scan", "nowhere"],
        &["scan", "--files-from", "nowhere"],
    ] {
        let output = lop.run(args);
        output.code(1);
        let name = args.last().expect("an argument");
        let said = output.stderr_str();
        assert!(said.starts_with("lop: ") && said.contains(name), "{args:?}: {said}");
    }
}

#[test]
fn wrong_usage_is_2_and_says_so_on_standard_error() {
    let lop = scanned();
    for args in [
        &["nothing-like-it"][..],
        &["scan", "--no-such-option"],
        &["scan", "--threads", "0"],
        &["scan", "--threads", "many"],
        &["scan", "--min-size", "-1"],
        &["scan", "--min-size", "1.5"],
        &["scan", "--max-size", "10 apples"],
        &["scan", "--min-size", "2k", "--max-size", "1k"],
        &["scan", "--format", "yaml"],
        &["scan", "--files-from", "x", "y"],
        &["report", "--sort", "colour"],
        &["report", "--limit", "-1"],
        &["file"],
        &["dups", "--sort", "count"],
        &["--progress", "sometimes", "report"],
        &["-q", "-v", "report"],
        &["--catalog"],
    ] {
        let output = lop.run(args);
        output.code(2);
        assert_eq!(output.stdout_str(), "", "{args:?}");
        // The message begins like every other error.
        assert!(output.stderr_str().starts_with("lop: "), "{args:?}");
    }
}

#[test]
fn done_in_part_is_3() {
    let lop = scanned();
    lop.run(["scan", ".", "nowhere"]).code(3);
    let output = lop.run(["file", "a", "nowhere", "d"]);
    output.code(3);
    assert!(output.stdout_str().starts_with("a: 1 duplicate, 5 B\n"), "the rest is answered");
    let said = "lop: nowhere: No such file or directory\nlop: d: not a regular file\n";
    assert_eq!(output.stderr_str(), said);
    if !is_root() {
        return skipped("only root can run the rest as a user without permissions");
    }
    let lop = Lop::with(&TreeBuilder::new().file("d/a", "alike").file("b", "alike").mode("d", 0));
    let as_nobody = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
    as_nobody(&["scan", "."]).code(3);
    as_nobody(&["dups", "."]).code(3);
    as_nobody(&["ls", "-R", "."]).code(3);
}

#[test]
fn a_catalog_that_cannot_be_used_is_5() {
    let lop = Lop::with(
        &TreeBuilder::new().file("a", "x").file("not a catalog", "x".repeat(5000).as_str()),
    );
    lop.run(["report"]).code(5);
    lop.run(["report", "--catalog", "nowhere.db"]).code(5);
    lop.run(["report", "--catalog", "not a catalog"]).code(5);
    lop.run(["scan", "--catalog", "not a catalog"]).code(5);
    lop.run(["scan", "--catalog", "."]).code(5);
}

#[test]
fn an_answer_of_no_is_6() {
    let lop = scanned();
    lop.run(["uniques", "."]).code(6);
    lop.run(["uniques", "d"]).code(0);
}

#[test]
fn sigint_and_sigterm_end_the_program_as_themselves() {
    let lop = Lop::with(&TreeBuilder::new().fifo("fifo"));
    for signal in [Signal::INT, Signal::TERM] {
        // The scan waits for a list that never arrives.
        let scan = lop.command().args(["scan", "--files-from", "fifo"]);
        let new = lop.state().join("lop/catalog.db.new");
        let output = scan.signal(signal, When::File(new, Vec::new())).run();
        output.signal(signal);
        assert_eq!(output.signals_sent, 1);
        assert!(!lop.catalog().exists());
    }
}

#[test]
fn signals_that_were_ignored_from_the_start_stay_ignored() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike").fifo("fifo"));
    let signals = [Signal::INT, Signal::TERM, Signal::HUP];
    // The scan waits for a list that has not arrived yet.
    let scan = lop.command().args(["scan", "--files-from", "fifo"]).ignoring(signals);
    let mut running = scan.spawn();
    let new = lop.state().join("lop/catalog.db.new");
    assert!(running.wait_for(&When::File(new, Vec::new())));
    assert!(signals.into_iter().all(|signal| running.signal(signal)));
    std::fs::write(lop.path("fifo"), "a\nb\n").expect("it is read");
    running.wait().success();
    assert!(lop.catalog().exists());
}

#[test]
fn without_a_home_the_catalog_has_no_place() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "x"));
    for (home, reason) in [("", "HOME is not set"), ("relative", "HOME is not an absolute path")] {
        let lost = |args: &[&str]| {
            lop.command().args(args).env("HOME", home).env("XDG_STATE_HOME", "also/relative").run()
        };
        let output = lost(&["scan", "."]);
        output.code(5);
        let said = output.stderr_str();
        assert!(said.contains(reason) && said.contains("hint: "), "{said}");
        lost(&["report"]).code(5);
        lost(&["scan", "--no-catalog", "."]).success();
        lost(&["scan", "--catalog", "here.db", "."]).success();
    }
    let output = lop.command().args(["scan", "."]).env("XDG_STATE_HOME", "relative").run();
    output.success();
    assert!(lop.home().join(".local/state/lop/catalog.db").exists(), "a relative one is ignored");
}

#[test]
fn a_variable_names_the_catalog_unless_an_option_does() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    let with = |value: &str, args: &[&str]| {
        let command = lop.command().args(args).env("LOP_CATALOG", value);
        command.run().success().stdout_str().to_owned()
    };
    with("mine.db", &["scan", "a", "b"]);
    assert!(lop.path("mine.db").exists() && !lop.catalog().exists());
    with("mine.db", &["scan", "--catalog", "other.db", "a"]);
    assert_eq!(with("mine.db", &["report", "--format", "fdupes"]).lines().count(), 2);
    assert_eq!(with("mine.db", &["report", "--catalog", "other.db", "--format", "fdupes"]), "");
    with("", &["scan", "a"]);
    assert!(lop.catalog().exists(), "an empty one is not set");
}
