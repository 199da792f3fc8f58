//! Odd trees: special files, very deep and very wide trees, holes, few descriptors, and trees that change.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use testkit::{
    Content, Ending, Groups, Sandbox, Signal, TreeBuilder, When, assert_groups, deep_path,
    groups_of, naive_groups, parse_nul, relative_to, skipped,
};

use crate::lop::{Figures, Lop, document, settle};

#[test]
fn special_files_are_counted_and_never_opened() {
    let tree = TreeBuilder::new()
        .fifo("special fifo")
        .socket("special socket")
        .char_device("special character", 1, 5)
        .block_device("special block", 7, 200)
        .dangling_symlink("special link")
        .symlink_loop("special loop 1", "special loop 2")
        .file("a", "alike")
        .file("b", "alike");
    let lop = Lop::new();
    let made = lop.lay(&tree);
    settle();
    let devices = 2 - made.skipped.len() as u64;
    let output = lop.run(["scan", "--json", "."]);
    output.success();
    let summary = document(&output)["summary"].clone();
    let mut skips = serde_json::json!({ "fifos": 1, "sockets": 1, "symlinks": 3 });
    if devices > 0 {
        skips["device_files"] = devices.into();
    }
    assert_eq!(summary["skipped"], skips);
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
    for command in [&["ls"][..], &["dups"], &["uniques"], &["validate"], &["refresh"]] {
        let output = lop.run(command);
        assert!(matches!(output.ending, Ending::Code(0 | 6)), "{command:?}");
        assert!(!output.stdout_str().contains("special"), "{command:?}");
    }
    assert_never_opened(&lop);
}

/// Traces a scan and asserts that it never opens a special file.
fn assert_never_opened(lop: &Lop) {
    if !Path::new("/usr/bin/strace").exists() {
        return skipped("strace is not installed");
    }
    let strace = Sandbox::new("/usr/bin/strace");
    let log = lop.home().join("calls");
    let traced = strace.command().args(["-f", "-qq", "-e", "trace=open,openat,openat2", "-o"]);
    let traced = traced.arg(&log).args([env!("CARGO_BIN_EXE_lop"), "scan", "--no-catalog"]);
    let output = traced.arg(lop.work()).run();
    if String::from_utf8_lossy(&output.stderr).contains("Operation not permitted") {
        return skipped("strace is not permitted to trace");
    }
    output.success();
    let calls = fs::read_to_string(&log).expect("strace wrote its log");
    assert!(calls.contains("\"a\""), "regular files were opened: the log is what it seems");
    assert_eq!(calls.lines().find(|line| line.contains("special")), None);
}

#[test]
fn a_chain_of_3000_directories_is_scanned_and_remembered() {
    let tree = TreeBuilder::new().deep_chain(3000, "d", "deep down").file("copy", "deep down");
    let lop = Lop::with(&tree);
    let bottom = String::from_utf8(deep_path(3000, "d")).expect("UTF-8");
    let expected = groups_of([["copy", bottom.as_str()]]);
    let output = lop.scan(["--no-catalog", "--format", "nul", "."]);
    assert_groups(&expected, &relative_to(".", &parse_nul(&output.stdout)));
    lop.remember(["."]);
    assert_groups(&expected, &lop.report());
    lop.scan_figures(["."]).assert_nothing_read();
    assert_eq!(lop.listed(["dups", "."], 0).len(), 2);
    lop.run(["validate"]).success();
    assert_eq!(lop.json(["refresh"])["summary"]["gone"], 0);
    lop.assert_whole_catalog();
    let deepest: i64 = lop
        .database()
        .query_row("SELECT max(length(path)) FROM files", [], |row| row.get(0))
        .expect("a length");
    assert!(deepest > 6000);
}

