//! Tests that kill small system programs or make their calls fail, at moments with a visible
//! effect.

use std::fs;
use std::thread;
use std::time::Duration;

use super::{Calls, Growth, Strace, Traced, at_random_moments, kill_after, kill_when_grown};
use crate::{
    Compare, NOBODY, Sandbox, Signal, Snapshot, TreeBuilder, assert_same, is_root, skipped,
};

/// Returns strace if it works. Prints the reason otherwise.
fn strace() -> Option<Strace> {
    Strace::find().map_err(skipped).ok()
}

/// Returns a sandbox for a system program, with a file `a`.
fn with_file(binary: &str) -> Sandbox {
    let sandbox = Sandbox::new(binary);
    sandbox.lay(&TreeBuilder::new().seeded("a", 1, 10_000));
    sandbox
}

/// Arguments of `dd` to write a thousand bytes ten times.
const WRITES: [&str; 5] = ["if=/dev/zero", "of=out", "bs=1000", "count=10", "status=none"];

#[test]
fn a_delay_kills_what_still_runs() {
    let sandbox = Sandbox::new("/bin/sleep");
    for micros in [0, 150, 3_000] {
        let killed = kill_after(&sandbox.command().arg("30"), Duration::from_micros(micros));
        assert!(killed.fired, "after {micros} µs");
        killed.output.signal(Signal::KILL);
    }
    let late = kill_after(&sandbox.command().arg("0"), Duration::from_secs(3));
    assert!(!late.fired);
    assert_eq!(late.output.success().signals_sent, 0);
}

#[test]
fn random_moments_are_tried_until_enough_runs_were_killed() {
    let mut fired = 0;
    at_random_moments(10, 1, Duration::from_secs(3600), |_, delay| {
        let in_time = delay < Duration::from_secs(1);
        fired += u32::from(in_time);
        in_time
    });
    assert_eq!(fired, 10);
}

#[test]
#[should_panic(expected = "only 0 were killed")]
fn runs_that_always_end_first_panic() {
    at_random_moments(3, 1, Duration::from_secs(1), |_, _| false);
}

#[test]
fn growth_kills_at_the_requested_line_and_byte() {
    let sandbox = Sandbox::new("/bin/sh");
    let script = "i=0; while [ $i -lt 1000 ]; do echo $i; i=$((i+1)); sleep 0.005; done >>sub/log";
    sandbox.lay(
        &TreeBuilder::new()
            .file("sub/log", "a\nb\nc\nd\ne\nf\n")
            .file("sub/big", "x\n".repeat(99).as_str()),
    );
    let killed = kill_when_grown(
        &sandbox.command().args(["-c", script]),
        sandbox.path("sub"),
        Growth::Lines(3),
    );
    assert!(killed.fired);
    killed.output.signal(Signal::KILL);
    let lines = fs::read_to_string(sandbox.path("sub/log")).expect("a log").lines().count();
    assert!((9..100).contains(&lines), "{lines} lines");
    let copy = "exec cat /dev/zero >new";
    let killed = kill_when_grown(
        &sandbox.command().args(["-c", copy]),
        sandbox.path("new"),
        Growth::Bytes(5000),
    );
    assert!(killed.fired);
    assert!(fs::metadata(sandbox.path("new")).expect("made").len() >= 5000);
}

#[test]
fn missing_growth_kills_nothing() {
    let sandbox = Sandbox::new("/bin/sh");
    let run = sandbox.command().args(["-c", "echo one >log"]);
    let killed = kill_when_grown(&run, sandbox.work(), Growth::Lines(2));
    assert!(!killed.fired);
    killed.output.success();
    // Growth at the very end of the program is noticed as well.
    let ended = kill_when_grown(&run, sandbox.path("none"), Growth::Bytes(1));
    assert!(!ended.fired);
}

#[test]
fn a_kill_comes_before_the_call_and_after_those_before_it() {
    let Some(strace) = strace() else { return };
    for nth in 1..=3_u32 {
        let sandbox = Sandbox::new("/bin/dd");
        let traced = strace.kill(sandbox.command().args(WRITES), &Calls::nth("write", nth));
        traced.output.signal(Signal::KILL);
        assert_eq!(traced.fired.len(), 1, "{:?}", traced.calls);
        assert_eq!(traced.calls.len(), nth as usize);
        let written = fs::metadata(sandbox.path("out")).expect("made").len();
        assert_eq!(written, u64::from(nth - 1) * 1000);
    }
    let sandbox = Sandbox::new("/bin/dd");
    let traced = strace.kill(sandbox.command().args(WRITES), &Calls::nth("write", 11));
    traced.output.success();
    assert!(!traced.fired() && traced.calls.len() == 10, "{:?}", traced.calls);
}

