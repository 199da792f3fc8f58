//! Runs a program on a terminal of its own: waits for texts on it, and types answers.

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

/// The screen output of a program, and its end.
#[derive(Debug)]
pub struct Shown {
    /// All output, including the echo of typed text; lines end with `\n`.
    pub text: String,
    /// The exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Invocation<'_> {
    /// Runs the program on a terminal of a given width. When it has shown the first text of a pair,
    /// behind the texts waited for before, the second text is typed: `\n` is the return key,
    /// `\u{4}` is Ctrl-D.
    ///
    /// # Panics
    ///
    /// When it cannot be started, never shows the text, or hangs.
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
            // A program that has ended reads no input.
            let _typed = rustix::io::write(&master, typed.as_bytes());
        }
        let Some(status) = wait_exit(&mut talk.child, deadline) else {
            panic!("does not end after:\n{}", talk.text());
        };
        assert!(talk.shown.wait_end(deadline), "the terminal stays open");
        Shown { text: talk.text(), code: status.code(), signal: status.signal() }
    }
}

/// A program on a terminal; killed when dropped.
struct Talk {
    child: Child,
    shown: Capture,
}

impl Talk {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.shown.bytes()).replace("\r\n", "\n")
    }

    /// Returns the end of `wanted` in the output from `at` on.
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
