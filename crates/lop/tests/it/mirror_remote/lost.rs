//! Connections that break on either side. No incomplete file has its final name, the remote side ends too, and the
//! next run continues.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use testkit::{
    Ending, Output, Signal, Snapshot, TEST_TIMEOUT, TreeBuilder, When, at_random_moments,
    kill_after,
};

use super::{BOTH, Direction, HOST, Way, alike, nothing_was_done, parts};
use crate::lop::{Lop, document};

/// Kills the remote side with all of its processes, a given number of seconds after its start.
const KILLS: &str = "(sleep \"$seconds\"; kill -9 \"-$$\") </dev/null >/dev/null 2>&1 &";

/// Returns a tree that takes a few hundred milliseconds to mirror. One of its files is large.
fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new().seeded("src/large", 1, 6 << 20);
    for i in 0..300u64 {
        tree = tree.seeded(format!("src/{}/{i}", i % 7), i, 500 + 97 * i);
        tree = tree.hard_link(format!("src/{}/{i}", i % 7), format!("src/{}/link {i}", i % 5));
    }
    tree
}

/// Mirrors to an empty destination, and returns the duration.
fn duration(way: &Way, lop: &Lop, direction: Direction) -> Duration {
    drop(fs::remove_dir_all(lop.path("dst")));
    let start = Instant::now();
    way.succeed(lop, direction, &["--delete"]);
    start.elapsed()
}

/// Asserts that each file with a final name in the destination is complete.
#[track_caller]
fn all_are_whole(from: &Snapshot, to: &Path) {
    if !to.exists() {
        return;
    }
    for (path, entry) in &Snapshot::of(to).entries {
        let is_part = path.split(|&b| b == b'/').any(|name| name.starts_with(b".lop-part-"));
        let was = from.get(path).map(|from| from.sha256);
        assert!(is_part || was == Some(entry.sha256), "{}", path.escape_ascii());
    }
}

/// Completes the mirror, and asserts that nothing is left to do and no temporary file remains.
#[track_caller]
fn converges(way: &Way, lop: &Lop, direction: Direction) {
    let (from, to) = (lop.path("src"), lop.path("dst"));
    way.succeed(lop, direction, &["--delete"]);
    alike(&from, &to);
    assert!(parts(&to).is_empty(), "{:?}", parts(&to));
    nothing_was_done(&way.json(lop, direction, &["--delete"], (&from, &to)));
}

