//! Exports that are killed, interrupted, or run beside a scan or another export. An export appears
//! when it is complete.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use testkit::{
    Calls, Ending, Invocation, Signal, Strace, TreeBuilder, When, at_random_moments, kill_after,
    skipped,
};

use super::{manifest, names_in, number};
use crate::lop::{Lop, settle};

/// Returns the program with a catalog that takes some time to export.
fn with_many() -> Lop {
    let tree = (0..4000).fold(TreeBuilder::new(), |tree, n| {
        tree.seeded(format!("even/{}/{n}", n % 40), n / 2, 100 + n % 7)
    });
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

fn export(lop: &Lop) -> Invocation<'_> {
    lop.command().args(["export", "-q", "--host", "nas"]).arg(lop.fleet())
}

/// Returns the exports of the host that have their final name.
fn exports(lop: &Lop) -> Vec<PathBuf> {
    let host = lop.fleet().join("nas");
    let names = names_in(&host).into_iter().filter(|name| name != "_part");
    names.map(|name| host.join(name)).collect()
}

/// Returns whether killed exports have left a folder.
fn has_unfinished(lop: &Lop) -> bool {
    names_in(&lop.fleet().join("nas")).iter().any(|name| name == "_part")
}

/// Asserts that an export is complete, and removes it.
#[track_caller]
fn assert_complete(lop: &Lop, export: &Path) {
    let tables = manifest(export)["tables"].as_object().expect("tables").clone();
    let files: usize = tables.values().map(|files| files.as_array().expect("files").len()).sum();
    assert_eq!(files + 1, names_in(export).len(), "{}", export.display());
    // An import checks the digest of each file.
    let catalog = lop.import(export, "imported.db");
    fs::remove_file(catalog).expect("removed");
    fs::remove_dir_all(export).expect("removed");
}

/// Asserts that all exports are complete, and removes them.
#[track_caller]
fn assert_all_complete(lop: &Lop) {
    for export in exports(lop) {
        assert_complete(lop, &export);
    }
}

/// Asserts that all exports are complete, and that another export removes all that is not.
#[track_caller]
fn assert_recovers(lop: &Lop) {
    assert_all_complete(lop);
    export(lop).run().success();
    assert!(!has_unfinished(lop));
    assert_eq!(exports(lop).len(), 1);
    assert_all_complete(lop);
}

fn duration(lop: &Lop) -> Duration {
    let start = Instant::now();
    export(lop).run().success();
    start.elapsed()
}

#[test]
fn an_export_that_is_killed_at_some_moment_never_appears_incomplete() {
    let lop = with_many();
    let (whole, mut unfinished) = (duration(&lop), 0);
    at_random_moments(25, 7, whole, |_, delay| {
        let killed = kill_after(&export(&lop), delay);
        unfinished += u32::from(has_unfinished(&lop));
        assert_recovers(&lop);
        killed.fired
    });
    assert!(unfinished >= 5, "only {unfinished} kills hit a folder that was being written");
}

#[test]
fn an_export_that_is_killed_before_any_change_never_appears_incomplete() {
    let Ok(strace) = Strace::find().map_err(skipped) else { return };
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    lop.remember(["."]);
    let mut kills = 0;
    for call in ["?mkdir,mkdirat", "pwrite64", "fsync", "?renameat,renameat2", "flock"] {
        for nth in 1.. {
            let calls = Calls::nth(call, nth);
            let traced = strace.kill(export(&lop), &calls);
            if !traced.fired() {
                traced.output.success();
                break;
            }
            kills += 1;
            let appeared = exports(&lop).len();
            // The last sync and the unlocking come after the export has its name.
            assert!(appeared == 0 || matches!(call, "fsync" | "flock"), "{call} {nth}");
            assert_recovers(&lop);
        }
        assert_recovers(&lop);
    }
    assert!(kills > 20, "{kills} kills");
}

#[test]
fn an_error_of_any_call_leaves_nothing() {
    let Ok(strace) = Strace::find().map_err(skipped) else { return };
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    lop.remember(["."]);
    let mut failures = 0;
    for (call, error) in [("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fsync", "EIO")] {
        for nth in 1.. {
            let traced = strace.fail(export(&lop), &Calls::nth(call, nth), error);
            let appeared = exports(&lop);
            if !traced.fired() {
                traced.output.success();
                assert_eq!(appeared.len(), 1);
                assert_complete(&lop, &appeared[0]);
                break;
            }
            failures += 1;
            traced.output.code(1);
            let said = traced.output.stderr_str();
            assert!(said.starts_with("lop: cannot ") && said.contains("\nhint: "), "{said}");
            // The last sync comes after the export has its name.
            assert!(appeared.is_empty() || call == "fsync", "{call} {nth}");
            assert_all_complete(&lop);
            assert!(!has_unfinished(&lop), "{call} {nth}");
        }
    }
    assert!(failures > 20, "{failures} failures");
}

