//! Scans while `lop watch` runs examine only what changed, and leave the catalog that a scan of everything would leave.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use rusqlite::Connection;
use serde_json::Value;
use testkit::{
    CATALOG_FACTS, Calls, Mount, NOBODY, RandomChanges, Running, Signal, Strace, TreeBuilder, When,
    skipped,
};

use crate::lop::{Lop, settle};

/// Starts to watch the directory `t`, without automatic scans, and waits until it is watched.
fn watch(lop: &Lop) -> Running {
    started(lop.command().args(["watch", "--scan-every", "never", "t"]).spawn())
}

fn started(mut running: Running) -> Running {
    assert!(running.wait_for(&When::Stdout(b"\nScans ".into())), "it does not watch");
    running
}

/// Makes `nobody` the owner of all files.
fn give_away(lop: &Lop) {
    let all = Command::new("chown").arg("-R").arg(NOBODY.to_string()).arg(lop.path("")).status();
    assert!(all.expect("runs").success());
}

/// Scans `t`, and returns the summary.
#[track_caller]
fn scan(lop: &Lop) -> Value {
    scan_with(lop, &["t"])
}

/// Scans with the given arguments, and returns the summary.
#[track_caller]
fn scan_with(lop: &Lop, args: &[&str]) -> Value {
    lop.json([&["scan"], args].concat())["summary"].take()
}

/// Returns the number of files that a scan examined because they changed; `None` if it examined everything.
fn changed(summary: &Value) -> Option<u64> {
    summary["changed_files"].as_u64()
}

fn tree() -> TreeBuilder {
    TreeBuilder::new().file("t/a", "alike").file("t/d/b", "alike").file("t/d/sub/c", "other")
}

/// A watched tree that was scanned.
fn watched() -> (Lop, Running) {
    let lop = Lop::with(&tree());
    let running = watch(&lop);
    assert_eq!(changed(&scan(&lop)), None, "the first scan examines everything");
    (lop, running)
}

#[test]
fn only_changes_are_examined() {
    let (lop, _running) = watched();
    assert_eq!(changed(&scan(&lop)), Some(0));
    fs::write(lop.path("t/d/new"), "alike").expect("written");
    fs::remove_file(lop.path("t/d/sub/c")).expect("removed");
    settle();
    let summary = scan(&lop);
    assert_eq!(changed(&summary), Some(2));
    let figures = ["files", "bytes", "groups", "redundant_files", "reclaimable_bytes"];
    assert_eq!(figures.map(|key| summary[key].as_u64().expect("a number")), [3, 15, 1, 2, 8192]);
    let text = lop.scan(["t"]);
    let text = text.stdout_str();
    assert!(text.starts_with("Scanned   0 changed files in "), "{text}");
    assert!(
        text.contains(" s; in all, 3 files, 15 B\nFound     1 group: 2 redundant files, "),
        "{text}"
    );
}

/// Linking and unlinking also change the ctime of the other names.
#[test]
fn hard_linked_files_are_counted_once() {
    let (lop, _running) = watched();
    fs::write(lop.path("t/d/new"), "alike").expect("written");
    fs::hard_link(lop.path("t/d/new"), lop.path("t/new link")).expect("linked");
    fs::hard_link(lop.path("t/a"), lop.path("t/d/link")).expect("linked");
    assert_counted(&lop, 4);
    fs::write(lop.path("t/a"), "longer").expect("written");
    assert_counted(&lop, 2);
    fs::remove_file(lop.path("t/a")).expect("removed");
    fs::remove_file(lop.path("t/new link")).expect("removed");
    fs::remove_file(lop.path("t/d/new")).expect("removed");
    assert_counted(&lop, 4);
}

#[test]
fn files_that_were_linked_or_left_out_before_are_counted_as_a_scan_of_everything_counts_them() {
    let lop =
        Lop::with(&tree().hard_links("two names", &["t/one", "t/two"]).seeded("t/large", 1, 5000));
    let _running = watch(&lop);
    let args = ["--max-size", "1000", "t"];
    assert_eq!(changed(&scan_with(&lop, &args)), None);
    assert_counted_with(&lop, 0, &args);
    fs::remove_file(lop.path("t/two")).expect("removed");
    assert_counted_with(&lop, 2, &args);
}

