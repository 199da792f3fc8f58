//! Interrupted scans save their results, and the next scan continues where they stopped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bench::hdd::Trouble;
use testkit::{
    Rules, Running, Signal, TreeBuilder, assert_groups, groups_of, naive_truth, parse_nul,
};

use crate::disks::{Ailing, LARGE, SLOWLY, pairs, until};
use crate::lop::{Figures, Lop, document, settle};

/// Returns the number of pending files in a catalog and their total size in bytes, or `None` if there is no catalog
/// yet.
fn pending(lop: &Lop) -> Option<(u64, u64)> {
    if !lop.catalog().exists() {
        return None;
    }
    let sql = "SELECT count(*), coalesce(sum(size), 0) FROM file WHERE state = 1";
    let row = lop.database().query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
    let (files, bytes): (i64, i64) = row.expect("a row");
    Some((files.cast_unsigned(), bytes.cast_unsigned()))
}

fn start(lop: &Lop, args: &[&str], roots: &[&Path]) -> Running {
    lop.command().arg("scan").args(args).args(roots).timeout(Duration::from_secs(90)).spawn()
}

/// Scans again, which must read only pending files and find all groups. A third scan must read nothing.
fn assert_goes_on(lop: &Lop, args: &[&str], roots: &[&Path], pending: u64) {
    let scan = || lop.command().args(["scan", "--stats"]).args(args).args(roots);
    let output = scan().run();
    output.success();
    let read = Figures::of(&output).get("bytes_read");
    // Files with identical beginnings are read a second time from start to end.
    let most = pending + pending / 8 + 100_000;
    assert!(read <= most, "{read} bytes were read of {pending} that were left to do");
    let report = lop.run(["report", "--format", "nul"]);
    assert_groups(&naive_truth(roots, Rules::default()).groups, &parse_nul(&report.stdout));
    Figures::of(&scan().run()).assert_nothing_read();
}

fn large_pair() -> TreeBuilder {
    TreeBuilder::new().seeded("1/large", 51, LARGE).seeded("2/large", 51, LARGE)
}

/// The scan waits forever for a pair of files, because their disk no longer responds.
#[test]
fn results_are_saved_even_if_a_disk_stops_answering() {
    let Some(ailing) = Ailing::with(&large_pair()) else { return };
    for signal in [Signal::INT, Signal::KILL] {
        ailing.cool();
        ailing.disk().afflict(ailing.sector("1/large", LARGE / 2), Trouble::Silence);
        let lop = Lop::with(&pairs(0));
        let work = lop.work();
        let roots = [work.as_path(), ailing.path()];
        // The scan saves all the time, so that there are results to read and a save to interrupt.
        let mut running = start(&lop, &["--io", "cached", "--save-every", "10"], &roots);
        until(&mut running, || pending(&lop).is_some_and(|(files, _)| files == 2));
        lop.assert_whole_catalog();
        let report = lop.run(["report", "--json"]);
        report.code(3);
        let summary = &document(&report)["summary"];
        assert_eq!((&summary["groups"], &summary["pending"]), (&41.into(), &2.into()));
        assert!(running.signal(signal));
        let output = running.wait();
        output.signal(signal);
        if signal == Signal::INT {
            let said = "are saved, 2 of 84 files still have to be compared\n";
            assert!(output.stderr_str().contains(said), "{}", output.stderr_str());
        }
        ailing.disk().heal();
        assert_eq!(pending(&lop), Some((2, 2 * LARGE)));
        ailing.cool();
        assert_goes_on(&lop, &[], &roots, 2 * LARGE);
    }
}

