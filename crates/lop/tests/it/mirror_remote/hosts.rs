//! The syntax of remote hosts, and the search for lop on these hosts.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use testkit::{TempTree, skipped};

use super::{BOTH, Direction, HOST, Way, alike, there, two, write_script};
use crate::lop::Lop;

/// Returns a connection that records the arguments of the script, one word per line, and the path of that record.
fn noting(place: &TempTree) -> (Way, std::path::PathBuf) {
    let note = place.join("note");
    let line = format!("printf '%s\\n' \"$host\" \"$@\" >'{}'\nexec sh -c \"$*\"", note.display());
    (Way::script(&line), note)
}

#[test]
fn the_host_is_what_is_before_the_colon() {
    let place = TempTree::new();
    let (way, note) = noting(&place);
    let lop = Lop::with(&two());
    for (typed, expected_host) in [
        ("nas", "nas"),
        ("me@nas.example", "me@nas.example"),
        ("[::1]", "::1"),
        ("me@[fe80::1%eth0]", "me@fe80::1%eth0"),
    ] {
        let to = there(typed, &lop.path("dst"));
        way.mirror(&lop, &["--delete", "src"]).arg(to).run().success();
        let noted = fs::read_to_string(&note).expect("noted");
        let expected = [expected_host, &way.lop.display().to_string(), "mirror-server"];
        assert_eq!(noted.lines().collect::<Vec<_>>(), expected);
        let from = there(typed, &lop.path("src"));
        way.mirror(&lop, &["--delete"]).arg(from).arg("dst").run().success();
        assert_eq!(fs::read_to_string(&note).expect("noted"), noted);
    }
    alike(&lop.path("src"), &lop.path("dst"));
}

#[test]
fn a_colon_after_a_slash_belongs_to_the_path() {
    let place = TempTree::new();
    let (way, note) = noting(&place);
    let lop = Lop::with(&two());
    way.mirror(&lop, &["src", "./a:b"]).run().success();
    alike(&lop.path("src"), &lop.path("a:b"));
    let absolute = lop.path("c:d");
    way.mirror(&lop, &["./a:b"]).arg(&absolute).run().success();
    alike(&lop.path("src"), &absolute);
    // The same applies to a path on the remote host.
    way.mirror(&lop, &["src"]).arg(there(HOST, &lop.path("e:f"))).run().success();
    assert!(note.exists());
    alike(&lop.path("src"), &lop.path("e:f"));
    fs::create_dir(lop.path("x:y")).expect("made");
    way.mirror(&lop, &["x:y", "z:y"]).run().code(2);
}

#[test]
fn a_remote_path_is_not_interpreted_by_the_shell_there() {
    let lop = Lop::with(&two());
    let way = Way::shell();
    let names: [&[u8]; 7] = [
        b"two words",
        b"it's",
        b"\"$HOME\" $(touch pwned) `touch pwned`",
        b"; touch pwned #",
        b"*",
        b"-rf",
        b"new\nline \xff",
    ];
    for name in names {
        let path = lop.path(name);
        for direction in BOTH {
            let (from, to) = match direction {
                Direction::Push => (lop.path("src"), path.clone()),
                Direction::Pull => (path.clone(), lop.path("back")),
            };
            way.run(&lop, direction, &["--delete"], (&from, &to)).run().success();
            alike(&from, &to);
        }
        // The path is relative to the directory in which the remote shell starts.
        let relative = Path::new(std::ffi::OsStr::new(".")).join(testkit::PathBytes::to_path(name));
        way.run(&lop, Direction::Push, &[], (&lop.path("src"), &relative)).run().success();
        alike(&lop.path("src"), &path);
    }
    assert!(!lop.path("pwned").exists());
    let names = ["src", "dst", "back"].len() + names.len();
    assert_eq!(fs::read_dir(lop.work()).expect("listed").count(), names);
}

#[test]
fn an_empty_remote_path_is_the_directory_of_the_remote_shell() {
    let lop = Lop::with(&two());
    let way = Way::script("cd dst || exit\nexec sh -c \"$*\"");
    way.run(&lop, Direction::Push, &["--delete"], (&lop.path("src"), Path::new("")))
        .run()
        .success();
    alike(&lop.path("src"), &lop.path("dst"));
    let back = lop.path("back");
    way.run(&lop, Direction::Pull, &[], (Path::new(""), &back)).run().success();
    alike(&lop.path("src"), &back);
}

#[test]
fn the_command_is_split_as_a_shell_would() {
    let lop = Lop::with(&two());
    let mut way = Way::shell();
    let place = TempTree::new();
    let odd = place.join("it's a \"script\"");
    write_script(
        &odd,
        "test \"$1\" = 'two words' && test \"$2\" = '$x' || exit 9\nshift 3\nexec sh -c \"$*\"\n",
    );
    let quoted = odd.display().to_string().replace('\'', "'\\''");
    way.rsh = format!("sh  '{quoted}' \"two words\" \\$x");
    way.succeed(&lop, Direction::Push, &["--delete"]);
    alike(&lop.path("src"), &lop.path("dst"));
}

#[test]
fn the_defaults_are_ssh_and_lop() {
    let lop = Lop::with(&two());
    let place = TempTree::new();
    write_script(&place.join("ssh"), "shift\nexec sh -c \"$*\"\n");
    symlink(env!("CARGO_BIN_EXE_lop"), place.join("lop")).expect("linked");
    let path = format!("{}:/usr/bin:/bin", place.path().display());
    for direction in BOTH {
        let to = lop.path(direction.name());
        let run = lop.command().arg("mirror").args(direction.places(&lop.path("src"), &to));
        run.env("PATH", path.as_str()).run().success();
        alike(&lop.path("src"), &to);
    }
}

/// Returns the program that delays a connection, if it was built.
fn delay() -> Option<std::path::PathBuf> {
    let path = Path::new(env!("CARGO_BIN_EXE_lop")).parent()?.join("examples/delay");
    if !path.exists() {
        skipped("the example `delay` is not built: cargo build -p testkit --example delay");
        return None;
    }
    Some(path)
}

#[test]
fn a_distant_host_is_mirrored_to_as_well() {
    let Some(delay) = delay() else { return };
    let mut tree = two();
    for i in 0..300u64 {
        tree = tree.seeded(format!("src/{}/{}/{i}", i % 5, i % 11), i, i * 50);
    }
    let lop = Lop::with(&tree.seeded("src/larger", 1, 8 << 20));
    let mut way = Way::shell();
    way.rsh = format!("'{}' 25", delay.display());
    for direction in BOTH {
        let (from, to) = (lop.path("src"), lop.path(direction.name()));
        way.run(&lop, direction, &[], (&from, &to)).run().success();
        alike(&from, &to);
        super::nothing_was_done(&way.json(&lop, direction, &["--delete"], (&from, &to)));
        way.lop = "no-such-lop".into();
        let output = way.run(&lop, direction, &[], (&from, &to)).run();
        output.code(1);
        assert!(output.stderr_str().contains(HOST), "{}", output.stderr_str());
        way.lop = super::binary();
    }
}