#[test]
fn remembered_files_of_other_sizes_are_not_counted() {
    let lop = Lop::with(&tree().file("t/empty", "").file("t/none", "").seeded("t/large", 1, 5000));
    let _running = watch(&lop);
    scan_with(&lop, &["--empty", "t"]);
    let args = ["--max-size", "1000", "t"];
    assert_eq!(changed(&scan_with(&lop, &args)), None, "other options");
    fs::remove_file(lop.path("t/empty")).expect("removed");
    fs::remove_file(lop.path("t/large")).expect("removed");
    assert_counted_with(&lop, 2, &args);
    lop.run(["dedupe", "--by", "delete", "--apply", "t"]).success();
    settle();
    let summary = scan_with(&lop, &args);
    assert!(changed(&summary).is_some(), "{summary}");
    assert_equal_totals(&lop, &summary, &args);
}

/// The commands that change files write a journal for each run.
#[test]
fn unreadable_journals_do_not_fail_a_scan() {
    let (lop, _running) = watched();
    let runs = catalog::Catalog::runs_dir(&lop.catalog());
    fs::write(runs, "not a directory").expect("written");
    assert_counted(&lop, 0);
}

#[test]
fn files_that_lop_has_changed_are_counted() {
    let (lop, _running) = watched();
    for args in [
        &["dedupe", "--by", "hardlink", "--apply", "t"][..],
        &["undo"],
        &["dedupe", "--by", "delete", "--apply", "t"],
        &["undo"],
    ] {
        lop.run(args).success();
        settle();
        let summary = scan(&lop);
        assert!(changed(&summary).is_some(), "{args:?}: {summary}");
        assert_equal_totals(&lop, &summary, &["t"]);
    }
}

#[test]
fn files_that_are_left_out_stay_copies() {
    let many =
        (0..20).fold(TreeBuilder::new(), |tree, n| tree.file(format!("t/{n}"), "many copies"));
    let lop = Lop::with(
        &many.file("t/x.bak", "alone with its size").hard_links("many copies", &["t/a", "t/a.bak"]),
    );
    let _running = watch(&lop);
    scan(&lop);
    settle();
    let args = ["--exclude", "*.bak", "t"];
    assert_eq!(changed(&scan_with(&lop, &args)), None);
    fs::copy(lop.path("t/x.bak"), lop.path("t/new")).expect("copied");
    drop(File::options().append(true).open(lop.path("t/x.bak")).expect("opened"));
    fs::remove_file(lop.path("t/a")).expect("removed");
    settle();
    let summary = scan_with(&lop, &args);
    assert!(changed(&summary).is_some());
    assert_eq!(
        (&summary["groups"], &summary["redundant_files"]),
        (&2.into(), &21.into()),
        "{summary}"
    );
}

/// Scans changes of this number of names, and checks that a scan of everything counts as many files and bytes.
#[track_caller]
fn assert_counted(lop: &Lop, names: u64) {
    assert_counted_with(lop, names, &["t"]);
}

#[track_caller]
fn assert_counted_with(lop: &Lop, names: u64, args: &[&str]) {
    settle();
    let summary = scan_with(lop, args);
    assert_eq!(changed(&summary), Some(names));
    assert_equal_totals(lop, &summary, args);
}

#[track_caller]
fn assert_equal_totals(lop: &Lop, summary: &Value, args: &[&str]) {
    let other = lop.path("other.db");
    let catalog = ["--catalog", other.to_str().expect("UTF-8"), "--json"];
    let everything = crate::lop::document(&lop.scan(catalog.iter().chain(args)))["summary"].clone();
    for key in ["files", "bytes"] {
        assert_eq!(summary[key], everything[key], "{key}");
    }
}

