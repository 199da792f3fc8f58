//! `lop` without a command.

use std::fs::{self, File};

use catalog::Catalog;
use testkit::TreeBuilder;

use crate::lop::{Lop, settle};

fn alike() -> Lop {
    Lop::with(&TreeBuilder::new().file("a/1", "alike").file("a/2", "alike").file("b/3", "other"))
}

/// Checks that the start page fits into 80 columns, and that each command on it exists and has the shown options.
///
/// The line with the scanned path may be longer.
fn check_page(lop: &Lop, page: &str) {
    let mut lines = page.lines().filter(|line| !line.starts_with("Scanned "));
    assert!(lines.all(|line| line.len() <= 80), "{page}");
    let commands: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("  lop ")).collect();
    assert!(commands.len() >= 5, "{page}");
    for line in commands {
        let command = line.split("  ").next().expect("a command");
        lop.run(command.split(' ').chain(["--help"])).success();
    }
}

#[test]
fn without_a_catalog_the_first_commands_are_shown() {
    let lop = alike();
    let output = lop.run([""; 0]);
    let printed = output.success().stdout_str();
    assert!(printed.contains("\n  lop scan ~ "), "{printed}");
    assert!(printed.lines().count() <= 10, "{printed}");
    assert!(!lop.catalog().exists(), "nothing is created");
    check_page(&lop, printed);
}

#[test]
fn with_a_catalog_its_contents_and_the_next_commands_are_shown() {
    let lop = alike();
    settle();
    lop.remember(["a"]);
    let shown = || lop.run([""; 0]).success().stdout_str().to_owned();
    let printed = shown();
    assert!(printed.starts_with("Scanned   20"), "{printed}");
    assert!(printed.contains(&format!("  {}\n", lop.path("a").display())), "{printed}");
    assert!(printed.contains("\nFound     1 group: 1 redundant file, "), "{printed}");
    assert!(printed.contains("\n  lop report ") && !printed.contains("lop undo"), "{printed}");
    check_page(&lop, &printed);
    lop.run(["dedupe", "--by", "hardlink", "--apply", "a"]).success();
    let printed = shown();
    assert!(printed.contains("\nFound     no duplicates\n"), "{printed}");
    let run = "\nChanged   run 1 (hardlink, 1 file); 'lop undo' reverts it\n";
    assert!(printed.contains(run), "{printed}");
    lop.run(["undo"]).success();
    assert!(!shown().contains("lop undo"));
}

#[test]
fn a_run_in_progress_is_not_called_interrupted() {
    let lop = alike();
    settle();
    lop.remember(["a"]);
    lop.run(["dedupe", "--by", "delete", "--apply", "a"]).success();
    let runs = Catalog::runs_dir(&lop.catalog());
    let journal = runs.join("1.jsonl");
    let text = fs::read_to_string(&journal).expect("a journal");
    // The journal of a run that has begun to delete a file.
    let outcome = text.trim_end().rfind('\n').and_then(|end| text[..end].rfind('\n'));
    fs::write(&journal, &text[..=outcome.expect("several lines")]).expect("written");
    let said = |args: &[&str]| lop.run(args).success().stdout_str().to_owned();
    assert!(said(&["history", "1"]).contains("  interrupted  "), "{}", said(&["history", "1"]));
    let lock = File::open(runs.join("lock")).expect("opens");
    lock.lock().expect("locked");
    let shown = said(&["history", "1"]);
    assert!(shown.contains("  in progress  ") && !shown.contains("interrupted"), "{shown}");
    fs::write(&journal, &text[..=text.trim_end().rfind('\n').expect("lines")]).expect("written");
    let shown = said(&[]);
    assert!(
        shown.contains("\nChanged   run 1 (delete, 1 file); may still be running\n"),
        "{shown}"
    );
}

#[test]
fn many_scanned_paths_are_counted() {
    let names = ["a", "b", "c", "d", "e"];
    let tree =
        names.iter().fold(TreeBuilder::new(), |tree, name| tree.file(format!("{name}/f"), "x"));
    let lop = Lop::with(&tree);
    lop.remember(names);
    let output = lop.run([""; 0]);
    let printed = output.success().stdout_str();
    assert!(printed.contains("\n          2 more paths; 'lop status' lists all\n"), "{printed}");
    assert!(printed.contains("\nFound     1 group: 4 redundant files, "), "{printed}");
}

#[test]
fn a_catalog_that_cannot_be_read_is_an_error_and_json_needs_a_command() {
    let lop = alike();
    let damaged = lop.command().args(["--catalog", "a/1"]).run();
    damaged.code(5);
    lop.run(["--json"]).code(2);
}