/// If a run lost the connection, asserts that the run reports the loss. Returns whether it did.
#[track_caller]
fn was_lost(output: &Output) -> bool {
    match output.ending {
        Ending::Code(0) => return false,
        Ending::Code(1 | 3) => {}
        _ => output.fail("neither an end nor a failure"),
    }
    let said = output.stderr_str();
    let tells = |line: &str| line.starts_with("lop: ") && line.contains(HOST);
    assert!(said.lines().any(tells), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    true
}

#[test]
fn the_remote_side_is_killed_at_random_moments() {
    for direction in BOTH {
        let lop = Lop::with(&tree());
        let whole_way = Way::shell();
        let whole = duration(&whole_way, &lop, direction);
        let from = Snapshot::of(lop.path("src"));
        at_random_moments(20, 42, whole, |round, delay| {
            if round % 2 == 0 {
                drop(fs::remove_dir_all(lop.path("dst")));
            }
            let seconds = delay.as_secs_f64();
            let mut way = Way::script(&format!("seconds={seconds}\n{KILLS}\nexec sh -c \"$*\""));
            // The remote side gets a separate process group, so that the test does not kill itself.
            way.rsh = format!("setsid {}", way.rsh);
            let places = (&*lop.path("src"), &*lop.path("dst"));
            let output = way.run(&lop, direction, &["--delete"], places).run();
            all_are_whole(&from, &lop.path("dst"));
            was_lost(&output)
        });
        converges(&whole_way, &lop, direction);
    }
}

#[test]
fn the_local_side_is_killed_at_random_moments() {
    for direction in BOTH {
        let lop = Lop::with(&tree());
        let way = Way::shell();
        let whole = duration(&way, &lop, direction);
        let from = Snapshot::of(lop.path("src"));
        at_random_moments(20, 7, whole, |round, delay| {
            if round % 2 == 0 {
                drop(fs::remove_dir_all(lop.path("dst")));
            }
            let places = (&*lop.path("src"), &*lop.path("dst"));
            let run = way.run(&lop, direction, &["--delete"], places);
            // If the remote side ended on its own, its standard error is a closed pipe.
            let fired = kill_after(&run, delay).fired;
            all_are_whole(&from, &lop.path("dst"));
            fired
        });
        converges(&way, &lop, direction);
    }
}

/// Cuts the connection after one side has sent a given number of bytes, as a failing network does.
#[test]
fn the_connection_is_cut_after_any_number_of_bytes() {
    for direction in BOTH {
        let lop = Lop::with(&tree());
        let from = Snapshot::of(lop.path("src"));
        let mut lost = 0;
        for bytes in [1, 40, 100, 300, 1_000, 5_000, 30_000, 200_000, 1_000_000, 5_000_000] {
            for cut in [
                format!("{{ stdbuf -o0 head -c {bytes}; kill -9 \"-$$\"; }} | sh -c \"$*\""),
                format!("sh -c \"$*\" | {{ stdbuf -o0 head -c {bytes}; kill -9 \"-$$\"; }}"),
            ] {
                drop(fs::remove_dir_all(lop.path("dst")));
                let places = (&*lop.path("src"), &*lop.path("dst"));
                let mut way = Way::script(&cut);
                way.rsh = format!("setsid {}", way.rsh);
                lost += u32::from(was_lost(&way.run(&lop, direction, &[], places).run()));
                all_are_whole(&from, &lop.path("dst"));
            }
        }
        assert!(lost > 10, "{direction:?}: {lost}");
        converges(&Way::shell(), &lop, direction);
    }
}

#[test]
fn ssh_is_killed_in_the_middle() {
    let Some(mut way) = Way::ssh() else { return };
    let connects = way.rsh.clone();
    for direction in BOTH {
        let lop = Lop::with(&tree());
        // The program name identifies the process on the remote side.
        let called = lop.path("lop-of-this-test");
        symlink(&way.lop, &called).expect("made");
        let real = std::mem::replace(&mut way.lop, called.clone());
        let whole = duration(&way, &lop, direction);
        let from = Snapshot::of(lop.path("src"));
        let mut lost = 0;
        for round in 1..8 {
            drop(fs::remove_dir_all(lop.path("dst")));
            let seconds = (whole * round / 8).as_secs_f64();
            way.rsh = format!("timeout -s KILL {seconds} {connects}");
            let places = (&*lop.path("src"), &*lop.path("dst"));
            let output = way.run(&lop, direction, &["--delete"], places).run();
            lost += u32::from(was_lost(&output));
            until_gone(&called);
            all_are_whole(&from, &lop.path("dst"));
        }
        way.rsh.clone_from(&connects);
        assert!(lost > 0, "{direction:?}");
        converges(&way, &lop, direction);
        way.lop = real;
    }
}

/// Waits until no process has `path` as an argument. The remote side of ssh notices the lost connection a little later
/// than the local side.
fn until_gone(path: &Path) {
    let end = Instant::now() + TEST_TIMEOUT;
    let path = path.as_os_str().as_bytes();
    let is_receiver = |process: fs::DirEntry| {
        let said = fs::read(process.path().join("cmdline")).unwrap_or_default();
        said.windows(path.len()).any(|part| part == path)
    };
    while fs::read_dir("/proc").expect("listed").flatten().any(is_receiver) {
        assert!(Instant::now() < end, "somebody is there still");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal to runs at several moments, and returns how many runs it ended.
fn interrupted(lop: &Lop, direction: Direction, whole: Duration, group: bool) -> u32 {
    let from = Snapshot::of(lop.path("src"));
    let way = Way::shell();
    let mut ended = 0;
    for round in 0..10 {
        if round % 2 == 0 {
            drop(fs::remove_dir_all(lop.path("dst")));
        }
        let places = (&*lop.path("src"), &*lop.path("dst"));
        let run = way.run(lop, direction, &["--bwlimit", "8M"], places);
        let when = When::After(whole * (round + 1) / 11);
        let output = if group {
            // Ctrl-C reaches all foreground processes on a terminal, including ssh.
            let mut running = run.spawn();
            if running.wait_for(&when) {
                let group = format!("-{}", running.pid());
                let kill = std::process::Command::new("kill").args(["-INT", "--", &group]).status();
                assert!(kill.is_ok());
            }
            running.wait()
        } else {
            run.signal(Signal::INT, when).run()
        };
        match output.ending {
            Ending::Signal(2) => ended += 1,
            _ => drop(output.success()),
        }
        assert!(!output.stderr_str().contains("panicked"), "{}", output.stderr_str());
        all_are_whole(&from, &lop.path("dst"));
        let small = small_parts(&lop.path("dst"));
        assert!(small.is_empty(), "{direction:?}, round {round}: {small:?}");
    }
    ended
}

/// Returns the source files of less than 1 MiB that exist under a temporary name at the
/// destination.
fn small_parts(root: &Path) -> Vec<String> {
    if !root.exists() {
        return Vec::new();
    }
    let all = Snapshot::of(root).entries;
    let name = |path: &[u8]| path.rsplit(|&b| b == b'/').next().map(<[u8]>::to_vec);
    let unfinished = all.into_iter().filter(|(path, entry)| {
        let is_part = name(path).is_some_and(|name| name.starts_with(b".lop-part-"));
        is_part && entry.sha256.is_some() && entry.size_bytes < 30_000
    });
    unfinished.map(|(path, _)| path.escape_ascii().to_string()).collect()
}

#[test]
fn an_interrupt_ends_both_sides() {
    for direction in BOTH {
        for group in [false, true] {
            let lop = Lop::with(&tree());
            let start = Instant::now();
            Way::shell().succeed(&lop, direction, &["--bwlimit", "8M"]);
            let ended = interrupted(&lop, direction, start.elapsed(), group);
            assert!(ended > 3, "{direction:?}: {ended}");
            converges(&Way::shell(), &lop, direction);
        }
    }
}

#[test]
fn a_large_file_is_resumed_or_restarted_but_never_half() {
    for direction in BOTH {
        let lop = Lop::with(&TreeBuilder::new().seeded("src/large", 5, 24 << 20));
        let from = Snapshot::of(lop.path("src"));
        let way = Way::shell();
        for round in 0..3 {
            let places = (&*lop.path("src"), &*lop.path("dst"));
            let run = way.run(&lop, direction, &["--bwlimit", "8M"], places);
            let output = run.signal(Signal::INT, When::After(Duration::from_millis(500))).run();
            // The run may finish before the signal if it continues the work of an earlier run.
            if round == 0 || output.ending != Ending::Code(0) {
                output.signal(Signal::INT);
            }
            all_are_whole(&from, &lop.path("dst"));
        }
        converges(&way, &lop, direction);
        let copy = lop.path("dst/large").metadata().expect("there");
        assert_eq!(copy.size(), 24 << 20);
    }
}

/// Sends a signal to the remote side after names have appeared at the destination. Returns the
/// output of the local side.
fn signalled(lop: &Lop, direction: Direction, signal: &str, args: &[&str]) -> Output {
    let script = format!(
        "(until [ -n \"$(ls {dst} 2>/dev/null)\" ]; do sleep 0.01; done; sleep 0.3; kill -{signal} $$) \
         >/dev/null 2>&1 & exec $*",
        dst = lop.path("dst").display()
    );
    let way = Way::script(&script);
    let places = (&*lop.path("src"), &*lop.path("dst"));
    way.run(lop, direction, args, places).run()
}

/// Returns many small files. They are copied slowly enough to be interrupted, but without a pause.
fn many() -> TreeBuilder {
    (0..3_000)
        .fold(TreeBuilder::new(), |tree, i| tree.seeded(format!("src/{}/{i}", i % 30), i, 1_000))
}

#[test]
fn an_interrupted_remote_side_ends_and_the_local_side_reports_what_was_done() {
    let lop = Lop::with(&many());
    for direction in BOTH {
        for args in [&["--bwlimit", "1M"][..], &["--bwlimit", "300k"]] {
            drop(fs::remove_dir_all(lop.path("dst")));
            let output = signalled(&lop, direction, "TERM", args);
            let said = output.stderr_str();
            output.code(1);
            let summary = said.lines().find(|line| line.contains("names in ")).expect("a summary");
            assert!(summary.contains(" before the run ended early; "), "{said}");
            assert!(summary.ends_with("; run the command again to continue"), "{said}");
            assert!(summary.contains("copied ("), "{direction:?}: {said}");
            // A killed process could not report why it ended.
            let why = match direction {
                Direction::Push => format!("lop: lop on {HOST} was interrupted\n"),
                Direction::Pull => format!("lop: the connection to {HOST} was lost\n"),
            };
            assert!(said.ends_with(&why), "{direction:?}: {said}");
        }
        converges(&Way::shell(), &lop, direction);
    }
}

#[test]
fn work_done_before_the_connection_was_lost_is_counted() {
    let lop = Lop::with(&many());
    for direction in BOTH {
        drop(fs::remove_dir_all(lop.path("dst")));
        let output = signalled(&lop, direction, "KILL", &["--bwlimit", "300k", "--json"]);
        output.code(1);
        let document = document(&output);
        let summary = &document["summary"];
        assert_eq!(summary["complete"], false, "{summary}");
        let copied = summary["files_copied"].as_u64().expect("a number");
        let there = Snapshot::of(lop.path("dst")).entries;
        let there = there.values().filter(|entry| entry.sha256.is_some()).count() as u64;
        // Some files may have been copied at the last moment, or may not have their final name yet.
        assert!(copied > 0 && copied <= there, "{direction:?}: {copied} of {there}: {summary}");
        converges(&Way::shell(), &lop, direction);
    }
}

#[test]
fn leftovers_of_a_killed_run_are_removed() {
    for direction in BOTH {
        let lop = Lop::with(&super::two());
        let part = format!(".lop-part-{}-{}", "0123456789abcdef".repeat(2), "a".repeat(16));
        let left = [format!("dst/{part}"), format!("dst/gone/{part}")];
        fs::write(lop.path(&left[0]), "half").expect("written");
        fs::create_dir(lop.path(&left[1])).expect("made");
        fs::write(lop.path(&left[1]).join("in"), "half").expect("written");
        converges(&Way::shell(), &lop, direction);
    }
}