#[test]
fn changed_files_that_cannot_be_read_are_reported() {
    if !testkit::is_root() {
        return skipped("only root can act as another user");
    }
    let lop = Lop::with(&tree());
    give_away(&lop);
    let command = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY);
    let _running = started(command(&["watch", "--scan-every", "never", "t"]).spawn());
    command(&["scan", "t"]).run().success();
    fs::write(lop.path("t/secret"), "alike").expect("written");
    fs::set_permissions(lop.path("t/secret"), Permissions::from_mode(0o000)).expect("changed");
    settle();
    for _ in 0..2 {
        let output = command(&["scan", "--json", "t"]).run();
        let said = output.code(3).stderr_str();
        assert!(said.contains("t/secret"), "{said}");
        assert!(changed(&crate::lop::document(&output)["summary"]).is_some());
    }
}

#[test]
fn only_changed_files_and_their_copies_are_opened() {
    let strace = match Strace::find() {
        Ok(strace) => strace,
        Err(reason) => return skipped(reason),
    };
    let lop =
        Lop::with(&(0..50).fold(tree(), |tree, n| tree.seeded(format!("t/many/{n}"), n, 1000)));
    let _running = watch(&lop);
    scan(&lop);
    fs::write(lop.path("t/d/new"), "alike").expect("written");
    settle();
    let traced = strace.list(lop.command().args(["scan", "t"]), &Calls::of("openat,openat2"));
    traced.output.success();
    let opened = |name: &str| traced.calls.iter().any(|call| call.contains(name));
    assert!(opened("\"new\"") && !opened("many") && !opened("\"c\""), "{:#?}", traced.calls);
}

#[test]
fn everything_is_examined_if_changes_are_unknown() {
    let (lop, running) = watched();
    fs::write(lop.path("t/new"), "alike").expect("written");
    assert_eq!(changed(&scan_with(&lop, &["--exclude", "*.o", "t"])), None, "other options");
    assert_eq!(changed(&scan_with(&lop, &["--exclude", "*.o", "t"])), Some(0));
    assert_eq!(changed(&scan(&lop)), None, "other options than before");
    assert_eq!(changed(&scan_with(&lop, &["--reread", "t"])), None);
    assert_eq!(changed(&scan_with(&lop, &["--full", "t"])), None);
    assert_eq!(changed(&scan_with(&lop, &["t/d"])), None, "another root");
    assert_eq!(changed(&scan(&lop)), Some(0));
    lop.command().args(["forget", "t/a"]).run().success();
    let summary = scan(&lop);
    assert_eq!(
        (changed(&summary), summary["files"].as_u64()),
        (None, Some(4)),
        "forgotten files are found again"
    );
    drop(running);
    let _running = watch(&lop);
    let output = lop.scan(["t"]);
    let said = "examining everything: the watcher was started after the last scan\n";
    assert_eq!(output.stderr_str(), said);
    assert_eq!(changed(&scan(&lop)), Some(0));
}

#[test]
fn the_reason_to_examine_everything_is_printed() {
    let (lop, _running) = watched();
    let reason = |args: &[&str]| {
        let output = lop.scan(args.iter().copied());
        output.stderr_str().trim_end().replace(lop.path("t").to_str().expect("text"), "T")
    };
    let because = |reason: &str| format!("examining everything: {reason}");
    let other_options = because("the last scan of T had other options");
    assert_eq!(reason(&["--min-size", "2", "t"]), other_options);
    assert_eq!(reason(&["t"]), other_options);
    assert_eq!(reason(&["t"]), "");
    assert_eq!(reason(&["--full", "t"]), "", "the user knows the reason");
    fs::create_dir(lop.path("u")).expect("made");
    assert_eq!(reason(&["u"]), "", "this is the first scan of the directory");
    let other_roots = because("the last scan did not cover exactly the same directories");
    assert_eq!(reason(&["t", "u"]), other_roots);
    assert_eq!(reason(&["t"]), other_roots);
    assert_eq!(reason(&["t", "t/a"]), because("t/a is not a directory"));
    assert_eq!(reason(&["t"]), because("the changes in T since its last scan are not known"));
    lop.command().args(["forget", "t/a"]).run().success();
    assert_eq!(reason(&["t"]), because("the changes in T since its last scan are not known"));
    fs::write(lop.path("list"), "t/a\n").expect("written");
    let list = "the notes of 'lop watch' are about directories, not about a list of files";
    assert_eq!(reason(&["--files-from", "list"]), because(list));
}