/// Interrupts scans with Ctrl-C, SIGTERM and a closed terminal.
#[test]
fn an_interrupted_scan_reports_what_it_saved_and_the_next_continues() {
    let Some(ailing) = Ailing::with(&pairs(0)) else { return };
    for (signal, bytes) in [(Signal::INT, 300_000), (Signal::TERM, 1 << 20), (Signal::HUP, 600_000)]
    {
        let lop = Lop::new();
        ailing.cool();
        ailing.disk().afflict(0..u64::MAX, SLOWLY);
        // The first save shows that the walk has ended.
        let mut running = start(&lop, &["--io", "ssd", "--save-every", "10"], &[ailing.path()]);
        until(&mut running, || lop.catalog().exists());
        let before = ailing.disk().usage().bytes;
        until(&mut running, || ailing.disk().usage().bytes >= before + bytes);
        assert!(running.signal(signal));
        let output = running.wait();
        ailing.disk().heal();
        output.signal(signal);
        let said = output.stderr_str();
        if pending(&lop) == Some((0, 0)) {
            // The signal arrived after the last comparison: before or after the end of the scan.
            let is_complete = said.contains("interrupted, but the scan is complete");
            assert!(is_complete || said.contains("saved, 0 of "), "{said}");
            continue;
        }
        assert!(said.contains("interrupted; the results from the "), "{said}");
        assert!(said.ends_with("hint: run the same scan again to continue\n"), "{said}");
        let (files, bytes) = pending(&lop).expect("a catalog");
        assert!(files > 0 && files <= 82, "{files} files are pending");
        let report = lop.run(["report"]);
        report.code(3);
        let text = "not compared yet; run 'lop scan' again\n";
        assert!(report.stderr_str().contains(text), "{}", report.stderr_str());
        ailing.cool();
        assert_goes_on(&lop, &["--io", "ssd"], &[ailing.path()], bytes);
    }
}

/// Known and unchanged files remain known, and new files are pending.
#[test]
fn an_interrupted_scan_of_a_known_tree_keeps_what_was_known() {
    let Some(ailing) = Ailing::with(&pairs(0)) else { return };
    let lop = Lop::new();
    lop.remember([ailing.path()]);
    pairs(500).make(ailing.path().join("new"));
    settle();
    ailing.cool();
    ailing.disk().afflict(ailing.sector("new/d2/large", LARGE / 2), Trouble::Silence);
    let mut running = start(&lop, &["--io", "cached"], &[ailing.path()]);
    until(&mut running, || ailing.disk().unanswered() > 0);
    assert!(running.signal(Signal::INT));
    running.wait().signal(Signal::INT);
    ailing.disk().heal();
    let (files, bytes) = pending(&lop).expect("a catalog");
    assert!(files >= 2, "the large ones at least");
    let known = "SELECT count(*) FROM file JOIN content ON content.id = content \
                 WHERE state = 0 AND inodes > 1";
    let known: i64 = lop.database().query_row(known, [], |row| row.get(0)).expect("a count");
    assert!(known >= 80, "{known} files are known");
    ailing.cool();
    assert_goes_on(&lop, &["--io", "cached"], &[ailing.path()], bytes);
}

/// A scan that is interrupted before it has read anything does not create a catalog.
#[test]
fn a_scan_that_has_read_nothing_leaves_no_catalog() {
    let Some(ailing) = Ailing::with(&pairs(0)) else { return };
    ailing.cool();
    ailing.disk().afflict(0..u64::MAX, Trouble::Delay(Duration::from_millis(300)));
    let lop = Lop::new();
    let mut running = start(&lop, &[], &[ailing.path()]);
    ailing.after(1, &mut running);
    assert!(running.signal(Signal::INT));
    running.wait().signal(Signal::INT);
    ailing.disk().heal();
    assert!(!lop.catalog().exists());
}

/// The next scan must list all directories anyway, so nothing is lost if nothing is saved.
#[test]
fn a_scan_interrupted_while_it_lists_leaves_the_catalog_as_it_was() {
    let Some(ailing) = Ailing::with(&pairs(0)) else { return };
    let lop = Lop::new();
    lop.remember([ailing.path()]);
    let before = fs::read(lop.catalog()).expect("readable");
    pairs(500).make(ailing.path().join("new"));
    fs::remove_file(ailing.join("d1/large")).expect("removed");
    settle();
    ailing.cool();
    ailing.disk().afflict(0..u64::MAX, Trouble::Delay(Duration::from_millis(300)));
    let mut running = start(&lop, &[], &[ailing.path()]);
    ailing.after(2, &mut running);
    assert!(running.signal(Signal::INT));
    let output = running.wait();
    ailing.disk().heal();
    output.signal(Signal::INT);
    let said = "lop: interrupted before all files were listed; the catalog was not changed\n";
    assert_eq!(output.stderr_str(), said);
    assert!(fs::read(lop.catalog()).expect("readable") == before);
}

