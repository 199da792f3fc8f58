//! Tests of the harness. Failing programs must fail the test, and hanging programs must be
//! reported.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::{NOBODY, Sandbox};
use crate::{Ending, Signal, TreeBuilder, When, is_root, skipped};

fn shell() -> Sandbox {
    Sandbox::new("/bin/sh")
}

/// Returns the panic message of `check`, which must panic.
fn panic_of(check: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(check)).expect_err("must fail");
    panic.downcast_ref::<String>().cloned().expect("a panic with a message")
}

#[test]
fn a_program_that_fails_is_reported_with_the_whole_story() {
    let sandbox = shell();
    sandbox.lay(&TreeBuilder::new().file("dir/odd\nname", "12345").symlink("link", "dir"));
    let message = panic_of(|| {
        sandbox.run(["-c", "echo to-out; echo to-err >&2; exit 3", "arg\u{1b}0"]).success();
    });
    for part in ["exit code 0", "exit code 3", "cwd: ", r"arg\\x1b0", "to-out", "to-err"] {
        assert!(message.contains(part), "no {part} in: {message}");
    }
    assert!(message.contains(r"dir/odd\nname") && message.contains("link -> dir"), "{message}");
}

#[test]
fn a_known_bad_program_fails() {
    let sandbox = Sandbox::new("/bin/false");
    let output = sandbox.command().run();
    assert_eq!(output.ending, Ending::Code(1));
    output.code(1);
    assert!(panic_of(|| drop(output.success().clone())).contains("expected exit code 0"));
    assert!(panic_of(|| drop(output.signal(Signal::INT).clone())).contains("expected signal 2"));
}

#[test]
fn a_missing_program_is_reported() {
    let sandbox = Sandbox::new("/no/such/program");
    assert!(panic_of(|| drop(sandbox.run(["x"]))).contains("cannot be started"));
}

#[test]
fn a_program_that_hangs_is_killed_and_reported() {
    let sandbox = shell().with_timeout(Duration::from_secs(3));
    let message = panic_of(|| drop(sandbox.run(["-c", "echo $$ >pid; echo begun; sleep 1000; :"])));
    assert!(message.contains("hangs") && message.contains("begun"), "{message}");
    let pid = fs::read_to_string(sandbox.path("pid")).expect("the shell wrote its id");
    assert!(!fs::exists(format!("/proc/{}", pid.trim())).expect("a proc file system"));
}

#[test]
fn output_held_open_by_a_process_left_behind_is_reported() {
    let sandbox = shell().with_timeout(Duration::from_secs(3));
    let message = panic_of(|| drop(sandbox.run(["-c", "sleep 50 & exit 0"])));
    assert!(message.contains("holds its output open"), "{message}");
}

#[test]
fn the_environment_has_only_fixed_variables() {
    let sandbox = shell();
    let output = sandbox.command().env("ADDED", "yes").args(["-c", "env; pwd"]).run();
    let text = output.success().stdout_str();
    let (home, state, work) = (sandbox.home(), sandbox.state(), sandbox.work());
    assert!(state.starts_with(&home));
    for line in [
        format!("HOME={}", home.display()),
        format!("XDG_STATE_HOME={}", state.display()),
        work.display().to_string(),
        "LANG=C.UTF-8".into(),
        "TZ=UTC".into(),
        "COLUMNS=80".into(),
        "LOP_CONFIG=".into(),
        "ADDED=yes".into(),
    ] {
        assert!(text.lines().any(|have| have == line), "no {line} in {text}");
    }
    assert!(!text.contains("CARGO"), "{text}");
}

#[test]
fn input_reaches_the_program_and_bytes_come_back_unchanged() {
    let output = shell().command().args(["-c", "cat"]).stdin(*b"a\0\xff\n").run();
    assert_eq!(output.success().stdout, b"a\0\xff\n");
    let unread = shell().command().args(["-c", "exit 0"]).stdin(vec![0; 1 << 20]).run();
    unread.success();
    let odd = shell().command().args(["-c", "printf %s \"$0\""]).arg(b"\xff\n ").run();
    assert_eq!(odd.success().stdout, b"\xff\n ");
    assert!(panic_of(|| drop(odd.stdout_str().to_owned())).contains("stdout: invalid utf-8"));
}

