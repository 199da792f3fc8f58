//! Runs a shell in a terminal that tmux emulates. Tests press keys and read the screen.
//!
//! Each terminal has its own tmux server, whose socket is in a temporary directory. Dropping the terminal
//! ends the server, and the shell receives SIGHUP.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use crate::forks::spawn;
use crate::process::poll;
use crate::temp::TempTree;
use crate::{TEST_TIMEOUT, skipped};

/// The prompt of the shell.
pub const PROMPT: &str = "ready>";

/// A terminal with a shell.
#[derive(Debug)]
pub struct Tmux {
    sockets: TempTree,
}

impl Tmux {
    /// Starts bash in a terminal of this size (columns and lines). The environment contains only the given variables,
    /// `PATH`, `TERM`, `LC_ALL` and `PS1`. If tmux is not installed, prints this and returns `None`.
    ///
    /// # Panics
    ///
    /// Panics if tmux cannot start, or if the shell shows no prompt.
    pub fn start(size: (u16, u16), dir: &Path, variables: &[(&str, &Path)]) -> Option<Tmux> {
        let tmux = Tmux { sockets: TempTree::new() };
        let (columns, lines) = (size.0.to_string(), size.1.to_string());
        let mut command = tmux.command();
        // The status line of tmux would take one of the lines of the terminal.
        command.args(["-f", "/dev/null", "start-server", ";", "set-option", "-g", "status", "off"]);
        command.args([";", "new-session", "-d", "-x", &columns, "-y", &lines, "-c"]);
        command.arg(dir).args(["env", "-i", "TERM=screen", "LC_ALL=C.UTF-8"]);
        command.arg(format!("PATH={}", std::env::var("PATH").unwrap_or_default()));
        command.args(variables.iter().map(|(name, value)| format!("{name}={}", value.display())));
        command.arg(format!("PS1={PROMPT} ")).args(["bash", "--norc", "--noprofile"]);
        match spawn(&mut command).and_then(std::process::Child::wait_with_output) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                skipped("tmux is not installed");
                return None;
            }
            done => assert!(done.expect("tmux runs").status.success(), "tmux does not start"),
        }
        tmux.wait_for(PROMPT);
        Some(tmux)
    }

    /// Presses keys, by their names in tmux, such as `Enter`, `C-z`, `Down` or `q`.
    pub fn press(&self, keys: &[&str]) {
        self.run(&[&["send-keys", "--"], keys].concat());
    }

    /// Types a command and presses Enter.
    pub fn type_line(&self, line: &str) {
        self.run(&["send-keys", "-l", "--", line]);
        self.press(&["Enter"]);
    }

    /// Returns the text on the screen.
    pub fn screen(&self) -> String {
        String::from_utf8_lossy(&self.run(&["capture-pane", "-p"]).stdout).into_owned()
    }

    /// Returns the value of a format of tmux, such as `#{pane_pid}` or `#{alternate_on}`.
    pub fn value(&self, format: &str) -> String {
        let output = self.run(&["display-message", "-p", format]);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Changes the size of the terminal.
    pub fn resize(&self, columns: u16, lines: u16) {
        let (columns, lines) = (columns.to_string(), lines.to_string());
        self.run(&["resize-window", "-x", &columns, "-y", &lines]);
    }

    /// Waits until the screen contains a text, and returns the screen.
    ///
    /// # Panics
    ///
    /// Panics if the text does not appear.
    #[track_caller]
    pub fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    /// Waits until `has` accepts the screen, and returns the screen. `what` describes the expected screen in the
    /// message of a failure.
    ///
    /// # Panics
    ///
    /// Panics if `has` never accepts the screen.
    #[track_caller]
    pub fn wait_until(&self, what: &str, has: impl Fn(&str) -> bool) -> String {
        let deadline = Instant::now() + TEST_TIMEOUT;
        let found = poll(deadline, || Some(self.screen()).filter(|screen| has(screen)));
        match found {
            Some(screen) => screen,
            None => panic!("the screen never shows {what:?}:\n{}", self.screen()),
        }
    }

    fn run(&self, args: &[&str]) -> Output {
        let mut command = self.command();
        command.args(args).stdout(std::process::Stdio::piped());
        let done = spawn(&mut command).and_then(std::process::Child::wait_with_output);
        done.expect("tmux runs")
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        // The tests themselves may run inside tmux.
        command.env_remove("TMUX").arg("-S").arg(self.sockets.join("socket"));
        command
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ended = self.command().arg("kill-server").output();
    }
}
