//! `lop look` in a real terminal.

use std::fs;
use std::process::Command;

use testkit::tmux::PROMPT;
use testkit::{Compare, Snapshot, Tmux, TreeBuilder, assert_same};

use crate::lop::Lop;

const KIB: u64 = 1024;

fn photos() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("t/photos/2020/one", 1, 300 * KIB)
        .seeded("t/photos/2021/two", 2, 200 * KIB)
        .seeded("t/backup/old/photos/one", 1, 300 * KIB)
        .seeded("t/backup/two", 2, 200 * KIB)
        .file("t/notes", "x")
}

fn scanned() -> Lop {
    let lop = Lop::with(&photos());
    lop.remember(["t"]);
    lop
}

/// Starts a shell that has the program as `$LOP`, and types a command with it.
fn start(lop: &Lop, size: (u16, u16), line: &str) -> Option<Tmux> {
    let (home, state) = (lop.home(), lop.state());
    let program = std::path::PathBuf::from(env!("CARGO_BIN_EXE_lop"));
    let variables = [("HOME", &*home), ("XDG_STATE_HOME", &*state), ("LOP", &*program)];
    let tmux = Tmux::start(size, &lop.work(), &variables)?;
    tmux.type_line("clear; before=$(stty -a)");
    tmux.wait_for(PROMPT);
    tmux.type_line(line);
    Some(tmux)
}

/// Asserts that the terminal is as it was before the program started.
#[track_caller]
fn assert_restored(tmux: &Tmux) {
    tmux.type_line("after=$(stty -a); [ \"$before\" = \"$after\" ] && echo same''settings");
    tmux.wait_for("samesettings");
    assert_eq!(tmux.value("#{alternate_on} #{cursor_flag}"), "0 1", "{}", tmux.screen());
}

/// Returns the process id of the program, which the shell started.
fn process(tmux: &Tmux) -> String {
    let shell = tmux.value("#{pane_pid}");
    let found = Command::new("pgrep").args(["-P", &shell]).output().expect("pgrep runs");
    String::from_utf8_lossy(&found.stdout).trim().to_owned()
}

fn send(signal: &str, process: &str) {
    let sent = Command::new("kill").args([signal, process]).status();
    assert!(sent.expect("kill runs").success(), "{signal} {process}");
}

#[test]
fn the_user_decides_applies_and_undoes() {
    let lop = scanned();
    let before = Snapshot::of(lop.path("t"));
    let Some(tmux) = start(&lop, (80, 24), "\"$LOP\" look t") else { return };
    tmux.wait_for("photos/");
    tmux.press(&["2"]);
    tmux.wait_for("2 groups, 500.0 KiB reclaimable; 2 undecided");
    tmux.press(&["D"]);
    tmux.wait_for("Decide 2 groups");
    tmux.press(&["Enter"]);
    tmux.wait_for("0 undecided; removing 2 files frees 500.0 KiB");
    tmux.press(&["p"]);
    tmux.wait_for("2 files to change, 500.0 KiB to free; nothing was changed");
    assert_same(&before, &Snapshot::of(lop.path("t")), Compare::ALL);
    tmux.press(&["a"]);
    tmux.wait_for("Replace 2 files with hard links and free 500.0 KiB? [y/n]");
    tmux.press(&["y"]);
    tmux.wait_for("Run 1: 2 files changed, 500.0 KiB freed");
    let after = Snapshot::of(lop.path("t"));
    assert_eq!(after.link_groups().len(), 2, "the files are hard links");
    assert_eq!(before.contents(), after.contents(), "no content is lost");
    tmux.press(&["u"]);
    tmux.wait_for("Undo run 1 and restore 2 files? [y/n]");
    tmux.press(&["y"]);
    tmux.wait_for("Run 1 undone: 2 files restored");
    assert_same(&before, &Snapshot::of(lop.path("t")), Compare::VISIBLE);
    tmux.press(&["5"]);
    tmux.wait_for("2 undone");
    tmux.press(&["q"]);
    tmux.wait_for(PROMPT);
    assert_restored(&tmux);
    let decisions: i64 = lop
        .database()
        .query_row("SELECT count(*) FROM decision", [], |row| row.get(0))
        .expect("a number");
    assert_eq!(decisions, 1, "the decision is in the catalog, as that of lop serve");
}

#[test]
fn folders_and_unique_files_are_listed() {
    let lop = scanned();
    let Some(tmux) = start(&lop, (80, 24), "\"$LOP\" look t") else { return };
    tmux.wait_for("photos/");
    tmux.press(&["3"]);
    tmux.wait_for("Enter shows the groups of identical files in them");
    tmux.press(&["4"]);
    tmux.wait_for("5 of 5 files");
    tmux.press(&["1", "Down", "Enter", "4"]);
    tmux.wait_for("Each file in this directory has a copy outside.");
    tmux.press(&["?"]);
    tmux.wait_for("Esc leaves the help");
    tmux.press(&["C-c"]);
    tmux.wait_for(PROMPT);
    assert_restored(&tmux);
}

#[test]
fn no_characters_of_clusters_stay_on_the_screen() {
    let names = ["t/a/क्षि देव.txt", "t/b/🇩🇪🇫🇷.txt"];
    let lop = Lop::with(&names.iter().fold(TreeBuilder::new(), |tree, name| tree.file(*name, "x")));
    lop.remember(["t"]);
    let Some(tmux) = start(&lop, (80, 24), "\"$LOP\" look t") else { return };
    tmux.wait_for("by disk space");
    tmux.press(&["2"]);
    tmux.wait_for("undecided");
    tmux.press(&["Enter"]);
    tmux.wait_for("देव.txt");
    tmux.press(&["1"]);
    let screen = tmux.wait_for("by disk space");
    assert!(!screen.contains(['ष', '🇪', '🇷', 'द']), "{screen}");
    tmux.press(&["q"]);
    tmux.wait_for(PROMPT);
}