/// Scans a directory of 100,000 entries, and interrupts a walk of that directory with Ctrl-C.
#[test]
fn a_directory_of_100000_entries_is_nothing_special() {
    let lop = Lop::new();
    let dir = lop.path("wide");
    fs::create_dir(&dir).expect("made");
    // Half of the files are empty to make the test faster. The others include ten identical pairs.
    for n in 0..100_000u32 {
        let content = if n % 2 == 0 { Vec::new() } else { n.to_le_bytes().to_vec() };
        fs::write(dir.join(format!("{n}")), content).expect("written");
    }
    for n in 0..10u32 {
        fs::write(dir.join(format!("{}", 2 * n + 1)), 999_999u32.to_le_bytes()).expect("written");
    }
    settle();
    let shown = When::Stderr(b"Finding files".to_vec());
    let scan = lop.command().args(["scan", "--progress", "always", "--threads", "1", "."]);
    let output = scan.signal(Signal::INT, shown).run();
    output.signal(Signal::INT);
    assert!(!lop.catalog().exists() && !lop.state().join("lop/catalog.db.new").exists());
    let summary = lop.scan_summary(["."]);
    assert_eq!((&summary["files"], &summary["skipped"]["empty"]), (&50_000.into(), &50_000.into()));
    let names = (0..10).map(|n| format!("wide/{}", 2 * n + 1));
    assert_groups(&groups_of([names]), &lop.report());
    lop.scan_figures(["."]).assert_nothing_read();
    lop.assert_whole_catalog();
}

#[test]
fn two_holes_of_a_terabyte_are_compared_without_being_read() {
    let tree = TreeBuilder::new()
        .sparse("hole 1", 1 << 40, &[])
        .sparse("hole 2", 1 << 40, &[])
        .sparse("island 1", 1 << 40, &[(1 << 39, b"island")])
        .sparse("island 2", 1 << 40, &[(1 << 39, b"island")])
        .sparse("island 3", 1 << 40, &[(1 << 39, b"Island")]);
    let lop = Lop::with(&tree);
    let expected = groups_of([["hole 1", "hole 2"], ["island 1", "island 2"]]);
    let output = lop.scan(["--stats", "--format", "nul", "."]);
    assert_groups(&expected, &relative_to(".", &parse_nul(&output.stdout)));
    let read = Figures::of(&output).get("bytes_read");
    // One block is read around each island of data, in five files.
    assert!(read < 4 << 20, "{read} bytes read");
    assert_groups(&expected, &lop.report());
    lop.scan_figures(["."]).assert_nothing_read();
    // Holes take up no space, so deleting a file that consists of a single hole frees nothing.
    let summary = lop.scan_summary(["."]);
    assert!(summary["reclaimable_bytes"].as_u64() < Some(1 << 20), "{summary}");
    lop.run(["validate"]).success();
    lop.add(&TreeBuilder::new().sparse("hole 3", 1 << 40, &[]));
    lop.remember(["."]);
    let expected = groups_of([vec!["hole 1", "hole 2", "hole 3"], vec!["island 1", "island 2"]]);
    assert_groups(&expected, &lop.report());
}

#[test]
fn few_descriptors_are_enough() {
    let mut tree = TreeBuilder::new().deep_chain(200, "deep", "down there");
    for n in 0..300 {
        tree = tree.differing(
            format!("{}/{n}", n % 60),
            1,
            70_000,
            69_000,
            u8::try_from(n % 5).unwrap_or(0),
        );
        tree = tree.file(format!("s{}/{n}", n % 70), format!("{:03}", n / 3).as_str());
    }
    let lop = Lop::with(&tree.file("copy", "down there"));
    let expected = relative_to(lop.work(), &naive_groups(lop.work()));
    for limit in [64, 24] {
        let run = |args: &[&str]| {
            let output = lop.command().args(args).descriptor_limit(limit).run();
            assert_eq!(output.stderr_str().find("Too many open files"), None);
            output
        };
        drop(fs::remove_file(lop.catalog()));
        run(&["scan", "-q", "--threads", "4", "."]).success();
        run(&["scan", "-q", "."]).success();
        let report = run(&["report", "-q", "--format", "nul"]);
        report.success();
        assert_groups(&expected, &relative_to(lop.work(), &parse_nul(&report.stdout)));
        run(&["uniques", "."]).code(6);
        run(&["ls", "-R"]).success();
        run(&["validate"]).success();
        run(&["refresh"]).success();
    }
}