/// Returns a scan of new pairs that waits for the disk. The catalog has other pairs already.
fn stuck(ailing: &Ailing, lop: &Lop, args: &[&str]) -> Running {
    lop.remember([ailing.path()]);
    pairs(500).make(ailing.path().join("new"));
    settle();
    ailing.cool();
    ailing.disk().afflict(ailing.sector("new/d2/large", LARGE / 2), Trouble::Silence);
    let mut running = start(lop, args, &[ailing.path()]);
    until(&mut running, || ailing.disk().unanswered() > 0);
    running
}

fn journal(lop: &Lop) -> PathBuf {
    lop.state().join("lop/catalog.db-journal")
}

/// The database journal exists only while a save is in progress.
#[test]
fn a_scan_killed_during_a_save_leaves_a_whole_catalog_and_the_next_continues() {
    let Some(ailing) = Ailing::with(&pairs(0)) else { return };
    let lop = Lop::new();
    let often = ["--io", "cached", "--save-every", "1"];
    let mut running = stuck(&ailing, &lop, &often);
    let mut in_the_middle = 0;
    for _ in 0..100 {
        until(&mut running, || pending(&lop).is_some_and(|(files, _)| files == 2));
        while !journal(&lop).exists() {
            assert!(running.is_running(), "it saves again and again");
        }
        assert!(running.signal(Signal::KILL));
        running.wait().signal(Signal::KILL);
        in_the_middle += u32::from(journal(&lop).exists());
        lop.assert_whole_catalog();
        assert_eq!(pending(&lop), Some((2, 2 * LARGE)));
        if in_the_middle == 5 {
            break;
        }
        running = start(&lop, &often, &[ailing.path()]);
    }
    assert_eq!(in_the_middle, 5, "times that it was killed in a save");
    ailing.disk().heal();
    ailing.cool();
    assert_goes_on(&lop, &["--io", "cached"], &[ailing.path()], 2 * LARGE);
}

/// A reader of the catalog delays the save after the first Ctrl-C.
#[test]
fn a_second_signal_during_a_save_leaves_the_old_catalog() {
    let Some(ailing) = Ailing::with(&pairs(0)) else { return };
    for signal in [Signal::INT, Signal::TERM] {
        let lop = Lop::new();
        let mut running = stuck(&ailing, &lop, &["--io", "cached"]);
        let reader = lop.database();
        let read = "BEGIN; SELECT count(*) FROM file";
        reader.execute_batch(read).expect("reads");
        assert!(running.signal(signal));
        until(&mut running, || journal(&lop).exists());
        assert!(running.signal(signal));
        running.wait().signal(signal);
        drop(reader);
        lop.assert_whole_catalog();
        assert_eq!(pending(&lop), Some((0, 0)));
        ailing.disk().heal();
        ailing.cool();
        lop.remember([ailing.path()]);
        let truth = naive_truth(&[ailing.path()], Rules::default()).groups;
        assert_groups(&truth, &parse_nul(&lop.run(["report", "--format", "nul"]).stdout));
        fs::remove_dir_all(ailing.join("new")).expect("removed");
    }
}

/// Returns the digests of the files in the catalog, by name.
fn digests(lop: &Lop) -> BTreeMap<String, Option<String>> {
    let database = lop.database();
    let mut query = database.prepare("SELECT path, digest FROM files").expect("a query");
    let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.and_then(Iterator::collect).expect("rows")
}

