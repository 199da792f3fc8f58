//! Runs lop processes, which examine files or act on them.
//!
//! A process gets absolute paths after `--`, writes JSON to pipes, and has its own process group. If this
//! program ends first, the process loses only the readers of its output.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{ChildStderr, Command, Stdio};
use std::sync::Arc;

use action::plan::Kind;
use runtime::Mutex;
use runtime::quantity::{counted, size};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use serde_json::Value;

use super::Acted;
use super::documents::{PlanFile, Related, Relation, Uniques};

/// The plan file of a process: its standard input, which is an unnamed file.
const PLAN_FILE: &str = "/proc/self/fd/0";
/// The exit code after an interruption.
const INTERRUPTED: i32 = 130;
/// Maximum number of messages that [`Printed`] stores. It drops further messages.
const MAX_MESSAGES: usize = 200;
/// Maximum length of a line on standard error. The reader divides longer lines.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// Stops a process.
#[derive(Clone, Debug, Default)]
pub(super) struct Stop(Arc<Mutex<Wanted>>);

#[derive(Debug, Default)]
struct Wanted {
    is_stopped: bool,
    /// The process, until it is reaped.
    process: Option<Pid>,
}

impl Stop {
    /// Interrupts the process, as Ctrl-C does. The process ends after the file that it is working on. A process that
    /// has not started yet does not start.
    pub(super) fn stop(&self) {
        let mut wanted = self.0.lock();
        wanted.is_stopped = true;
        if let Some(process) = wanted.process {
            // The process may have ended, but it still exists, because it is not reaped.
            let _ended = kill_process(process, Signal::INT);
        }
    }
}

/// A lop process that has not started yet.
pub(super) struct Lop(Command);

/// The output of a process and its exit status.
struct Printed {
    document: Vec<u8>,
    messages: Vec<String>,
    error: Option<String>,
    code: Option<i32>,
}

