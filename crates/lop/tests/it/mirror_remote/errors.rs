//! Errors of mirrors that cannot start. Each error is reported in one line, and nothing is changed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use testkit::{Compare, Output, Signal, Snapshot, TreeBuilder, When, assert_same};

use super::{BOTH, Direction, HOST, Way, alike, there, two};
use crate::lop::Lop;

/// Asserts that a tree is unchanged, except that a file may have been created in a directory and then removed.
#[track_caller]
fn unchanged(before: &Snapshot, root: &Path) {
    assert_same(before, &Snapshot::of(root), Compare::ALL - Compare::DIR_MTIMES);
}

/// Asserts that one line gives the reason and names the host, and returns the line.
#[track_caller]
fn says_of_the_host(output: &Output, code: i32) -> String {
    output.code(code);
    let said = output.stderr_str();
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("lop: ")).collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains(HOST), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    lines[0].to_string()
}

/// Mirrors in both directions. Both runs must fail without changing anything, and report the failure in one line that
/// contains `expected`.
#[track_caller]
fn fails(way: &Way, expected: &str) {
    for direction in BOTH {
        let lop = Lop::with(&two());
        let before = Snapshot::of(lop.work());
        for to in ["dst", "new"] {
            let (from, to) = (lop.path("src"), lop.path(to));
            let output = way.run(&lop, direction, &["--delete"], (&from, &to)).run();
            let line = says_of_the_host(&output, 1);
            assert!(line.contains(expected), "{expected}: {line}");
            unchanged(&before, &lop.work());
        }
    }
}

#[test]
fn a_remote_host_without_lop_is_reported() {
    let mut way = Way::shell();
    for name in ["no-such-lop", "/nowhere/lop"] {
        way.lop = name.into();
        fails(&way, name);
    }
}

#[test]
fn a_remote_host_without_lop_behind_ssh_is_reported() {
    let Some(mut way) = Way::ssh() else { return };
    way.lop = "/nowhere/lop".into();
    fails(&way, "/nowhere/lop");
}

#[test]
fn the_host_cannot_be_reached() {
    fails(&Way::script("echo 'ssh: no route' >&2\nexit 255"), "connect");
    let Some(mut way) = Way::ssh() else { return };
    // No process listens on port 1 of this machine.
    way.rsh = way.rsh.replacen("-p ", "-p 1 -p ", 1);
    fails(&way, "connect");
}

#[test]
fn the_command_that_connects_is_missing() {
    let lop = Lop::with(&two());
    let mut way = Way::shell();
    way.rsh = "/nowhere/ssh -v".into();
    for direction in BOTH {
        let (from, to) = (lop.path("src"), lop.path("new"));
        let output = way.run(&lop, direction, &[], (&from, &to)).run();
        output.code(1);
        assert!(output.stderr_str().contains("/nowhere/ssh"), "{}", output.stderr_str());
        assert!(!to.exists());
    }
}

#[test]
fn a_remote_lop_with_another_protocol_is_refused() {
    for (lines, expected) in [
        ("echo 'lop-mirror 4711 9.8.7'; exec cat >/dev/null", "4711"),
        ("echo 'lop-mirror 4711 9.8.7'; exit 1", "9.8.7"),
        // A lop version that is older than the protocol.
        ("echo \"error: unrecognized subcommand 'mirror-server'\" >&2; exit 2", "lop"),
    ] {
        fails(&Way::script(lines), expected);
    }
}

#[test]
fn another_program_answers() {
    let scripts = [
        "echo Welcome",
        "printf 'no end of line'",
        "exec head -c 1000000 /dev/zero",
        "exec yes",
        "printf 'lop-mirror '",
        "exit 0",
        "exit 3",
        "kill -9 $$",
    ];
    for script in scripts {
        fails(&Way::script(&format!("({script}) <&0")), "");
    }
}

#[test]
fn a_host_that_sends_nonsense_after_the_greeting_is_refused() {
    let greets = format!("'{}' mirror-server </dev/null | head -n 1", env!("CARGO_BIN_EXE_lop"));
    for nonsense in [
        "exec head -c 3000000 /dev/urandom",
        "exec head -c 3000000 /dev/zero",
        "printf '\\377\\377\\377\\377\\377\\377\\377\\377'; exec sleep 1",
        "printf '\\001\\000\\000\\000\\177'; exec cat",
        "printf '\\004'",
        "exit 0",
    ] {
        fails(&Way::script(&format!("{greets}\n{nonsense}")), "");
    }
}

#[test]
fn output_of_the_shell_before_the_greeting_is_skipped_or_reported() {
    for noise in ["echo Welcome to this host", "printf 'a\\nb\\n\\n'", "printf '%% '"] {
        for direction in BOTH {
            let lop = Lop::with(&two());
            let way = Way::script(&format!("{noise}\nexec sh -c \"$*\""));
            let (from, to) = (lop.path("src"), lop.path("dst"));
            let output = way.run(&lop, direction, &["--delete"], (&from, &to)).run();
            if output.ending == testkit::Ending::Code(0) {
                alike(&from, &to);
            } else {
                says_of_the_host(&output, 1);
            }
        }
    }
}