#[test]
fn an_interrupted_export_leaves_nothing() {
    let lop = with_many();
    let (whole, mut ended) = (duration(&lop), 0);
    assert_all_complete(&lop);
    for round in 0..100 {
        if round >= 10 && ended >= 3 {
            break;
        }
        let when = When::After(whole * (round % 10) / 10);
        let output = export(&lop).signal(Signal::INT, when).run();
        if output.ending == Ending::Signal(Signal::INT.as_raw()) {
            ended += 1;
        } else {
            output.success();
        }
        assert!(!has_unfinished(&lop));
        // The signal may come after the export is complete.
        assert_all_complete(&lop);
    }
    assert!(ended >= 3, "only {ended} exports were interrupted");
}

#[test]
fn an_interrupted_import_leaves_no_catalog() {
    let lop = with_many();
    let from = lop.export_as("nas", &[]);
    let catalog = lop.home().join("new.db");
    let import = || lop.command().arg("import").arg("--catalog").arg(&catalog).arg(&from);
    let start = Instant::now();
    import().run().success();
    let whole = start.elapsed();
    for signal in [Signal::INT, Signal::KILL] {
        let mut ended = 0;
        for round in 0..100 {
            if round >= 10 && ended >= 3 {
                break;
            }
            drop(fs::remove_file(&catalog));
            let when = When::After(whole * (round % 10) / 10);
            let output = import().signal(signal, when).run();
            if output.ending == Ending::Signal(signal.as_raw()) {
                ended += 1;
                // A signal may come between the rename and the end.
                if catalog.exists() {
                    crate::lop::assert_whole(&catalog);
                }
            } else {
                output.success();
            }
        }
        assert!(ended >= 3, "only {ended} imports were ended by {signal:?}");
        drop(fs::remove_file(&catalog));
        import().run().success();
        let left = names_in(&lop.home()).into_iter().filter(|name| name.starts_with("new.db"));
        assert_eq!(left.collect::<Vec<_>>(), ["new.db"]);
    }
}

#[test]
fn an_export_beside_a_scan_is_the_catalog_before_or_after_the_commit() {
    let lop = with_many();
    let (mut old, mut new) = (0, 0);
    for round in 0..20 {
        if round >= 3 && old > 0 && new > 0 {
            break;
        }
        let [from, to] = if round % 2 == 0 { ["even", "odd"] } else { ["odd", "even"] };
        fs::rename(lop.path(from), lop.path(to)).expect("renamed");
        settle();
        let mut scan = lop.command().args(["scan", "--reread", "."]).spawn();
        let mut running = true;
        while running {
            running = scan.is_running();
            export(&lop).run().success();
        }
        scan.wait().success();
        for export in exports(&lop) {
            let catalog = lop.import(&export, "imported.db");
            let database = rusqlite::Connection::open(&catalog).expect("a catalog");
            let sql = "SELECT count(*) FROM file";
            assert_eq!(number(&database, sql), 4000);
            let has = |name: &str| {
                let sql = format!("SELECT count(*) FROM dir WHERE CAST(name AS TEXT) = '{name}'");
                number(&database, &sql) > 0
            };
            assert!(has(from) != has(to), "{from} and {to} are the same directory");
            if has(from) {
                old += 1;
            } else {
                new += 1;
            }
            fs::remove_file(catalog).expect("removed");
            fs::remove_dir_all(export).expect("removed");
        }
    }
    assert!(old > 0 && new > 0, "{old} exports before and {new} after a commit");
}

#[test]
fn two_exports_of_a_host_at_once_are_both_complete_or_one_is_refused() {
    let lop = with_many();
    let (mut done, mut refused) = (0, 0);
    for round in 0..20 {
        if round >= 5 && refused > 0 {
            break;
        }
        let all: Vec<_> = (0..3).map(|_| export(&lop).spawn()).collect();
        for running in all {
            let output = running.wait();
            if output.ending == Ending::Code(0) {
                done += 1;
                continue;
            }
            output.code(1);
            let host = lop.fleet().join("nas");
            let message = format!("lop: another process is writing to {}\n", host.display());
            let said = output.stderr_str();
            assert_eq!(said, message + "hint: try again when it has ended\n");
            refused += 1;
        }
        assert!(!has_unfinished(&lop));
        assert_eq!(exports(&lop).len(), done);
    }
    assert!(done > 0 && refused > 0, "{done} done, {refused} refused");
    assert_all_complete(&lop);
}

#[test]
fn exports_of_several_hosts_to_one_folder_do_not_wait() {
    let lop = with_many();
    let hosts = ["nas", "laptop", "desktop"];
    let spawn = |host| lop.command().args(["export", "--host", host]).arg(lop.fleet()).spawn();
    let all: Vec<_> = hosts.map(spawn).into();
    for running in all {
        running.wait().success();
    }
    assert_eq!(names_in(&lop.fleet()), hosts.map(str::to_owned).into());
    for host in hosts {
        let folder = lop.fleet().join(host);
        let names = names_in(&folder);
        assert_eq!(names.len(), 1);
        assert_complete(&lop, &folder.join(names.first().expect("one")));
    }
}