#[test]
fn a_move_that_is_killed_did_not_happen() {
    let Some(strace) = strace() else { return };
    let sandbox = with_file("/bin/mv");
    let before = Snapshot::of(sandbox.work());
    let renames = Calls::nth("?rename,renameat,renameat2", 1);
    let traced = strace.kill(sandbox.command().args(["a", "b"]), &renames);
    assert!(traced.fired() && traced.fired[0].contains("\"a\""), "{:?}", traced.calls);
    assert_same(&before, &Snapshot::of(sandbox.work()), Compare::ALL);
    strace.list(sandbox.command().args(["a", "b"]), &renames).output.success();
    assert!(sandbox.path("b").exists());
}

#[test]
fn a_copy_that_is_killed_is_short() {
    let Some(strace) = strace() else { return };
    let sandbox = with_file("/bin/cp");
    let copies = Calls::nth("?copy_file_range,write", 1).at(sandbox.path("b"));
    let run =
        sandbox.command().arg("--reflink=never").arg(sandbox.path("a")).arg(sandbox.path("b"));
    let traced = strace.kill(run, &copies);
    assert!(traced.fired(), "{:?}", traced.output);
    assert_eq!(fs::metadata(sandbox.path("b")).expect("made").len(), 0);
}

#[test]
fn one_call_fails_or_all_later_calls_too() {
    let Some(strace) = strace() else { return };
    let sandbox = Sandbox::new("/bin/dd");
    let traced = strace.fail(
        sandbox.command().args(WRITES),
        &Calls::nth("write", 4).at(sandbox.path("out")),
        "ENOSPC",
    );
    assert!(traced.output.code(1).stderr_str().contains("No space left on device"));
    assert_eq!(traced.fired.len(), 1);
    assert_eq!(fs::metadata(sandbox.path("out")).expect("made").len(), 3000);
    let script = "for i in 1 2 3 4 5; do echo $i >&2 || echo failed; done";
    let shell = Sandbox::new("/bin/sh");
    let run = || shell.command().args(["-c", script]);
    let once = strace.fail(run(), &Calls::nth("write", 2), "EIO");
    let failed = |traced: &Traced| traced.output.success().stdout_str().matches("failed").count();
    assert_eq!((failed(&once), once.fired.len()), (1, 1), "{:?}", once.calls);
    assert!(once.output.stderr_str().ends_with("5\n"));
}

/// The calls that create a directory on any machine. No program uses both.
const MKDIR: &str = "?mkdir,mkdirat";

/// Two processes that create three directories each, one after the other.
const MAKES: &str = "(mkdir a b c; :); exec mkdir d e f";

#[test]
fn every_process_counts_for_itself() {
    let Some(strace) = strace() else { return };
    let shell = Sandbox::new("/bin/sh");
    let traced = strace.fail(shell.command().args(["-c", MAKES]), &Calls::nth(MKDIR, 2), "EIO");
    assert_eq!(traced.fired.len(), 2, "{:?}", traced.calls);
    let made = ["a", "b", "c", "d", "e", "f"].map(|name| shell.path(name).exists());
    assert_eq!(made, [true, false, true, true, false, true]);
    let shell = Sandbox::new("/bin/sh");
    let onwards = Calls::nth(MKDIR, 2).onwards();
    let traced = strace.fail(shell.command().args(["-c", MAKES]), &onwards, "EIO");
    assert_eq!(traced.fired.len(), 4, "{:?}", traced.calls);
    let shell = Sandbox::new("/bin/sh");
    let beyond = strace.fail(shell.command().args(["-c", MAKES]), &Calls::nth(MKDIR, 4), "EIO");
    assert!(!beyond.fired() && beyond.calls.len() == 6, "{:?}", beyond.calls);
}

#[test]
fn every_name_of_a_set_counts_for_itself() {
    let Some(strace) = strace() else { return };
    let sandbox = Sandbox::new("/bin/dd");
    // dd retries after EINTR.
    let set = Calls::nth("read,write", 3).at("/dev/zero").at(sandbox.path("out"));
    let traced = strace.fail(sandbox.command().args(WRITES), &set, "EINTR");
    traced.output.success();
    assert_eq!(traced.calls.len(), 22, "{:?}", traced.calls);
    let names =
        ["read(", "write("].map(|name| traced.fired.iter().filter(|c| c.contains(name)).count());
    assert_eq!(names, [1, 1], "{:?}", traced.fired);
    let listed = strace.list(sandbox.command().args(WRITES), &set);
    assert_eq!((listed.calls.len(), listed.fired()), (20, false));
}