#[test]
fn there_is_no_such_path() {
    let way = Way::shell();
    let lop = Lop::with(&two().file("file", "f"));
    let before = Snapshot::of(lop.work());
    let missing: [(Direction, &str, &str, &str); 4] = [
        (Direction::Pull, "missing", "new", "missing"),
        (Direction::Pull, "file", "new", "file"),
        (Direction::Push, "src", "missing/too", "missing"),
        (Direction::Push, "src", "file", "file"),
    ];
    for (direction, from, to, named) in missing {
        let places = (&*lop.path(from), &*lop.path(to));
        for args in [&["--delete"][..], &["--delete", "-n"], &["--json"]] {
            let here = lop.command().arg("mirror").args(args).args([places.0, places.1]).run();
            let output = way.run(&lop, direction, args, places).run();
            assert_eq!(output.ending, here.ending, "{direction:?} {args:?} {from} {to}");
            if args == ["--delete"] {
                let line = says_of_the_host(&output, 1);
                assert!(line.contains(named), "{line}");
            }
            unchanged(&before, &lop.work());
        }
    }
    // A path that is missing on this host is not reported as missing on the remote host.
    let here = [(Direction::Push, "missing", "new"), (Direction::Pull, "src", "missing/too")];
    for (direction, from, to) in here {
        let places = (&*lop.path(from), &*lop.path(to));
        let output = way.run(&lop, direction, &["--delete"], places).run();
        output.code(1);
        assert!(output.stderr_str().contains("missing"), "{}", output.stderr_str());
        unchanged(&before, &lop.work());
    }
}

#[test]
fn a_contradictory_mirror_is_not_begun() {
    let lop = Lop::with(&two());
    let mut way = Way::script("touch started\nexec sh -c \"$*\"");
    let dst = there(HOST, &lop.path("dst"));
    way.mirror(&lop, &["a:src", "b:dst"]).run().code(2);
    way.mirror(&lop, &["src"]).run().code(2);
    way.mirror(&lop, &["--exclude", "a[", "src"]).arg(&dst).run().code(2);
    way.mirror(&lop, &["--bwlimit", "0", "src"]).arg(&dst).run().code(2);
    // An option of ssh that would run a command must not be accepted as a host.
    way.mirror(&lop, &["src", "--", "-oProxyCommand=touch pwned:dst"]).run().code(2);
    for rsh in ["", "  ", "sh 'no end"] {
        way.rsh = rsh.into();
        way.mirror(&lop, &["src"]).arg(&dst).run().code(2);
    }
    assert!(!lop.path("started").exists() && !lop.path("pwned").exists());
}

#[test]
fn a_tree_is_not_mirrored_to_itself_by_way_of_a_host() {
    let lop = Lop::with(&two());
    let before = Snapshot::of(lop.work());
    let way = Way::shell();
    for direction in BOTH {
        for (from, to) in [("src", "src"), ("src/d", "src"), ("src", "dst/../src")] {
            let places = (&*lop.path(from), &*lop.path(to));
            let output = way.run(&lop, direction, &["--delete"], places).run();
            output.code(4);
            assert!(output.stderr_str().contains("nothing was changed"), "{from} {to}");
            unchanged(&before, &lop.work());
        }
    }
    // A destination inside the source is skipped.
    for direction in BOTH {
        let lop = Lop::with(&TreeBuilder::new().file("src/a", "a").dir("src/d/backup"));
        let (from, to) = (lop.path("src"), lop.path("src/d/backup"));
        for _ in 0..2 {
            way.run(&lop, direction, &["--delete"], (&from, &to)).run().success();
            let all = Snapshot::of(&to).entries;
            assert_eq!(all.len(), 3, "{:?}", all.keys());
        }
    }
}

#[test]
fn a_destination_that_another_run_uses_is_refused() {
    let lop = Lop::with(&two());
    let held = fs::File::open(lop.path("dst")).expect("opened");
    held.lock().expect("locked");
    let before = Snapshot::of(lop.path("dst"));
    for direction in BOTH {
        let places = (&*lop.path("src"), &*lop.path("dst"));
        let output = Way::shell().run(&lop, direction, &["--delete"], places).run();
        output.code(4);
        unchanged(&before, &lop.path("dst"));
    }
    drop(held);
    Way::shell().succeed(&lop, Direction::Push, &["--delete"]);
    alike(&lop.path("src"), &lop.path("dst"));
}

#[test]
fn waiting_for_a_silent_host_can_be_interrupted() {
    for says in [":", "echo Welcome"] {
        for direction in BOTH {
            let lop = Lop::with(&two());
            let place = lop.path("new");
            let way = Way::script(&format!("{says}\nwhile read -r line; do :; done"));
            let run = way.run(&lop, direction, &[], (&lop.path("src"), &place));
            let output = run.signal(Signal::INT, When::After(Duration::from_millis(300))).run();
            output.signal(Signal::INT);
            // The mirror may have created the directory to check whether that is possible.
            let made = fs::read_dir(&place).is_ok_and(|mut all| all.next().is_some());
            assert!(!made, "{direction:?}, {says}");
        }
    }
}

#[test]
fn remote_failures_are_reported_here_with_their_path() {
    for direction in BOTH {
        let lop = Lop::with(&two());
        fs::create_dir_all(lop.path("dst/a/full")).expect("made");
        let places = (&*lop.path("src"), &*lop.path("dst"));
        let output = Way::shell().run(&lop, direction, &[], places).run();
        output.code(3);
        // The message shows the destination as the user typed it.
        let at = direction.places(places.0, places.1)[1].to_string_lossy().into_owned();
        let expected = format!("lop: {at}/a: a directory is in the way; --delete replaces it\n");
        assert!(output.stderr_str().starts_with(&expected), "{}", output.stderr_str());
        Way::shell().succeed(&lop, direction, &["--delete"]);
        alike(places.0, places.1);
    }
}
