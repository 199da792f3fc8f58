//! `lop watch`: what it prints, its scans, and its end. Tests of the library compare its answers with the file system.

use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use testkit::{Ending, NOBODY, Running, Sandbox, Signal, TEST_TIMEOUT, TreeBuilder, When, skipped};

use crate::configured::{command, configure};
use crate::lop::{Lop, settle};
use crate::serving::Server;

/// The last line that is printed before the watcher runs.
const READY: &[u8] = b"\nScans ";

fn tree() -> TreeBuilder {
    TreeBuilder::new().file("t/a", "one content").file("t/b", "one content").file("t/c", "other")
}

/// Starts `lop watch`, and waits until it watches.
fn start(lop: &Lop, args: &[&str]) -> Running {
    let mut running = lop.command().arg("watch").args(args.iter().copied()).spawn();
    assert!(running.wait_for(&When::Stdout(READY.into())), "it does not watch");
    running
}

fn end(mut running: Running, signal: Signal) -> testkit::Output {
    assert!(running.signal(signal));
    running.wait()
}

#[track_caller]
fn fails(output: &testkit::Output, code: i32, message: &str) {
    output.code(code);
    assert!(output.stderr_str().contains(message), "{}", output.stderr_str());
}

/// Waits until something is true.
#[track_caller]
fn wait_until(mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < TEST_TIMEOUT, "it does not happen");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the number of files in the catalog.
fn remembered(lop: &Lop) -> u64 {
    let output = lop.run(["status", "--json"]);
    if output.ending != Ending::Code(0) {
        return 0;
    }
    crate::lop::document(&output)["remembered"]["files"].as_u64().unwrap_or(0)
}

fn socket(lop: &Lop) -> std::path::PathBuf {
    lop.state().join("lop/catalog.db.lop-watch")
}

#[test]
fn changes_are_scanned() {
    let lop = Lop::with(&tree());
    let running = start(&lop, &["--scan-every", "1s", "t"]);
    wait_until(|| remembered(&lop) == 3);
    fs::write(lop.path("t/d"), "one content").expect("written");
    wait_until(|| remembered(&lop) == 4);
    wait_until(|| lop.run(["file", "t/d"]).stdout_str().contains("2 duplicates"));
    let output = end(running, Signal::TERM);
    output.success();
    assert_eq!(output.stderr_str(), "");
    let lines: Vec<&str> = output.stdout_str().lines().collect();
    assert!(lines[0].starts_with("Watching  ") && lines[0].contains("/t: "), "{lines:?}");
    assert_eq!(lines[1], "Scans     now, then 1s after a change");
    assert!(!socket(&lop).exists());
}

#[test]
fn scanned_directories_are_the_default() {
    let lop = Lop::with(&tree().file("u/x", "x"));
    fails(&lop.run(["watch"]), 5, "lop scan DIR");
    lop.remember(["t"]);
    lop.remember(["--exclude", "*.o", "u"]);
    let running = start(&lop, &[]);
    let output = end(running, Signal::INT);
    output.success();
    let text = output.stdout_str();
    assert!(text.contains("/t: ") && text.contains("/u: "), "{text}");
    assert!(text.contains("/u only when you scan it, with --exclude *.o\n"), "{text}");
    let running = start(&lop, &["--scan-every", "never"]);
    let output = end(running, Signal::HUP);
    output.success();
    assert!(output.stdout_str().contains("Scans     only when you run 'lop scan'\n"));
}

#[test]
fn scans_with_the_patterns_of_the_configuration_are_repeated() {
    let lop = Lop::with(&tree().file("t/x.o", "x"));
    configure(&lop, "exclude = ['*.o']\n");
    command(&lop).args(["scan", "t"]).run().success();
    let status = lop.run(["status"]);
    assert!(status.stdout_str().contains("3 files, 27 B  "), "{}", status.stdout_str());
    assert!(status.stdout_str().contains("(configured: --exclude *.o)"), "{}", status.stdout_str());
    configure(&lop, "exclude = ['*.x']\n");
    let mut running = command(&lop).args(["watch", "--scan-every", "1s"]).spawn();
    assert!(running.wait_for(&When::Stdout(READY.into())), "it does not watch");
    let server = Server::start(&lop, &[]);
    let page = String::from_utf8(server.open("/", &server.cookie()).body).expect("UTF-8");
    assert!(page.contains("Scan now") && !page.contains("scanned with"), "{page}");
    fs::write(lop.path("t/d"), "new").expect("written");
    wait_until(|| remembered(&lop) == 5);
    let output = end(running, Signal::TERM);
    assert!(!output.success().stdout_str().contains("only when you scan it"), "{output:?}");
}