/// A document on standard error.
#[derive(Deserialize)]
struct Record {
    progress: Option<Text>,
    error: Option<Message>,
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

type Tell<'a> = &'a mut dyn FnMut(String);

impl Lop {
    pub(super) fn new(program: &Path, catalog: &Path) -> Lop {
        let mut command = Command::new(program);
        command.current_dir("/").arg("--catalog").arg(catalog);
        command.args(["--json", "--progress", "json"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0);
        Lop(command)
    }

    /// Compares the folders below a path.
    pub(super) fn folders(
        mut self,
        dir: &[u8],
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<Related, String> {
        self.0.args(["report", "--dirs", "--"]).arg(OsStr::from_bytes(dir));
        let printed = self.run(stop, tell)?;
        printed.check(&[0, 3])?;
        let relations = Relation::read(&printed.document).map_err(|error| unreadable(&error))?;
        Ok(Related { relations, remarks: printed.remarks() })
    }

    /// Finds the files below a path that have no copy outside.
    pub(super) fn uniques(
        mut self,
        dir: &[u8],
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<Uniques, String> {
        self.0.args(["uniques", "--"]).arg(OsStr::from_bytes(dir));
        let printed = self.run(stop, tell)?;
        printed.check(&[0, 3, 6])?;
        let mut uniques = Uniques::read(&printed.document).map_err(|error| unreadable(&error))?;
        uniques.is_complete &= printed.code != Some(3);
        uniques.remarks = printed.remarks();
        Ok(uniques)
    }

    /// Makes a plan from the decisions, and writes it to an empty file. Changes no other file.
    pub(super) fn plan(
        mut self,
        kind: Kind,
        file: File,
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<PlanFile, String> {
        let theirs = file.try_clone().map_err(|error| error.to_string())?;
        self.0.args(["dedupe", "--verbose", "--decided", "--by", kind.word()]);
        self.0.args(["--save-plan", PLAN_FILE]).stdin(theirs);
        let printed = self.run(stop, tell)?;
        printed.check(&[0, 3])?;
        let frees = printed.summary("reclaimable_bytes");
        PlanFile::index(file, frees, printed.remarks()).map_err(|error| error.to_string())
    }

    /// Carries out a plan.
    pub(super) fn apply(
        mut self,
        plan: File,
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<Acted, String> {
        self.0.args(["dedupe", "--verbose", "--apply", "--yes", "--plan", PLAN_FILE]).stdin(plan);
        let printed = self.run(stop, tell)?;
        printed.check(&[0, 3, INTERRUPTED])?;
        let run = Some(printed.summary("run")).filter(|run| *run > 0);
        let done = counted(printed.summary("done"), "file", "files");
        let mut text = match run {
            Some(run) => format!("Run {run}: {done} changed"),
            None => "There was nothing to do".to_string(),
        };
        let freed = printed.summary("freed_bytes");
        text.push_str(&if freed > 0 { format!(", {} freed", size(freed)) } else { String::new() });
        Ok(printed.acted(text, run))
    }

    /// Restores the files that a run changed.
    pub(super) fn undo(mut self, run: u64, stop: &Stop, tell: Tell<'_>) -> Result<Acted, String> {
        self.0.args(["undo", "--verbose", &run.to_string()]);
        let printed = self.run(stop, tell)?;
        printed.check(&[0, 3, INTERRUPTED])?;
        let restored = counted(printed.summary("restored"), "file", "files");
        Ok(printed.acted(format!("Run {run} undone: {restored} restored"), None))
    }

    fn run(self, stop: &Stop, tell: Tell<'_>) -> Result<Printed, String> {
        let Lop(mut command) = self;
        let mut child = {
            let mut wanted = stop.0.lock();
            if wanted.is_stopped {
                return Err("stopped".into());
            }
            let child = command.spawn().map_err(|error| format!("cannot start lop: {error}"))?;
            wanted.process = Some(Pid::from_child(&child));
            child
        };
        // This closes the descriptor of the plan file that `command` holds.
        drop(command);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut printed =
            Printed { document: Vec::new(), messages: Vec::new(), error: None, code: None };
        std::thread::scope(|scope| {
            let document = scope.spawn(|| {
                let mut document = Vec::new();
                let read = stdout.map(|mut from| from.read_to_end(&mut document));
                (document, read)
            });
            if let Some(stderr) = stderr {
                printed.read_messages(stderr, &mut *tell);
            }
            if let Ok((document, _)) = document.join() {
                printed.document = document;
            }
        });
        let mut wanted = stop.0.lock();
        wanted.process = None;
        let status = child.wait().map_err(|error| format!("lop was lost: {error}"))?;
        // After a clean stop, lop ends itself with the signal that stopped it.
        let interrupted = status.signal().filter(|&signal| signal == Signal::INT.as_raw());
        printed.code = status.code().or(interrupted.map(|_| INTERRUPTED));
        Ok(printed)
    }
}

impl Printed {
    /// Reads standard error to its end. A process whose output nobody reads would wait forever.
    fn read_messages(&mut self, stderr: ChildStderr, tell: Tell<'_>) {
        let (mut from, mut line) = (BufReader::new(stderr), Vec::new());
        while matches!(from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line), Ok(1..)) {
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if text.starts_with('{') {
                let Ok(record) = serde_json::from_str::<Record>(&text) else { continue };
                if let Some(progress) = record.progress {
                    tell(progress.text);
                }
                self.error = record.error.map(|error| error.message).or(self.error.take());
            } else if !text.is_empty() && self.messages.len() < MAX_MESSAGES {
                let text = text.strip_prefix("lop: ").unwrap_or(&text);
                self.messages.push(text.to_owned());
            }
        }
    }

    /// Fails unless the process ended with one of these exit codes.
    fn check(&self, allowed: &[i32]) -> Result<(), String> {
        match self.code {
            Some(code) if allowed.contains(&code) => Ok(()),
            None => Err("lop was killed".into()),
            Some(code) => {
                let last = || self.messages.last().cloned();
                Err(self.error.clone().or_else(last).unwrap_or(format!("lop failed with {code}")))
            }
        }
    }

    /// Returns the number `key` of the summary, or 0 if the summary does not contain it.
    fn summary(&self, key: &str) -> u64 {
        let document: Option<Value> = serde_json::from_slice(&self.document).ok();
        document.and_then(|document| document.get("summary")?.get(key)?.as_u64()).unwrap_or(0)
    }

    fn acted(self, mut text: String, run: Option<u64>) -> Acted {
        let failed = self.summary("failed");
        if failed > 0 {
            text.push_str(&format!(", {} left alone", counted(failed, "file", "files")));
        }
        if self.code == Some(INTERRUPTED) {
            text.push_str("; interrupted");
        }
        Acted { text, run, done: self.summary("done"), messages: self.remarks() }
    }

    /// Returns the reason why the result is incomplete, if the process gave one, and then the messages.
    fn remarks(self) -> Vec<String> {
        let why = self.error.filter(|why| !why.is_empty());
        why.into_iter().chain(self.messages).collect()
    }
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("cannot read the answer of lop: {error}")
}