/// Returns what a catalog says.
fn facts(catalog: &PathBuf) -> Vec<String> {
    let database = Connection::open(catalog).expect("opens");
    let mut facts = Vec::new();
    for sql in CATALOG_FACTS {
        let mut query = database.prepare(sql).expect("a query");
        let rows = query.query_map([], |row| row.get(0)).expect("rows");
        facts.extend(rows.map(|row| row.expect("text")));
    }
    facts
}

/// Makes random changes, scans with and without the notes of a watcher, and compares the catalogs and the totals.
/// Returns the number of scans that used the notes. The watcher is killed now and then, and file systems are mounted
/// and unmounted. If an ordinary user scans, the changes create no hard links, because inotify misses a link that is
/// created and removed between two scans.
fn compare(seed: u64, rounds: u64, user: Option<u32>) -> u64 {
    let linked = tree().hard_links("alike", &["t/h1", "t/d/h2", "t/d/sub/h3"]);
    let lop = Lop::with(&linked.file("over/a", "alike").file("over/x", "in the other directory"));
    if user.is_some() {
        give_away(&lop);
    }
    let command = |args: &[&str]| {
        let command = lop.command().args(args.iter().copied());
        match user {
            Some(user) => command.as_user(user, user),
            None => command,
        }
    };
    let start = || started(command(&["watch", "--scan-every", "never", "t"]).spawn());
    let full = lop.path("full.db");
    let mut changes = RandomChanges::new(seed, &[lop.path("t")]);
    changes.hard_links = user.is_none();
    let (mut running, mut mounts, mut noted) = (start(), Vec::new(), 0);
    for round in 0..rounds {
        for _ in 0..changes.below(100) {
            changes.step();
        }
        match changes.below(12) {
            0 => {
                assert!(running.signal(Signal::KILL));
                drop(running.wait());
                changes.step();
                running = start();
            }
            1 | 2 if user.is_none() && mounts.is_empty() => {
                // A mount point cannot be renamed, so the test finds it again if nothing above it can.
                let dir = changes.dir();
                let top = dir.strip_prefix(lop.path("t")).expect("below").iter().next();
                let at = top.map(|name| lop.path("t").join(name));
                mounts.extend(at.and_then(|at| Mount::bind(lop.path("over"), at).ok()));
            }
            3 | 4 if !mounts.is_empty() => drop(mounts.remove(0)),
            _ => {}
        }
        let output = command(&["scan", "--json", "t"]).run();
        output.success();
        let summary = crate::lop::document(&output)["summary"].take();
        noted += u64::from(changed(&summary).is_some());
        let full_path = full.to_str().expect("text");
        let output = command(&["scan", "--json", "--catalog", full_path, "t"]).run();
        output.success();
        let everything = crate::lop::document(&output)["summary"].take();
        for key in ["files", "bytes"] {
            assert_eq!(summary[key], everything[key], "seed {seed}, round {round}: {key}");
        }
        let (by_notes, by_scan) = (facts(&lop.catalog()), facts(&full));
        let only = |facts: &[String], others: &[String]| -> Vec<String> {
            facts.iter().filter(|fact| !others.contains(fact)).cloned().collect()
        };
        assert!(
            by_notes == by_scan,
            "seed {seed}, round {round}: by notes {:#?}\nby a full scan {:#?}",
            only(&by_notes, &by_scan),
            only(&by_scan, &by_notes)
        );
    }
    noted
}

#[test]
fn random_changes_leave_the_catalog_of_a_full_scan() {
    if !testkit::is_root() {
        return skipped("only root may watch whole file systems and mount others");
    }
    let noted: u64 = (0..4).map(|seed| compare(seed, 50, None)).sum();
    assert!(noted > 100, "only {noted} of 200 scans used the notes");
}

#[test]
fn random_changes_are_noted_for_an_ordinary_user() {
    if !testkit::is_root() {
        return skipped("only root can act as another user");
    }
    let noted = compare(10, 50, Some(NOBODY));
    assert!(noted > 25, "only {noted} of 50 scans used the notes");
}