#[test]
fn scans_with_options_that_are_typed_meanwhile_are_left_to_the_user() {
    let lop = Lop::with(&tree().file("t/x.o", "x"));
    lop.remember(["t"]);
    let running = start(&lop, &["--scan-every", "1s"]);
    fs::write(lop.path("t/d"), "new").expect("written");
    wait_until(|| remembered(&lop) == 5);
    settle();
    lop.run(["forget", "t"]).success();
    lop.remember(["--exclude", "*.o", "t"]);
    fs::write(lop.path("t/e"), "new").expect("written");
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(remembered(&lop), 4, "no scan without the option");
    lop.remember(["t"]);
    fs::write(lop.path("t/f"), "new").expect("written");
    wait_until(|| remembered(&lop) == 7);
    end(running, Signal::TERM).success();
}

#[test]
fn catalog_has_one_watcher_even_after_it_was_killed() {
    let lop = Lop::with(&tree());
    let mut running = start(&lop, &["--scan-every", "never", "t"]);
    let process = format!("(process {})", running.pid());
    fails(&lop.run(["watch", "t"]), 1, &process);
    assert!(running.signal(Signal::KILL));
    drop(running.wait());
    assert!(socket(&lop).exists(), "nobody could remove it");
    end(start(&lop, &["--scan-every", "never", "t"]), Signal::TERM).success();
    assert!(!socket(&lop).exists());
}

#[test]
fn ordinary_user_watches_directories() {
    if !testkit::is_root() {
        return skipped("only root can act as another user");
    }
    let lop = Lop::with(&tree().dir("t/dir"));
    let command = lop.command().args(["watch", "--scan-every", "never", "t"]);
    let mut running = command.as_user(NOBODY, NOBODY).spawn();
    assert!(running.wait_for(&When::Stdout(READY.into())));
    let text = String::from_utf8(running.stdout()).expect("UTF-8");
    assert!(text.contains("/t: 2 directories on "), "{text}");
    assert!(text.contains(", because only root may watch whole file systems\n"), "{text}");
    end(running, Signal::TERM).success();
}

#[test]
fn directories_that_cannot_be_watched_are_named() {
    let lop = Lop::with(&tree());
    fails(&lop.run(["watch", "t/missing"]), 1, "No such file");
    fails(&lop.run(["watch", "t/a"]), 2, "not a directory");
    let output = lop.run(["watch", "/proc"]);
    fails(&output, 1, "none of the directories can be watched");
    let text = output.stdout_str();
    assert!(text.starts_with("Unwatched /proc: the kernel generates its files"), "{text}");
    let running = start(&lop, &["--scan-every", "never", "t", "/proc"]);
    assert_eq!(end(running, Signal::TERM).ending, Ending::Code(3));
}

#[test]
fn directories_that_disappear_are_left_out_until_they_are_back() {
    let lop = Lop::with(&tree().dir("t/sub").file("u/x", "x"));
    let mut running = start(&lop, &["--scan-every", "1s", "t", "t/sub", "u"]);
    wait_until(|| remembered(&lop) == 4);
    fs::remove_dir_all(lop.path("u")).expect("removed");
    fs::remove_dir_all(lop.path("t/sub")).expect("removed");
    for (count, name) in ["d", "e", "f"].iter().enumerate() {
        fs::write(lop.path("t").join(name), "new").expect("written");
        wait_until(|| remembered(&lop) == 5 + count as u64);
    }
    assert!(running.wait_for(&When::Stderr(b"/u is no longer watched: No such file".into())));
    lop.lay(&TreeBuilder::new().file("u/y", "y").file("t/sub/z", "z"));
    assert!(running.wait_for(&When::Stderr(b"/u is watched again\n".into())));
    // The catalog keeps the files of a missing root.
    wait_until(|| lop.run(["file", "u/y"]).ending == Ending::Code(0));
    wait_until(|| lop.run(["file", "t/sub/z"]).ending == Ending::Code(0));
    let output = end(running, Signal::TERM);
    output.code(3);
    let lines = output.stderr_str().lines().count();
    assert_eq!(lines, 2, "each is reported once: {}", output.stderr_str());
    let areas = output.stdout_str().lines().filter(|line| line.contains(": ")).count();
    assert_eq!(areas, 2, "one area contains t/sub: {}", output.stdout_str());
}

