//! Runs a program on a pseudo-terminal, waits for its output, and types answers.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command};
use std::time::Instant;

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::forks::spawn;
use crate::invocation::Invocation;
use crate::process::{Capture, poll, wait_exit};

/// The screen output of a program, and how it ended.
#[derive(Debug)]
pub struct Shown {
    /// All output, including the echo of typed text. Lines end with `\n`.
    pub text: String,
    /// The exit code; `None` if a signal ended the program.
    pub code: Option<i32>,
    /// The signal that ended the program, if any.
    pub signal: Option<i32>,
}

impl Invocation<'_> {
    /// Runs the program on a terminal of a given width. Each pair of `dialogue` is a text to wait
    /// for and a text to type. Each text to wait for must appear after the previous one. `\n` is
    /// the return key, and `\u{4}` is Ctrl-D.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started, never shows an expected text, or hangs.
    pub fn talk(&self, columns: u16, dialogue: &[(&str, &str)]) -> Shown {
        let deadline = Instant::now() + self.timeout;
        let (master, slave) = terminal(columns);
        let argv = self.argv();
        let mut command = Command::new(&argv[0]);
        command.args(&argv[1..]).process_group(0);
        self.set_scene(&mut command);
        let stream = || slave.try_clone().expect("a descriptor");
        command.stdin(stream()).stdout(stream()).stderr(stream());
        let child = spawn(&mut command).expect("the program is started");
        drop((command, slave));
        let mut talk = Talk { child, shown: Capture::start(File::from(clone(&master)), None) };
        let mut at = 0;
        for (shows, typed) in dialogue {
            let found = poll(deadline, || {
                let is_over = talk.shown.has_ended();
                let found = talk.find(at, shows);
                (found.is_some() || is_over).then_some(found)
            });
            let Some(end) = found.flatten() else {
                panic!("never shows {shows:?} behind:\n{}", talk.text());
            };
            at = end;
            // This fails if the program has ended.
            let _typed = rustix::io::write(&master, typed.as_bytes());
        }
        let Some(status) = wait_exit(&mut talk.child, deadline) else {
            panic!("does not end after:\n{}", talk.text());
        };
        assert!(talk.shown.wait_end(deadline), "the terminal stays open");
        Shown { text: talk.text(), code: status.code(), signal: status.signal() }
    }
}

/// A program on a terminal. Dropping it kills the program.
struct Talk {
    child: Child,
    shown: Capture,
}

impl Talk {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.bytes()).replace("\r\n", "\n")
    }

    /// Returns the end of `wanted` in the output after position `at`.
    fn find(&self, at: usize, wanted: &str) -> Option<usize> {
        let text = self.text();
        text.get(at..)?.find(wanted).map(|found| at + found + wanted.len())
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn clone(fd: &OwnedFd) -> OwnedFd {
    fd.try_clone().expect("a descriptor")
}

fn terminal(columns: u16) -> (OwnedFd, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC);
    let master = master.expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it is ours");
    let name = ptsname(&master, Vec::new()).expect("it has a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = open(name, flags, Mode::empty()).expect("its other end");
    let size = Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&slave, size).expect("it has a size");
    (master, slave)
}