/// A large file is damaged, and the scan is interrupted before it reads the damaged part.
#[test]
fn an_interrupted_reread_claims_nothing_about_unread_files() {
    let Some(ailing) = Ailing::with(&pairs(0)) else { return };
    let lop = Lop::new();
    lop.remember([ailing.path()]);
    let large = ailing.join("d2/large").display().to_string();
    lop.damage(&large, vec![7; 3 << 20]);
    settle();
    let before = digests(&lop);
    ailing.cool();
    ailing.disk().afflict(ailing.sector("d1/large", LARGE / 2), Trouble::Silence);
    let args = ["--reread", "--io", "cached", "--save-every", "10"];
    let mut running = start(&lop, &args, &[ailing.path()]);
    let last_is_complete = || {
        let sql = "SELECT complete FROM scan ORDER BY id DESC LIMIT 1";
        lop.database().query_row(sql, [], |row| row.get::<_, bool>(0)).expect("a scan")
    };
    until(&mut running, || ailing.disk().unanswered() > 0 && !last_is_complete());
    assert!(running.signal(Signal::INT));
    let output = running.wait();
    output.signal(Signal::INT);
    let said = output.stderr_str();
    let text = "; for files that were not read again, the catalog is unchanged\n";
    assert!(said.contains(text) && !said.contains("d2/large: differs"), "{said}");
    assert_eq!(digests(&lop), before);
    assert!(!last_is_complete());
    lop.assert_whole_catalog();
    ailing.disk().heal();
    ailing.cool();
    let output = lop.run(["validate", large.as_str()]);
    output.code(3);
    assert!(output.stdout_str().starts_with(&large), "{}", output.stdout_str());
}

/// `--reread` compares each file with its entry in the catalog.
#[test]
fn a_scan_that_reads_everything_again_names_what_is_damaged() {
    let lop = Lop::with(
        &TreeBuilder::new()
            .seeded("a", 1, 20_000)
            .seeded("b", 1, 20_000)
            .seeded("alone", 2, 30_000),
    );
    lop.remember(["--hash-all", "."]);
    lop.run(["validate"]).success();
    lop.damage("alone", vec![7; 30_000]);
    lop.damage("b", vec![7; 20_000]);
    assert_eq!(lop.scan_figures(["."]).get("bytes_read"), 0);
    let output = lop.run(["scan", "--reread", "."]);
    output.code(3);
    let said = output.stderr_str();
    for name in ["alone", "b"] {
        let line = format!("{name}: differs from what was scanned before");
        assert!(said.contains(&line), "{said}");
    }
    assert!(!said.contains("lop: a: "), "{said}");
    assert!(lop.report().is_empty());
}

/// A file that is recorded as unique may be identical to a pending file.
#[test]
fn the_answer_is_unknown_while_a_file_of_the_same_size_is_pending() {
    let lop = Lop::with(
        &TreeBuilder::new()
            .file("old/a", "alike")
            .file("old/b", "a size of its own")
            .file("new/c", "alike"),
    );
    lop.remember(["old"]);
    lop.remember(["new"]);
    lop.database()
        .execute("UPDATE file SET state = 1, head = NULL, content = NULL WHERE name = x'63'", [])
        .expect("changed");
    assert_eq!(lop.listed(["uniques", "old"], 6), ["old/a", "old/b"]);
    let output = lop.run(["uniques", "old"]);
    assert_eq!(output.stdout_str(), "old/a  (not compared yet)\nold/b\n");
    let output = lop.run(["file", "old/a"]);
    output.code(3);
    let said = "lop: old/a: not compared with all others yet; run 'lop scan' again\n";
    assert_eq!(output.stderr_str(), said);
    assert!(
        lop.run(["ls", "old"])
            .stdout_str()
            .contains("?        5 B   22%  old/a  (not compared yet)")
    );
    assert_eq!(lop.listed(["contains", "old", "new"], 6), ["old/a", "old/b"]);
    lop.remember(["new"]);
    assert_groups(&groups_of([["new/c", "old/a"]]), &lop.report());
    assert_eq!(lop.listed(["uniques", "old"], 6), ["old/b"]);
}
