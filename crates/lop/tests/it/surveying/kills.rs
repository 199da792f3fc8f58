//! Surveys that are killed or interrupted, and system calls that fail. The catalog stays whole, a list is
//! never half-written, and the next survey continues.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use testkit::{Calls, Ending, Signal, Strace, TreeBuilder, When, skipped};

use crate::surveying::hosts::Hosts;
use crate::surveying::truth::assert_all_known;

const ARGS: [&str; 2] = ["--min-size", "1"];

/// The files of a host's catalog and of all surveys at some moment.
struct Saved {
    catalog: PathBuf,
    copy: testkit::TempTree,
    out: PathBuf,
}

impl Saved {
    fn of(fleet: &Hosts) -> Saved {
        let catalog = fleet.hosts[0].catalog().parent().expect("a directory").to_owned();
        let saved = Saved { catalog, copy: testkit::TempTree::new(), out: fleet.out() };
        copy(&saved.catalog, &saved.copy.join("catalog"));
        copy(&saved.out, &saved.copy.join("out"));
        saved
    }

    fn restore(&self) {
        for (name, place) in [("catalog", &self.catalog), ("out", &self.out)] {
            drop(fs::remove_dir_all(place));
            copy(&self.copy.join(name), place);
        }
    }
}

/// Copies a directory of regular files; nothing if it does not exist.
fn copy(from: &Path, to: &Path) {
    let Ok(entries) = fs::read_dir(from) else { return };
    fs::create_dir_all(to).expect("made");
    for entry in entries {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).expect("copied");
        }
    }
}

/// Returns what the catalog of the first host knows, and the names and bytes of its lists.
fn state(fleet: &Hosts) -> (Vec<String>, Vec<(String, Vec<u8>)>) {
    fleet.hosts[0].assert_whole_catalog();
    let database = fleet.hosts[0].database();
    let sql = "SELECT hex(f.name) || ' ' || ifnull(f.head, '-') || ' ' || ifnull(hex(c.digest), '-') \
               || ' ' || ifnull(c.inodes, '-') FROM file f LEFT JOIN content c ON c.id = f.content \
               ORDER BY 1";
    let mut query = database.prepare(sql).expect("a query");
    let rows = query.query_map([], |row| row.get(0)).expect("runs");
    let rows = rows.map(|row| row.expect("a row")).collect();
    let mut lists = Vec::new();
    for entry in fs::read_dir(fleet.folder(0)).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_some_and(|end| end == "list") {
            lists.push((name, fs::read(&path).expect("readable")));
        }
    }
    lists.sort();
    (rows, lists)
}

/// Returns the two hosts of a survey before each of its rounds.
fn rounds(fleet: &Hosts) -> Vec<Saved> {
    let mut rounds = Vec::new();
    for _ in 0..3 {
        rounds.push(Saved::of(fleet));
        (0..2).for_each(|host| drop(fleet.survey(host, &ARGS)));
        fleet.answer();
    }
    rounds
}

fn two_hosts() -> Hosts {
    let tree = TreeBuilder::new()
        .seeded("a", 1, 20_000)
        .hard_link("a", "link")
        .seeded("b", 2, 9000)
        .seeded("small", 3, 50);
    Hosts::new([tree.clone(), tree])
}

/// Asserts that lists and answers are whole. Answers all hosts.
#[track_caller]
fn assert_whole_lists(fleet: &Hosts) {
    // The second host may be the only one with lists.
    if fleet.out().exists() {
        fleet.answer();
    }
}

const CHANGES: [&str; 6] = [
    "?mkdir,mkdirat",
    "pwrite64,write",
    "fsync,fdatasync",
    "?rename,renameat,renameat2",
    "?unlink,unlinkat",
    "ftruncate",
];

#[test]
fn a_survey_that_is_killed_before_any_change_continues() {
    let Ok(strace) = Strace::find().map_err(skipped) else { return };
    let fleet = two_hosts();
    let mut kills = 0;
    for saved in rounds(&fleet) {
        saved.restore();
        let before = state(&fleet);
        fleet.survey(0, &ARGS);
        let after = state(&fleet);
        for calls in CHANGES {
            for nth in 1.. {
                saved.restore();
                let traced = strace.kill(fleet.command(0, &ARGS), &Calls::nth(calls, nth));
                if !traced.fired() {
                    traced.output.success();
                    break;
                }
                kills += 1;
                let now = state(&fleet);
                let is_old_or_new = now.0 == before.0 || now.0 == after.0;
                assert!(is_old_or_new, "{calls} {nth}: {now:?}");
                assert_whole_lists(&fleet);
                // A list is written after what it lists.
                assert!(now.1 == before.1 || now.0 == after.0, "{calls} {nth}");
                fleet.survey(0, &ARGS);
                assert_eq!(state(&fleet).0, after.0, "{calls} {nth}");
                assert_eq!(state(&fleet).1, after.1, "{calls} {nth}");
            }
        }
    }
    assert!(kills > 40, "{kills} kills");
    fleet.converge(&ARGS);
    assert_all_known(&fleet, "out");
}