#[test]
fn scanned_directory_that_is_missing_at_the_start_is_watched_later() {
    let lop = Lop::with(&tree().file("u/x", "x"));
    lop.remember(["t"]);
    lop.remember(["u"]);
    fs::rename(lop.path("u"), lop.path("away")).expect("renamed");
    let mut running = start(&lop, &["--scan-every", "1s"]);
    fs::rename(lop.path("away"), lop.path("u")).expect("renamed");
    assert!(running.wait_for(&When::Stderr(b"/u is watched again\n".into())));
    fs::write(lop.path("u/y"), "y").expect("written");
    wait_until(|| lop.run(["file", "u/y"]).ending == Ending::Code(0));
    let output = end(running, Signal::TERM);
    output.code(3);
    assert!(output.stdout_str().contains("/u: No such file"), "{}", output.stdout_str());
    // A disk may be mounted only later, so lop watch waits even if all directories are missing.
    fs::remove_dir_all(lop.path("t")).expect("removed");
    fs::rename(lop.path("u"), lop.path("away")).expect("renamed");
    let mut running = lop.command().args(["watch", "--scan-every", "1s"]).spawn();
    assert!(running.wait_for(&When::Stdout(b"/u: No such file".into())));
    fs::rename(lop.path("away"), lop.path("u")).expect("renamed");
    assert!(running.wait_for(&When::Stderr(b"/u is watched again\n".into())));
    fs::write(lop.path("u/z"), "z").expect("written");
    wait_until(|| lop.run(["file", "u/z"]).ending == Ending::Code(0));
    end(running, Signal::TERM).code(3);
}

/// After an upgrade, lop watch may be the only program that scans.
#[test]
fn catalog_of_an_older_version_is_brought_up_to_date() {
    let lop = Lop::with(&tree());
    fs::create_dir_all(lop.catalog().parent().expect("a directory")).expect("made");
    let old = rusqlite::Connection::open(lop.catalog()).expect("opened");
    old.execute_batch(include_str!("../../../catalog/tests/data/v3.sql")).expect("created");
    drop(old);
    fails(&lop.run(["report"]), 5, "lop scan");
    let running = start(&lop, &["--scan-every", "1s", "t"]);
    wait_until(|| lop.run(["file", "t/a"]).ending == Ending::Code(0));
    end(running, Signal::TERM).success();
}

#[test]
fn directories_in_a_tree_that_was_scanned_with_options_are_left_to_the_user() {
    let lop = Lop::with(&tree().file("t/sub/x.o", "x").file("u/y", "y"));
    lop.remember(["--exclude", "*.o", "t"]);
    let running = start(&lop, &["--scan-every", "1s", "t/sub", "u"]);
    wait_until(|| remembered(&lop) == 4);
    fs::write(lop.path("t/sub/z.o"), "z").expect("written");
    fs::write(lop.path("u/z"), "z").expect("written");
    wait_until(|| remembered(&lop) == 5);
    assert_ne!(lop.run(["file", "t/sub/z.o"]).ending, Ending::Code(0));
    let output = end(running, Signal::TERM);
    let text = output.success().stdout_str();
    assert!(text.contains("/t/sub only when you scan it, because /"), "{text}");
    assert!(text.contains("/t was scanned with --exclude *.o\n"), "{text}");
}

/// A `lop watch` in a user namespace, which has limits of its own for inotify.
struct Limited {
    running: Running,
    /// The sandbox of `unshare`.
    _sandbox: Sandbox,
}

impl Limited {
    /// Starts `lop watch` with a limit for sources and one for watches. Returns `None` if the system has no user
    /// namespaces.
    fn start(lop: &Lop, [sources, watches]: [&str; 2], roots: &[&str]) -> Option<Limited> {
        let unshare = ["--user", "--map-root-user"];
        if !Command::new("unshare").args(unshare).arg("true").status().is_ok_and(|s| s.success()) {
            skipped("no user namespaces");
            return None;
        }
        fs::create_dir_all(lop.catalog().parent().expect("a directory")).expect("made");
        let script = "cd /proc/sys/user && echo $1 > max_inotify_instances && \
                      echo $2 > max_inotify_watches && cd \"$3\" && shift 3 && exec \"$@\"";
        let sandbox = Sandbox::new("unshare");
        let command = sandbox.command().args(unshare).args(["sh", "-c", script, "sh"]);
        let command = command.args([sources, watches]).arg(lop.work());
        let command = command.args([env!("CARGO_BIN_EXE_lop"), "watch", "--scan-every", "1s"]);
        let command = command.arg("--catalog").arg(lop.catalog()).args(roots.iter().copied());
        let mut running = command.spawn();
        assert!(running.wait_for(&When::Stdout(READY.into())), "it does not watch");
        Some(Limited { running, _sandbox: sandbox })
    }

    /// Raises the limit of watches.
    fn raise(&self, watches: u32) {
        let script = format!("echo {watches} > /proc/sys/user/max_inotify_watches");
        let target = format!("--target={}", self.running.pid());
        let status =
            Command::new("nsenter").args(["--user", &target, "sh", "-c", &script]).status();
        assert!(status.expect("nsenter").success());
    }
}

