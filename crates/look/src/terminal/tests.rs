//! Tests in a real terminal: a panic restores it.

use std::io::{self, IsTerminal};
use std::os::fd::AsFd;
use std::path::Path;

use ratatui_core::style::Style;
use testkit::{Tmux, skipped};

use super::Terminal;

/// Takes over the terminal and panics. The next test runs this one in a terminal.
#[test]
#[ignore = "a test runs it in a terminal"]
fn panics_in_raw_mode() {
    if !io::stdin().is_terminal() {
        return skipped("standard input is not a terminal");
    }
    let copy = |stream: io::Result<std::os::fd::OwnedFd>| stream.expect("a descriptor").into();
    let input = copy(io::stdin().as_fd().try_clone_to_owned());
    let output = copy(io::stdout().as_fd().try_clone_to_owned());
    let mut terminal = Terminal::new(input, output).expect("a terminal");
    terminal.draw(|buffer| buffer.set_string(0, 0, "drawn", Style::new())).expect("drawn");
    panic!("provoked");
}

#[test]
fn a_panic_restores_the_terminal_and_shows_its_message() {
    let Some(tmux) = Tmux::start((80, 24), Path::new("/"), &[]) else { return };
    let program = std::env::current_exe().expect("this program");
    let test = "terminal::tests::panics_in_raw_mode --exact --ignored --nocapture";
    tmux.type_line(&format!("clear; a=$(stty -a); {} {test}; b=$(stty -a)", program.display()));
    let screen = tmux.wait_for("provoked");
    assert!(!screen.contains("drawn"), "the alternate screen is left:\n{screen}");
    tmux.wait_for("1 failed");
    tmux.type_line("[ \"$a\" = \"$b\" ] && echo res''tored");
    tmux.wait_for("restored");
    assert_eq!(tmux.value("#{alternate_on} #{cursor_flag}"), "0 1");
}
