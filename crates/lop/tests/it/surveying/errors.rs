//! Surveys that fail: exit codes, messages, and what they leave.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use testkit::{Ending, FileSystem, Mount, NOBODY, TreeBuilder, is_root, skipped};

use crate::lop::{Lop, assert_exit_record, assert_whole};
use crate::surveying::hosts::Hosts;

const ARGS: [&str; 2] = ["--min-size", "1"];

#[test]
fn a_survey_without_a_catalog_creates_nothing() {
    let lop = Lop::new();
    let output = lop.run(["survey", "out"]);
    output.code(5);
    let message = format!("lop: no catalog at {}\n", lop.catalog().display());
    assert_eq!(output.stderr_str(), message + "hint: scan something first: lop scan DIR\n");
    assert_exit_record(&lop.run(["survey", "--json", "out"]), 5);
    assert!(!lop.path("out").exists() && !lop.catalog().exists());
}

#[test]
fn wrong_usage_is_explained_before_anything_is_written() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("short", "fifteen bytes.."));
    lop.remember(["."]);
    for host in ["", "a/b", "..", "_x", "host=1"] {
        let output = lop.run(["survey", "--host", host, "out"]);
        output.code(2);
        let begins = format!("lop: '{host}' cannot be the name of a host: ");
        let said = output.stderr_str();
        assert!(said.starts_with(&begins), "{said}");
        assert!(said.ends_with("\nhint: name this host: --host NAME\n"), "{said}");
    }
    lop.run(["survey"]).code(2);
    lop.run(["survey", "--min-size", "many", "out"]).code(2);
    let output = lop.run(["survey", "--key", "short", "out"]);
    output.code(1);
    let message = "lop: cannot use the key short: it has 15 bytes, but a key has at least 16\n";
    let hint = "hint: to make a key: head -c 32 /dev/urandom > FILE\n";
    assert_eq!(output.stderr_str(), format!("{message}{hint}"));
    lop.run(["survey", "--key", "none", "out"]).code(1);
    assert!(!lop.path("out").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").dir("out"));
    let output = lop.command().args(["scan", "."]).as_user(NOBODY, NOBODY);
    let output = if is_root() { output.run() } else { lop.run(["scan", "."]) };
    output.success();
    let below_a_file = ["survey", "--host", "nas", "a/out"];
    if !is_root() {
        lop.run(below_a_file).code(1);
        return skipped("only root can run the rest as a user without permissions");
    }
    let run = |args: [&str; 4]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
    let output = run(below_a_file);
    output.code(1);
    let said = output.stderr_str();
    assert!(
        said.starts_with("lop: cannot create a/out/nas/_survey: Not a directory\nhint: "),
        "{said}"
    );
    let output = run(["survey", "--host", "nas", "out"]);
    output.code(1);
    let said = output.stderr_str();
    assert!(said.starts_with("lop: cannot create out/nas"), "{said}");
    assert!(said.contains(": Permission denied\nhint: "), "{said}");
    assert!(fs::read_dir(lop.path("out")).expect("listed").next().is_none());
}

/// Fills a file system until only `but` bytes are free.
fn fill(mount: &Path, but: u64) {
    let filler = mount.join("filler");
    drop(fs::remove_file(&filler));
    let mut file = File::create(&filler).expect("made");
    while file.write_all(&[7; 4096]).is_ok() {}
    let length = file.metadata().expect("metadata").len();
    file.set_len(length.saturating_sub(but)).expect("cut");
}

/// Two hosts with lists of several blocks.
fn two_hosts() -> Hosts {
    let tree = || {
        let file = |tree: TreeBuilder, n: u64| tree.seeded(format!("{n}"), n, 10 + n % 900);
        (0..3000).fold(TreeBuilder::new(), file)
    };
    Hosts::new([tree(), tree()])
}

#[test]
fn a_full_disk_keeps_no_part_of_a_list_and_what_was_read_is_kept() {
    let Ok(mount) = Mount::new(FileSystem::Tmpfs, 1 << 20).map_err(skipped) else { return };
    let fleet = two_hosts();
    let out = mount.path();
    let survey = |host: usize| {
        let command = fleet.hosts[host].command().args(["survey", "--min-size", "1", "--host"]);
        command.arg(format!("h{host}")).arg(out).run()
    };
    let answer = || survey::answer(out, &runtime::Progress::default());
    let (mut failed, mut answers_failed) = (0, 0);
    for round in 0..3 {
        for room in [0, 4096, 8192] {
            fill(out, room);
            let output = survey(0);
            if output.ending == Ending::Code(0) {
                continue;
            }
            output.code(1);
            failed += 1;
            let said = output.stderr_str();
            assert!(said.contains(": No space left on device\nhint: free some space"), "{said}");
            let answered = answer();
            answers_failed += u32::from(answered.is_err());
            assert!(answered.is_err() || answered.is_ok_and(|all| all.problems.is_empty()));
            fleet.hosts[0].assert_whole_catalog();
        }
        fs::remove_file(out.join("filler")).expect("removed");
        let output = survey(0);
        let said = output.success().stdout_str();
        // The attempts above have read all heads.
        assert!(round != 1 || said.starts_with("0 heads and 0 files read, "), "{said}");
        survey(1).success();
        assert!(answer().expect("there is room").problems.is_empty());
    }
    assert!(failed >= 2, "{failed} surveys had no room");
    assert!(answers_failed <= failed);
    assert!(survey(0).success().stdout_str().starts_with("0 heads and 0 files read, "));
}

#[test]
fn a_full_disk_of_the_catalog_is_an_error_and_the_catalog_stays_whole() {
    let Ok(mount) = Mount::new(FileSystem::Tmpfs, 2 << 20).map_err(skipped) else { return };
    let fleet = two_hosts();
    let catalog = mount.path().join("catalog.db");
    let run =
        |args: &[&str]| fleet.hosts[0].command().args(args).arg("--catalog").arg(&catalog).run();
    run(&["scan", "."]).success();
    let out = fleet.out();
    let args = ["survey", "--min-size", "1", "--host", "h0", out.to_str().expect("UTF-8")];
    let mut failed = 0;
    for _ in 0..3 {
        for room in [0, 4096, 40_000, 100_000] {
            fill(mount.path(), room);
            let output = run(&args);
            if output.ending == Ending::Code(0) {
                continue;
            }
            failed += 1;
            output.code(1);
            let said = output.stderr_str();
            assert!(said.contains("hint: its file system is full: free some space"), "{said}");
            assert_whole(&catalog);
        }
        fs::remove_file(mount.path().join("filler")).expect("removed");
        run(&args).success();
        fleet.survey(1, &ARGS);
        fleet.answer();
    }
    assert!(failed >= 3, "{failed} surveys had no room");
    let output = run(&args);
    assert!(output.success().stdout_str().starts_with("0 heads and 0 files read, "), "{output:?}");
    assert_whole(&catalog);
}