/// The number of threads that create directories, and the number of directories for each thread.
const THREADS: (usize, usize) = (4, 5);

#[test]
#[ignore = "a program for the test below"]
fn threads_make_directories() {
    let make =
        |thread| move || (0..THREADS.1).for_each(|i| drop(fs::create_dir(format!("{thread}-{i}"))));
    let threads: Vec<_> = (0..THREADS.0).map(|thread| thread::spawn(make(thread))).collect();
    for thread in threads {
        thread.join().expect("made");
    }
}

#[test]
fn every_thread_counts_for_itself_and_one_kills_all() {
    let Some(strace) = strace() else { return };
    let program = std::env::current_exe().expect("the test's own binary");
    let test = ["--exact", "kill::tests::threads_make_directories", "--ignored"];
    let made = |sandbox: &Sandbox| fs::read_dir(sandbox.work()).expect("listed").count();
    let all = THREADS.0 * THREADS.1;
    let sandbox = Sandbox::new(&program);
    let traced = strace.fail(sandbox.command().args(test), &Calls::nth(MKDIR, 3), "EIO");
    traced.output.success();
    assert_eq!((traced.calls.len(), traced.fired.len()), (all, THREADS.0), "{:?}", traced.calls);
    assert_eq!(made(&sandbox), all - THREADS.0);

    let sandbox = Sandbox::new(&program);
    let beyond = u32::try_from(THREADS.1 + 1).expect("few");
    let traced = strace.kill(sandbox.command().args(test), &Calls::nth(MKDIR, beyond));
    traced.output.success();
    assert_eq!((traced.calls.len(), traced.fired()), (all, false), "{:?}", traced.calls);

    let sandbox = Sandbox::new(&program);
    let traced = strace.kill(sandbox.command().args(test), &Calls::nth(MKDIR, 3));
    traced.output.signal(Signal::KILL);
    assert!(traced.fired(), "{:?}", traced.calls);
    // No thread gets beyond its second call.
    assert!((2..=2 * THREADS.0).contains(&made(&sandbox)), "{:?}", traced.calls);
}

#[test]
fn a_path_leaves_other_calls_uncounted() {
    let Some(strace) = strace() else { return };
    let sandbox = with_file("/bin/cat");
    let run = || sandbox.command().arg(sandbox.path("a"));
    let linker = strace.fail(run(), &Calls::nth("openat", 1), "ENOENT");
    assert!(linker.fired() && !linker.fired[0].contains("/a\""), "{:?}", linker.fired);
    let file = strace.fail(run(), &Calls::nth("openat", 1).at(sandbox.path("a")), "EACCES");
    assert!(file.output.code(1).stderr_str().contains("Permission denied"));
    assert_eq!(file.fired.len(), 1);
    assert!(file.fired[0].contains("/a\""), "{:?}", file.fired);
}

#[test]
fn another_user_is_traced_too() {
    let Some(strace) = strace() else { return };
    if !is_root() {
        return skipped("only root can become another user");
    }
    let sandbox = Sandbox::new("/bin/echo");
    let run = sandbox.command().as_user(NOBODY, NOBODY).descriptor_limit(64).arg("x");
    let traced = strace.fail(run, &Calls::nth("write", 1), "ENOSPC");
    assert!(traced.fired());
    traced.output.code(1);
}

#[test]
#[should_panic(expected = "strace does not run this")]
fn a_call_that_does_not_exist_is_an_error_of_the_test() {
    let Some(strace) = strace() else { panic!("strace cannot run any program") };
    let sandbox = Sandbox::new("/bin/true");
    drop(strace.kill(sandbox.command(), &Calls::nth("no_such_call", 1)));
}

#[test]
fn calls_cut_in_two_are_made_one() {
    let log = "7  mkdir(\"a\", 0777 <unfinished ...>\n8  mkdir(\"b\", 0777) = 0\n\
               7  <... mkdir resumed>) = -1 EIO (Input/output error) (INJECTED)\n\
               8  mkdir(\"c\", 0777 <unfinished ...>) = ?\n8  +++ killed by SIGKILL +++\n";
    let expected = [
        "7 mkdir(\"a\", 0777) = -1 EIO (Input/output error) (INJECTED)",
        "8 mkdir(\"b\", 0777) = 0",
        "8 mkdir(\"c\", 0777 <unfinished ...>) = ?",
    ];
    assert_eq!(super::strace::lines(log), expected);
}
