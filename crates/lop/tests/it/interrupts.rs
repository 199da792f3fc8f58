//! Kills and interrupts at many moments. The catalog is either the old one or the new one, and is always intact.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use testkit::{Ending, Signal, TreeBuilder, When, assert_groups, groups_of};

use crate::lop::{Lop, settle};

/// Returns a tree that takes a few hundred milliseconds to scan.
fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for n in 0..1500 {
        tree = tree.seeded(format!("even/{}/{n}", n % 40), n / 2, 3000 + n % 7);
    }
    tree
}

/// Returns the number of files, the number of scans and the content of a catalog.
fn state(lop: &Lop) -> (i64, i64, String) {
    lop.assert_whole_catalog();
    let sql = "SELECT (SELECT count(*) FROM file), (SELECT count(*) FROM scan), \
               (SELECT group_concat(name) FROM (SELECT name FROM dir WHERE parent = \
               (SELECT id FROM dir WHERE name = x'776f726b') ORDER BY name))";
    let row = lop.database().query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
    row.expect("a row")
}

/// Changes the result of the next scan by renaming the directory, or renaming it back.
fn toggle(lop: &Lop) {
    let (even, odd) = (lop.path("even"), lop.path("odd"));
    let (from, to) = if even.exists() { (even, odd) } else { (odd, even) };
    fs::rename(from, &to).expect("renamed");
    // Adds one file that must be read and stored.
    let n = fs::read_dir(lop.work()).expect("listed").count();
    lop.lay(&TreeBuilder::new().seeded(format!("extra {n}"), 7, 40_000));
    touch_all(&to);
    settle();
}

/// Gives all files below a directory a new modification time, so that the next scan reads them.
fn touch_all(dir: &Path) {
    for dir in fs::read_dir(dir).expect("listed") {
        for file in fs::read_dir(dir.expect("an entry").path()).expect("listed") {
            let file = fs::File::open(file.expect("an entry").path()).expect("opens");
            file.set_modified(SystemTime::now()).expect("times can be set");
        }
    }
}

/// Returns the duration of a run that is not interrupted.
fn duration(lop: &Lop, args: &[&str]) -> Duration {
    let start = Instant::now();
    let output = lop.run(args);
    assert!(matches!(output.ending, Ending::Code(0 | 6)));
    start.elapsed()
}

/// Sends `signal` to `rounds` scans, each at a later moment. Continues until it has ended at least `least` scans,
/// because on a busy machine the duration of a scan can only be estimated.
fn end_scans(lop: &Lop, signal: Signal, rounds: u32, least: u32) {
    toggle(lop);
    let whole = duration(lop, &["scan", "."]);
    let mut ended = 0;
    for round in 0..10 * rounds {
        if round >= rounds && ended >= least {
            break;
        }
        toggle(lop);
        let (_, scans, _) = state(lop);
        let delay = whole * (round % rounds) / rounds;
        let output = lop.command().args(["scan", "."]).signal(signal, When::After(delay)).run();
        if output.ending == Ending::Signal(signal.as_raw()) {
            ended += 1;
        } else {
            output.success();
        }
        let (files, now, dirs) = state(lop);
        assert!(now == scans || now == scans + 1, "{now} after {scans}");
        assert!(files >= 1500 && dirs.split(',').count() == 1, "{files} files in {dirs}");
        if output.ending == Ending::Code(0) {
            assert_eq!(now, scans + 1);
        }
        // The report of an incomplete scan may end with exit code 3, but not with an error.
        let report = lop.run(["report", "-q", "--limit", "1"]);
        assert!(matches!(report.ending, Ending::Code(0 | 3)));
    }
    assert!(ended >= least, "only {ended} scans were ended");
}

#[test]
fn a_killed_scan_leaves_the_old_catalog_or_the_new_one() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    end_scans(&lop, Signal::KILL, 25, 8);
    settle();
    lop.remember(["."]);
    let expected = testkit::relative_to(lop.work(), &testkit::naive_groups(lop.work()));
    assert_groups(&expected, &lop.report());
}

#[test]
fn an_interrupted_scan_ends_by_its_signal_and_leaves_a_whole_catalog() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    end_scans(&lop, Signal::INT, 20, 6);
    end_scans(&lop, Signal::TERM, 8, 2);
    assert!(!lop.state().join("lop/catalog.db.new").exists());
}

#[test]
fn a_first_scan_that_is_killed_leaves_no_catalog_or_a_whole_one() {
    let lop = Lop::with(&tree());
    let whole = duration(&lop, &["scan", "."]);
    let (mut killed, mut without) = (0, 0);
    // The duration is only an estimate on a busy machine, so more rounds are added if necessary.
    for round in 0..250 {
        if round >= 25 && killed >= 8 && without >= 4 {
            break;
        }
        drop(fs::remove_dir_all(lop.state().join("lop")));
        let delay = whole * (round % 25) / 25;
        let scan = lop.command().args(["scan", "."]);
        let output = scan.signal(Signal::KILL, When::After(delay)).run();
        killed += u32::from(output.ending == Ending::Signal(Signal::KILL.as_raw()));
        if lop.catalog().exists() {
            assert_eq!(state(&lop).0, 1500);
        } else {
            without += 1;
            lop.run(["report"]).code(5);
        }
    }
    assert!(killed >= 8 && without >= 4, "{killed} killed, {without} without a catalog");
    lop.remember(["."]);
    assert_eq!(state(&lop).0, 1500);
}

#[test]
fn questions_can_be_interrupted_too() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    let verify = ["uniques", "--verify", "--anywhere", "."];
    for command in [&["report"][..], &["uniques", "."], &verify, &["validate"], &["refresh"]] {
        let whole = duration(&lop, command);
        let mut ended = 0;
        for round in 0..8 {
            let delay = whole * round / 8;
            let question = lop.command().args(command);
            let output = question.signal(Signal::INT, When::After(delay)).run();
            match output.ending {
                Ending::Signal(2) => ended += 1,
                Ending::Code(0 | 6) => {}
                _ => output.fail("neither an answer nor the signal"),
            }
        }
        assert!(ended > 0, "{command:?} was never interrupted");
    }
    assert_eq!(state(&lop).0, 1500);
}

#[test]
fn waiting_for_a_list_can_be_interrupted() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike").fifo("list"));
    lop.remember(["a", "b"]);
    // The other end of the pipe is open, and half of the list has arrived.
    let end = fs::File::options().read(true).write(true).open(lop.path("list")).expect("opens");
    std::io::Write::write_all(&mut &end, b"a\n").expect("written");
    for progress in ["always", "never"] {
        let scan = lop.command().args(["scan", "--progress", progress, "--files-from", "list"]);
        let output = scan.signal(Signal::INT, When::After(Duration::from_millis(300))).run();
        output.signal(Signal::INT);
    }
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
}
