//! `delay MILLIS HOST COMMAND...`: runs a command as ssh would on a distant host.
//!
//! Input and output are each delayed by the given milliseconds, so a round trip takes twice that
//! time. Up to [`UNDER_WAY`] pieces can be in transit. HOST is ignored. This is an example so that
//! Cargo builds it with all tests and never installs it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Maximum number of pieces of [`PIECE`] bytes in transit in one direction. This is 256 MiB, far
/// more than a pipe carries in any delay that is worth a test. It bounds the memory that a paused
/// reader causes.
const UNDER_WAY: usize = 4096;

/// The capacity of a pipe.
const PIECE: usize = 64 << 10;

/// The exit code that ssh uses when ssh itself fails and not the command.
const FAILED: u8 = 255;

/// Bytes, and the time at which they arrive.
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
    // The handles of the standard library would buffer incomplete lines.
    let stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = shell.spawn()?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::Error::other("no pipes"));
    };
    // The thread is not joined, because it waits for input that no command reads.
    let _input = pass_on(delay, stdin, OwnedFd::from(to).into());
    let output = pass_on(delay, OwnedFd::from(from).into(), stdout);
    let status = child.wait()?;
    let _passed = output.join();
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(FAILED)))
}

/// Starts to copy `from` to `to`. Each byte, and the end of the stream, is delayed by `delay`.
fn pass_on(delay: Duration, mut from: File, mut to: File) -> JoinHandle<()> {
    let (queue, pieces) = sync_channel(UNDER_WAY);
    thread::spawn(move || take(delay, &mut from, &queue));
    thread::spawn(move || give(&pieces, &mut to))
}

/// Reads until the end of the stream, or until the receiver is gone.
fn take(delay: Duration, from: &mut File, queue: &SyncSender<Piece>) {
    let mut buffer = vec![0; PIECE];
    loop {
        let length = match from.read(&mut buffer) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(_) => 0,
            Ok(length) => length,
        };
        // An empty piece marks the end of the stream and is delayed like any other.
        let piece = (Instant::now() + delay, buffer[..length].to_vec());
        if queue.send(piece).is_err() || length == 0 {
            return;
        }
    }
}

/// Writes each piece when it is due, until the end of the stream or until the reader is gone.
fn give(pieces: &Receiver<Piece>, to: &mut File) {
    for (due, bytes) in pieces {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        if to.write_all(&bytes).is_err() {
            return;
        }
    }
}