#[test]
fn a_call_that_fails_is_an_error_and_the_next_survey_continues() {
    let Ok(strace) = Strace::find().map_err(skipped) else { return };
    let fleet = two_hosts();
    let mut failures = 0;
    for saved in rounds(&fleet) {
        saved.restore();
        let before = state(&fleet);
        fleet.survey(0, &ARGS);
        let after = state(&fleet);
        for (calls, error) in
            [("pwrite64", "ENOSPC"), ("pwrite64", "EIO"), ("fsync,fdatasync", "EIO")]
        {
            for nth in 1.. {
                saved.restore();
                let traced = strace.fail(fleet.command(0, &ARGS), &Calls::nth(calls, nth), error);
                if !traced.fired() {
                    traced.output.success();
                    break;
                }
                failures += 1;
                let said = traced.output.stderr_str();
                let is_explained = said.starts_with("lop: ") && said.contains("\nhint: ");
                let is_failure = matches!(traced.output.ending, Ending::Code(1 | 5));
                let is_done = traced.output.ending == Ending::Code(0) && state(&fleet) == after;
                assert!(
                    is_done || is_failure && is_explained,
                    "{calls} {nth}: {:?}",
                    traced.output
                );
                let now = state(&fleet);
                assert!(now.0 == before.0 || now.0 == after.0, "{calls} {nth}: {now:?}");
                assert_whole_lists(&fleet);
                fleet.survey(0, &ARGS);
                assert_eq!(state(&fleet), after, "{calls} {nth}");
            }
        }
    }
    assert!(failures > 20, "{failures} failures");
}

/// Returns two hosts before the round in which they read 150 whole files, which takes some time.
fn with_much_to_read() -> (Hosts, Saved) {
    let file = |tree: TreeBuilder, n: u64| {
        tree.sparse(format!("{}/{n}", n % 7), 3_000_000 + n, &[(0, &n.to_le_bytes())])
    };
    let tree = (0..150).fold(TreeBuilder::new(), file);
    let fleet = Hosts::new([tree.clone(), tree]);
    let saved = rounds(&fleet).pop().expect("the last round");
    (fleet, saved)
}

/// Returns how many files of the first host have a head and a digest.
fn digests(fleet: &Hosts) -> u64 {
    fleet.hosts[0].assert_whole_catalog();
    let sql = "SELECT count(*) FROM file f JOIN content c ON c.id = f.content \
               WHERE c.digest IS NOT NULL AND f.head IS NOT NULL";
    let count = fleet.hosts[0].database().query_row(sql, [], |row| row.get::<_, u32>(0));
    count.expect("a number").into()
}

/// Ends surveys with a signal at some moments. Returns how many were ended in the middle of reading.
fn end_surveys(fleet: &Hosts, saved: &Saved, signal: Signal, mut delay: Duration) -> u32 {
    let (mut ended, mut partial) = (0, 0);
    for round in 0..60 {
        // A killed survey saves nothing of the batch that it was reading.
        if ended >= 5 && (partial >= 2 || signal == Signal::KILL && round >= 10) {
            break;
        }
        saved.restore();
        let output = fleet.command(0, &ARGS).signal(signal, When::After(delay)).run();
        let read = digests(fleet);
        if output.ending == Ending::Signal(signal.as_raw()) {
            ended += 1;
        } else {
            output.success();
        }
        if read > 0 && read < 150 {
            partial += 1;
            let hint = "hint: what was read is saved; run the same command again to continue\n";
            let said = output.stderr_str();
            assert!(signal == Signal::INT && said.ends_with(hint), "{signal:?}: {said}");
        }
        // The next signal comes nearer to the middle.
        if read == 0 {
            delay += delay / 6;
        } else {
            delay -= delay / 7;
        }
        fleet.answer();
        let summary = fleet.survey(0, &ARGS);
        assert_eq!(summary["files_read"].as_u64(), Some(150 - read));
        assert_eq!(summary["unread"], 0);
    }
    assert!(ended >= 5, "{signal:?} has ended {ended} surveys");
    partial
}

#[test]
fn an_interrupted_survey_keeps_what_it_has_read_and_continues() {
    let (fleet, saved) = with_much_to_read();
    saved.restore();
    let start = Instant::now();
    let all = fleet.survey(0, &ARGS);
    let whole = start.elapsed();
    assert_eq!((all["files_read"].as_u64(), digests(&fleet)), (Some(150), 150));
    let partial = end_surveys(&fleet, &saved, Signal::INT, whole / 2);
    assert!(partial >= 2, "{partial} surveys were ended in the middle");
    end_surveys(&fleet, &saved, Signal::KILL, whole / 2);
    fleet.converge(&ARGS);
    assert_all_known(&fleet, "out");
}
