//! `delay MILLIS HOST COMMAND...`: runs a command as ssh would, on a host that is far away.
//!
//! What goes in and what comes out is held back for so many milliseconds each, so that a round trip takes twice
//! that; how much is under way at once is not limited, but for [`UNDER_WAY`] pieces. HOST is not looked at.
//! It is an example so that Cargo builds it with all tests, and none of what is installed has it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Pieces of [`PIECE`] bytes at most that are on their way in one direction: 256 MiB, far more than goes
/// through a pipe in any delay worth a test, and still an end to what a reader that rests lets pile up.
const UNDER_WAY: usize = 4096;

/// What a pipe holds.
const PIECE: usize = 64 << 10;

/// What ssh says by its exit code when something is the matter with it, and not with the command.
const FAILED: u8 = 255;

/// Bytes, and when they arrive.
type Piece = (Instant, Vec<u8>);

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [millis, _host, command @ ..] = arguments.as_slice() else {
        return complain("delay MILLIS HOST COMMAND...");
    };
    let Ok(millis) = millis.parse() else {
        return complain(&format!("{millis:?} is no number of milliseconds"));
    };
    match run(Duration::from_millis(millis), &command.join(" ")) {
        Ok(code) => code,
        Err(e) => complain(&e.to_string()),
    }
}

#[expect(clippy::print_stderr, reason = "this is a program")]
fn complain(text: &str) -> ExitCode {
    eprintln!("delay: {text}");
    ExitCode::from(FAILED)
}

fn run(delay: Duration, command: &str) -> io::Result<ExitCode> {
    // Not those of the library, which keep back what is no whole line.
    let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = shell.spawn()?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("no pipes"));
    };
    // Nobody waits for input that no command reads.
    let _input = pass_on(delay, stdin, OwnedFd::from(to).into());
    let output = pass_on(delay, OwnedFd::from(from).into(), stdout);
    let status = child.wait()?;
    let _passed = output.join();
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(FAILED)))
}

/// Starts to copy from one to the other, each byte so much later, and the end too.
fn pass_on(delay: Duration, mut from: File, mut to: File) -> JoinHandle<()> {
    let (queue, pieces) = sync_channel(UNDER_WAY);
    thread::spawn(move || take(delay, &mut from, &queue));
    thread::spawn(move || give(&pieces, &mut to))
}

/// Reads to the end, or until nobody wants to have it.
fn take(delay: Duration, from: &mut File, queue: &SyncSender<Piece>) {
    let mut buffer = vec![0; PIECE];
    loop {
        let length = match from.read(&mut buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
            Ok(length) => length,
        };
        // An empty piece is the end, which takes as long.
        let piece = (Instant::now() + delay, buffer[..length].to_vec());
        if queue.send(piece).is_err() || length == 0 {
            return;
        }
    }
}

/// Writes each piece when it is due, to the end or until nobody reads.
fn give(pieces: &Receiver<Piece>, to: &mut File) {
    for (due, bytes) in pieces {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            return;
        }
    }
}