#[test]
fn a_closed_output_breaks_the_pipe() {
    let sandbox = shell();
    for bytes in [0, 10] {
        let endless = sandbox.command().args(["-c", "while :; do echo yes; done"]);
        let output = endless.close_stdout_after(bytes).run();
        output.signal(Signal::PIPE);
        assert_eq!(output.stdout.len() as u64, bytes);
    }
}

#[test]
fn signals_arrive_after_a_delay_or_an_output() {
    let sandbox = shell();
    let wait = "trap 'echo caught; exit 7' INT; echo ready; echo set >&2; : >mark; \
                while :; do sleep 0.01; done";
    let signs = [
        When::Stdout(b"ready".to_vec()),
        When::Stderr(b"set".to_vec()),
        When::File(sandbox.path("mark"), vec![]),
    ];
    for when in signs {
        drop(fs::remove_file(sandbox.path("mark")));
        let output = sandbox.command().args(["-c", wait]).signal(Signal::INT, when).run();
        assert_eq!(output.code(7).signals_sent, 1);
        assert!(output.stdout_str().ends_with("caught\n"));
    }
    let delay = When::After(Duration::from_millis(50));
    let output = sandbox.command().args(["-c", "exec sleep 30"]).signal(Signal::TERM, delay).run();
    output.signal(Signal::TERM);
}

#[test]
fn a_moment_that_never_comes_sends_no_signal_and_a_late_one_does() {
    let sandbox = shell();
    let never = When::Stdout(b"never".to_vec());
    let output = sandbox.command().args(["-c", "echo x"]).signal(Signal::KILL, never).run();
    assert_eq!(output.success().signals_sent, 0);
    let late = When::Stdout(b"x".to_vec());
    let mut running = sandbox.command().args(["-c", "echo x"]).spawn();
    while running.is_running() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(running.wait_for(&late) && !running.signal(Signal::KILL));
    running.wait().success();
}

#[test]
fn a_spawned_program_is_killed_on_drop() {
    let sandbox = shell();
    let mut running = sandbox.command().args(["-c", "echo up; sleep 50; :"]).spawn();
    assert!(running.wait_for(&When::Stdout(b"up".to_vec())) && running.is_running());
    let process = format!("/proc/{}", running.pid());
    drop(running);
    assert!(!fs::exists(process).expect("a proc file system"));
}

#[test]
fn descriptors_can_be_limited() {
    let output = shell().command().descriptor_limit(64).args(["-c", "ulimit -n"]).run();
    assert_eq!(output.success().stdout_str(), "64\n");
}

#[test]
fn another_user_has_a_home_but_no_permissions() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let sandbox = shell();
    sandbox.lay(&TreeBuilder::new().file("locked", "x").mode("locked", 0).file("open", "y"));
    let script = "id -u; id -g; id -G; cat open; echo >$HOME/new && echo >$XDG_STATE_HOME/new || exit 9; \
                  cat locked 2>/dev/null && exit 8; (: >here) 2>/dev/null && exit 7; exit 0";
    let output = sandbox.command().as_user(NOBODY, NOBODY).args(["-c", script]).run();
    assert_eq!(output.success().stdout_str(), "65534\n65534\n65534\ny");
    let limited = sandbox.command().as_user(NOBODY, NOBODY).descriptor_limit(32);
    let output = limited.args(["-c", "ulimit -n; id -u"]).run();
    assert_eq!(output.success().stdout_str(), "32\n65534\n");
}

#[test]
fn a_binary_out_of_reach_is_brought_within_reach_of_the_other_user() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let hidden = TreeBuilder::new().dir("closed").mode("closed", 0o700).make_temp();
    let binary = hidden.join("closed/shell");
    fs::copy("/bin/sh", &binary).expect("a copy of the shell");
    let output =
        Sandbox::new(&binary).command().as_user(NOBODY, NOBODY).args(["-c", "id -u"]).run();
    assert_eq!(output.success().stdout_str(), "65534\n");
}