#[test]
fn the_screen_follows_the_size_of_the_terminal() {
    let lop = scanned();
    let Some(tmux) = start(&lop, (80, 24), "\"$LOP\" look --color never t") else { return };
    tmux.wait_for("photos/");
    tmux.resize(40, 10);
    tmux.wait_for("It has 40 columns and 10 lines.");
    tmux.resize(120, 40);
    // The order ends at the right edge, so it shows that lop has drawn the screen for the new width.
    let is_drawn_for = |lines: usize| {
        move |screen: &str| {
            let line = |at| screen.lines().nth(at).unwrap_or_default();
            line(1).contains("by disk space") && line(lines - 1).contains("q quit")
        }
    };
    tmux.wait_until("keys in line 40", is_drawn_for(40));
    // stty also shows the size.
    tmux.resize(80, 24);
    tmux.wait_until("keys in line 24", is_drawn_for(24));
    tmux.press(&["q"]);
    tmux.wait_for(PROMPT);
    assert_restored(&tmux);
}

#[test]
fn ctrl_z_suspends_and_fg_continues() {
    let lop = scanned();
    let Some(tmux) = start(&lop, (80, 24), "\"$LOP\" look t") else { return };
    tmux.wait_for("photos/");
    for _ in 0..2 {
        tmux.press(&["C-z"]);
        tmux.wait_for("Stopped");
        assert_restored(&tmux);
        tmux.type_line("clear; fg");
        tmux.wait_for("backup/");
        assert_eq!(tmux.value("#{alternate_on} #{cursor_flag}"), "1 0");
    }
    // A stop that the program cannot catch.
    send("-STOP", &process(&tmux));
    tmux.wait_for("Stopped");
    tmux.type_line("fg");
    tmux.wait_for("backup/");
    tmux.press(&["Enter"]);
    tmux.wait_for("/t/backup");
    tmux.press(&["q"]);
    tmux.wait_for(PROMPT);
    assert_restored(&tmux);
}

#[test]
fn signals_end_the_program_and_restore_the_terminal() {
    let lop = scanned();
    for (signal, code) in [("-HUP", 129), ("-INT", 130), ("-TERM", 143), ("-QUIT", 131)] {
        let Some(tmux) = start(&lop, (80, 24), "\"$LOP\" look t") else { return };
        tmux.wait_for("photos/");
        send(signal, &process(&tmux));
        tmux.wait_for(PROMPT);
        tmux.type_line("echo ended=$?");
        tmux.wait_for(&format!("ended={code}"));
        assert_restored(&tmux);
    }
}

/// Waits until a process has ended.
#[track_caller]
fn wait_for_end(process: &str) {
    let mut checks = 0;
    while fs::metadata(format!("/proc/{process}/stat")).is_ok() {
        checks += 1;
        assert!(checks < 3000, "process {process} goes on without a terminal");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

#[test]
fn the_program_ends_with_its_terminal() {
    let lop = scanned();
    for is_killed in [true, false] {
        let Some(tmux) = start(&lop, (80, 24), "\"$LOP\" look t") else { return };
        tmux.wait_for("photos/");
        let process = process(&tmux);
        if is_killed {
            send("-KILL", &tmux.value("#{pane_pid}"));
        }
        drop(tmux);
        wait_for_end(&process);
    }
}

#[test]
fn a_hang_up_ends_the_program_even_if_the_signal_is_ignored() {
    let lop = scanned();
    let Some(tmux) = start(&lop, (80, 24), "trap '' HUP; \"$LOP\" look t") else { return };
    tmux.wait_for("photos/");
    let process = process(&tmux);
    drop(tmux);
    wait_for_end(&process);
}

#[test]
fn a_scan_by_another_process_is_announced() {
    let lop = scanned();
    let Some(tmux) = start(&lop, (80, 24), "\"$LOP\" look t") else { return };
    tmux.wait_for("photos/");
    lop.add(&TreeBuilder::new().seeded("t/photos/2022/three", 3, 100 * KIB));
    lop.remember(["t"]);
    tmux.wait_for("The catalog was changed; press R to reload.");
    tmux.press(&["R"]);
    tmux.wait_for("6 files");
    tmux.press(&["g"]);
    tmux.wait_for("+100.0 KiB");
    tmux.press(&["q"]);
    tmux.wait_for(PROMPT);
}

#[test]
fn a_terminal_is_required() {
    let lop = scanned();
    let output = lop.command().args(["look", "t"]).run();
    output.code(2);
    assert_eq!(
        output.stderr_str(),
        "lop: lop look needs a terminal as standard input and standard output\n\
         hint: use 'lop space', 'lop report' and 'lop dedupe' in scripts and pipes\n"
    );
    let Some(tmux) = start(&lop, (80, 24), "TERM=dumb \"$LOP\" look t; echo ended=$?") else {
        return;
    };
    let screen = tmux.wait_for("ended=2");
    assert!(screen.contains("this terminal cannot move its cursor"), "{screen}");
    tmux.type_line("clear; \"$LOP\" look /nowhere; echo second=$?");
    let screen = tmux.wait_for("second=5");
    assert!(screen.contains("/nowhere: not in the catalog"), "{screen}");
    tmux.type_line("clear; \"$LOP\" --catalog no.db look; echo third=$?");
    let screen = tmux.wait_for("third=5");
    assert!(screen.contains("hint: scan something first"), "{screen}");
}