#[test]
fn times_before_1970_and_far_ahead_are_times() {
    let mut tree = TreeBuilder::new();
    for (n, seconds) in
        [-5_000_000_000_i64, -1, 0, 4_000_000_000, 13_000_000_000].iter().enumerate()
    {
        for copy in ["a", "b"] {
            let name = format!("{n} {copy}");
            tree = tree.seeded(&name, n as u64, 5000).mtime(&name, *seconds, 999_999_999);
        }
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop.scan_figures(["."]).assert_nothing_read();
    assert_eq!(lop.report().len(), 5);
    lop.run(["validate"]).success();
    let years: i64 = lop
        .database()
        .query_row("SELECT count(modified) FROM files", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(years, 10);
}

/// Files grow, shrink, vanish and are replaced while scans run.
#[test]
fn a_tree_that_changes_during_a_scan_makes_no_scan_crash() {
    let mut tree = TreeBuilder::new();
    for n in 0..300 {
        tree = tree.seeded(format!("{}/{n}", n % 10), n / 3, 40_000 + n % 2 * 60_000);
    }
    let lop = Lop::with(&tree);
    let done = AtomicBool::new(false);
    let mut partial = 0;
    std::thread::scope(|scope| {
        let changer = scope.spawn(|| {
            let mut changes = 0_u64;
            while !done.load(Relaxed) {
                change(&lop, changes);
                changes += 1;
            }
            changes
        });
        // On a busy machine, all changes may fall between two scans.
        for round in 0..500 {
            if round >= 20 && partial > 0 {
                break;
            }
            let output = lop.run(["scan", "-q", "."]);
            match output.ending {
                Ending::Code(0) => {}
                Ending::Code(3) => partial += 1,
                _ => output.fail("an ugly end"),
            }
            assert_eq!(output.stderr_str().contains("lop: "), output.ending == Ending::Code(3));
            let output = lop.run(["report", "-q"]);
            if !matches!(output.ending, Ending::Code(0 | 3)) {
                output.fail("an ugly end");
            }
        }
        done.store(true, Relaxed);
        assert!(changer.join().expect("no panic") > 100, "too tame");
    });
    assert!(partial > 0, "no scan met a change");
    settle();
    lop.remember(["."]);
    assert_groups(&relative_to(lop.work(), &naive_groups(lop.work())), &lop.report());
    lop.assert_whole_catalog();
}

/// Makes the change with this number.
fn change(lop: &Lop, number: u64) {
    let n = number * 7 % 300;
    let path = lop.path(format!("{}/{n}", n % 10));
    let bytes = Content::Seeded { seed: number % 5, len: 40_000 + number % 2 * 60_000 }.bytes();
    // Files that an earlier change removed may be missing, which is part of the test.
    match number % 6 {
        0 => drop(fs::write(&path, &bytes)),
        1 => drop(fs::remove_file(&path)),
        2 => {
            let file = fs::File::options().write(true).open(&path);
            drop(file.and_then(|file| file.set_len(number % 50_000)));
        }
        3 => {
            let aside = lop.path(format!("{}/aside", n % 10));
            drop(fs::write(&aside, &bytes).and_then(|()| fs::rename(&aside, &path)));
        }
        4 => {
            let dir = lop.path(format!("{}", n % 10));
            let away = lop.path("away");
            drop(fs::rename(&dir, &away).and_then(|()| fs::rename(&away, &dir)));
        }
        _ => {
            drop(fs::remove_file(&path));
            drop(std::os::unix::fs::symlink("/etc/passwd", &path));
            drop(fs::remove_file(&path));
            drop(fs::write(&path, &bytes));
        }
    }
}

#[test]
fn a_directory_removed_under_the_working_directory_is_a_failure_with_a_message() {
    let lop = Lop::with(&TreeBuilder::new().dir("gone"));
    let binary = env!("CARGO_BIN_EXE_lop");
    let script = format!("cd gone && rmdir ../gone && exec {binary} scan .");
    let shell = Sandbox::new("/bin/sh");
    let output = shell.command().args(["-c", &script]).cwd(lop.work()).run();
    assert!(matches!(output.ending, Ending::Code(1 | 3)), "{:?}", output.ending);
    assert!(output.stderr_str().starts_with("lop: .: "), "{}", output.stderr_str());
    assert_groups(&Groups::new(), &parse_nul(&lop.scan(["--format", "nul", "."]).stdout));
}
