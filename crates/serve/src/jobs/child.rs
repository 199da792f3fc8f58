//! Starts a child, follows its output to the end, and notes how it ended.
//!
//! The output of a child must always be read, even if it is discarded, because a child that waits for its reader holds
//! the locks of the catalog.

use std::fs::File;
use std::io::{self, BufReader};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};

use runtime::epoch::now_ms;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::job::Job;
use super::messages::{self, Line};
use super::output::{Output, collect};
use super::shared::Shared;
use super::spec::JobId;

/// Number of messages that are kept.
const MAX_MESSAGES: usize = 200;

/// Number of characters to which a message is cut.
const MAX_MESSAGE_LENGTH: usize = 4096;

/// Size of a document up to which it is parsed and becomes part of the state of the job.
const MAX_RESULT_BYTES: u64 = 64 << 10;

/// A child whose end has not been noted.
pub(super) struct Followed {
    child: Child,
    stdout: ChildStdout,
    stderr: ChildStderr,
}

/// Starts a child in its own process group, so that Ctrl-C in the terminal of the server does not reach it.
pub(super) fn spawn(command: &mut Command) -> io::Result<Followed> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let (Some(stdout), Some(stderr)) = (child.stdout.take(), child.stderr.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    Ok(Followed { child, stdout, stderr })
}

impl Followed {
    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Reads the output of the child and waits for its end.
    pub(super) fn follow(self, shared: &Shared, id: JobId, plan: Option<File>) {
        let pid = self.pid();
        let Followed { mut child, stdout, stderr } = self;
        let (output, read) = std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("job output".into());
            let output = thread.spawn_scoped(scope, || collect(stdout, &shared.temp_dir));
            let read = messages::read(BufReader::new(stderr), |line| note(shared, id, line));
            let output = output.and_then(|thread| {
                thread.join().unwrap_or_else(|_panic| Err(io::Error::other("the reader panicked")))
            });
            (output, read)
        });
        // The process remains until it is reaped below, so its number cannot be given to another process before the
        // table is locked.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ended = retry_on_intr(|| waitid(WaitId::Pid(pid), options));
        let mut table = shared.table.lock();
        let status = child.wait();
        if let Some(entry) = table.get_mut(id) {
            entry.pid = None;
            let errors = [output.as_ref().err(), read.as_ref().err(), status.as_ref().err()];
            for error in errors.into_iter().flatten() {
                add_message(
                    entry.job_mut(),
                    &format!("cannot read the result of the job: {}", fsops::io_text(error)),
                );
            }
            entry.job_mut().result = output.as_ref().ok().and_then(document);
            entry.output = output.ok();
            entry.plan = plan.and_then(|file| Output::of_file(file).ok());
            end(entry.job_mut(), status.ok());
            if !entry.job.has_succeeded() {
                // An incomplete plan must not be applied.
                entry.plan = None;
            }
        }
        drop(table);
        shared.note_end();
    }
}

/// Returns a small output as a document.
fn document(output: &Output) -> Option<serde_json::Value> {
    let bytes = output.in_memory().filter(|_| output.len() <= MAX_RESULT_BYTES)?;
    serde_json::from_slice(bytes).ok()
}

fn end(job: &mut Job, status: Option<ExitStatus>) {
    job.ended_ms = Some(now_ms());
    job.exit_code = status.and_then(|status| status.code());
    job.signal = status.and_then(|status| status.signal());
}

/// Adds a line of standard error to the state of a job.
fn note(shared: &Shared, id: JobId, line: Line) {
    let mut table = shared.table.lock();
    let Some(entry) = table.get_mut(id) else { return };
    match line {
        Line::Progress(progress) => entry.job_mut().progress = Some(progress),
        Line::Error(error) => entry.job_mut().error = Some(error),
        Line::Message(text) => add_message(entry.job_mut(), &text),
    }
    drop(table);
    shared.note_change();
}

fn add_message(job: &mut Job, text: &str) {
    job.messages_total += 1;
    if job.messages.len() < MAX_MESSAGES {
        job.messages.push(text.chars().take(MAX_MESSAGE_LENGTH).collect());
    }
}