#[test]
fn limit_that_is_reached_later_is_reported_and_can_be_raised() {
    let lop = Lop::with(&tree().dir("u"));
    let Some(mut limited) = Limited::start(&lop, ["8", "10"], &["t", "u"]) else { return };
    wait_until(|| remembered(&lop) == 3);
    for number in 0..20 {
        fs::create_dir(lop.path("t").join(number.to_string())).expect("made");
    }
    // The watcher may count the directories before the last one exists.
    assert!(limited.running.wait_for(&When::Stderr(b"/t is no longer watched: ".into())));
    let message = b" directories need a watch each, and the limit";
    assert!(limited.running.wait_for(&When::Stderr(message.into())));
    fs::write(lop.path("u/d"), "new").expect("written");
    wait_until(|| remembered(&lop) == 4);
    limited.raise(100);
    assert!(limited.running.wait_for(&When::Stderr(b"/t is watched again\n".into())));
    fs::write(lop.path("t/19/e"), "new").expect("written");
    wait_until(|| remembered(&lop) == 5);
    end(limited.running, Signal::TERM).code(3);
}

#[test]
fn directories_are_watched_again_after_events_were_lost_even_if_only_one_source_is_allowed() {
    let limit = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").expect("a limit");
    let limit: u64 = limit.trim().parse().expect("a number");
    let lop = Lop::with(&tree());
    let Some(mut limited) = Limited::start(&lop, ["1", "1000"], &["t"]) else { return };
    wait_until(|| remembered(&lop) == 3);
    assert!(limited.running.signal(Signal::STOP));
    // Each file causes two events: it is created, and closed after writing. The catalog does not contain empty files.
    for number in 0..limit / 2 + 100 {
        fs::File::create(lop.path("t").join(number.to_string())).expect("created");
    }
    fs::write(lop.path("t/d"), "new").expect("written");
    fs::create_dir(lop.path("t/late")).expect("made");
    assert!(limited.running.signal(Signal::CONT));
    wait_until(|| remembered(&lop) == 4);
    fs::write(lop.path("t/late/file"), "new").expect("written");
    wait_until(|| remembered(&lop) == 5);
    end(limited.running, Signal::TERM).success();
}

#[test]
fn failed_scan_is_reported() {
    let lop = Lop::with(&tree());
    let mut running = start(&lop, &["--scan-every", "3s", "t"]);
    wait_until(|| remembered(&lop) == 3);
    // A directory in the place of the catalog makes every scan fail.
    fs::remove_file(lop.catalog()).expect("removed");
    fs::create_dir(lop.catalog()).expect("made");
    fs::write(lop.path("t/d"), "new").expect("written");
    assert!(running.wait_for(&When::Stderr(b"; lop tries again in 3".into())));
    let output = end(running, Signal::TERM);
    output.success();
    assert!(output.stderr_str().contains("lop: the scan failed: "), "{output:?}");
}

#[test]
fn pages_show_changes_which_the_next_scan_still_finds() {
    let lop = Lop::with(&tree());
    let _watcher = start(&lop, &["--scan-every", "never", "t"]);
    lop.remember(["t"]);
    let server = Server::start(&lop, &[]);
    let cookie = server.cookie();
    let page = |path: &str| String::from_utf8(server.open(path, &cookie).body).expect("UTF-8");
    // If a busy system delays the watcher's answer, the pages report the changes as unknown.
    let wait_for = |path: &str, said: &str| {
        let start = Instant::now();
        while !page(path).contains(said) {
            assert!(
                start.elapsed() < TEST_TIMEOUT,
                "{path} does not contain {said:?}: {}",
                page(path)
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    wait_for("/", "Nothing has changed since the last scan.");
    lop.add(&TreeBuilder::new().file("t/new/<i>x", "one content").file("t/d", "new"));
    fs::remove_file(lop.path("t/c")).expect("removed");
    let said = "4 entries in 2 folders have changed since the last scan.";
    wait_for("/api/news", said);
    wait_for("/", said);
    wait_for("/changed", said);
    let list = page("/changed");
    for name in ["<bdi>c</bdi>", "<bdi>d</bdi>", "<bdi>new</bdi>/", "<bdi>&lt;i&gt;x</bdi>"] {
        assert!(list.contains(name), "{name}: {list}");
    }
    settle();
    let summary = lop.json(["scan", "t"])["summary"].take();
    assert_eq!(summary["changed_files"], 3, "the notes are complete: {summary}");
    assert_eq!(summary["files"], 4);
    wait_for("/", "Nothing has changed since the last scan.");
}
