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
use runtime::quantity::{count, counted, size};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;

use super::Acted;
use super::documents::{PlanFile, Related, Relation, Summary, Uniques};
use crate::text::files_of;

/// The plan file of a process: its standard input, which is an unnamed file.
const PLAN_FILE: &str = "/proc/self/fd/0";
/// The exit code after an interruption.
const INTERRUPTED: i32 = 130;
/// Maximum number of messages that [`Printed`] stores. It only counts further messages.
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
    /// has not started yet does not start. Further calls have no effect, because a second signal would end the process
    /// at once, without a result.
    pub(super) fn stop(&self) {
        let mut wanted = self.0.lock();
        if std::mem::replace(&mut wanted.is_stopped, true) {
            return;
        }
        if let Some(process) = wanted.process {
            // The process may have ended, but it still exists, because it is not reaped.
            let _ended = kill_process(process, Signal::INT);
        }
    }
}

/// A lop process that has not started yet.
pub(super) struct Lop(Command);

/// The output of a process and its exit status.
#[derive(Default)]
struct Printed {
    document: Vec<u8>,
    messages: Vec<String>,
    /// Number of messages that are not stored.
    more: u64,
    error: Option<String>,
    /// The exit code. `None` if a signal killed the process.
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
        let frees = printed.summary().reclaimable_bytes;
        PlanFile::index(file, frees, printed.remarks()).map_err(|error| error.to_string())
    }

    /// Carries out a plan with actions of this kind.
    pub(super) fn apply(
        mut self,
        kind: Kind,
        plan: File,
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<Acted, String> {
        self.0.args(["dedupe", "--verbose", "--apply", "--yes", "--plan", PLAN_FILE]).stdin(plan);
        let printed = self.run(stop, tell)?;
        let Summary { run, done, failed, freed_bytes, .. } = printed.summary();
        if run == 0 {
            printed.check_result("run")?;
            return Ok(printed.acted("There was nothing to do".into()));
        }
        let mut text = format!("Run {run}: {} changed", counted(done, "file", "files"));
        if freed_bytes > 0 {
            text.push_str(&format!(", {} freed", size(freed_bytes)));
        }
        if failed > 0 {
            text.push_str(&format!(", {} left alone", counted(failed, "file", "files")));
        }
        let can_be_undone = done > 0 && kind != Kind::Reflink;
        Ok(Acted { run: can_be_undone.then_some(run), done, ..printed.acted(text) })
    }

    /// Restores the files that a run changed. `kind` is the action of the run.
    pub(super) fn undo(
        mut self,
        run: u64,
        kind: Kind,
        stop: &Stop,
        tell: Tell<'_>,
    ) -> Result<Acted, String> {
        self.0.args(["undo", "--verbose", &run.to_string()]);
        let printed = self.run(stop, tell)?;
        let Summary { run: reported, restored, other_owner, failed, .. } = printed.summary();
        if reported == 0 {
            printed.check_result("undo")?;
        }
        let (files, unrestored) = (files_of(kind, restored), files_of(kind, failed));
        let mut text = match (restored, failed) {
            (0, 0) if printed.code == Some(0) => format!("Run {run}: nothing is left to restore"),
            (0, 0) => format!("Run {run}: nothing restored"),
            (_, 0) if printed.is_complete() => format!("Run {run} undone: {files} restored"),
            (_, 0) => format!("Run {run}: {files} restored"),
            (0, _) => format!("Run {run}: nothing restored, {unrestored} could not be"),
            _ => format!("Run {run}: {files} restored, {} could not be", count(failed)),
        };
        if other_owner > 0 {
            let them = count(other_owner);
            text.push_str(&format!(", {them} with another owner or group than before"));
        }
        Ok(printed.acted(text))
    }

    fn run(self, stop: &Stop, tell: Tell<'_>) -> Result<Printed, String> {
        let Lop(mut command) = self;
        let mut child = {
            let mut wanted = stop.0.lock();
            if wanted.is_stopped {
                return Err("Stopped before lop started. No file was changed.".into());
            }
            let child = command.spawn().map_err(|error| format!("cannot start lop: {error}"))?;
            wanted.process = Some(Pid::from_child(&child));
            child
        };
        // This closes the descriptor of the plan file that `command` holds.
        drop(command);
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut printed = Printed::default();
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
    /// Reads standard error to its end, and passes the progress and the messages to `tell`. A process whose output
    /// nobody reads would wait forever.
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
            } else if !text.is_empty() {
                let text = text.strip_prefix("lop: ").unwrap_or(&text);
                // The process may print this message before it waits for another process.
                tell(text.to_owned());
                if self.messages.len() < MAX_MESSAGES {
                    self.messages.push(text.to_owned());
                } else {
                    self.more += 1;
                }
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

    /// Fails unless a process that printed no result had nothing to do. A process that was interrupted or killed may
    /// have changed files before. `name` is the name of its work.
    fn check_result(&self, name: &str) -> Result<(), String> {
        let how = match self.code {
            Some(INTERRUPTED) => "interrupted",
            None => "killed",
            Some(_) => return self.check(&[0, 3]),
        };
        Err(format!(
            "The {name} was {how} before it reported its result. Press 5 to see what it changed."
        ))
    }

    /// Returns whether the process has done all its work, except for files that it had to leave alone.
    fn is_complete(&self) -> bool {
        matches!(self.code, Some(0 | 3))
    }

    fn summary(&self) -> Summary {
        Summary::read(&self.document)
    }

    /// Returns the result of a run or an undo, which the user cannot undo.
    fn acted(self, mut text: String) -> Acted {
        if matches!(self.code, Some(INTERRUPTED) | None) {
            text.push_str("; interrupted");
        }
        Acted { text, messages: self.remarks(), ..Acted::default() }
    }

    /// Returns the reason why the result is incomplete, if the process gave one, and then the messages.
    fn remarks(self) -> Vec<String> {
        let why = self.error.filter(|why| !why.is_empty());
        let more = (self.more > 0)
            .then(|| format!("… and {}", counted(self.more, "more message", "more messages")));
        why.into_iter().chain(self.messages).chain(more).collect()
    }
}

fn unreadable(error: &serde_json::Error) -> String {
    format!("cannot read the answer of lop: {error}")
}
