//! Problems with single paths, printed one per line on standard error as `lop: PATH: reason`.
//!
//! All commands use this module to print the problems from all libraries. Without `-v`, at most [`MAX_LINES`] lines
//! are printed, and a reason that concerns a whole file system is printed once, with the number of files. The
//! libraries keep a limited number of problems, so `-v` may not show all of them either.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use action::plan::Kind;
use fsops::Op;

use crate::error::io_text;
use crate::quantity::{count, counted};
use crate::settings::{Settings, Verbosity};

/// Maximum number of lines without `-v`. More lines would bury the rest of the output.
const MAX_LINES: usize = 20;

/// A problem with one path.
pub(crate) trait PathProblem {
    /// Returns the path to print.
    fn path(&self) -> Cow<'_, [u8]>;

    /// Returns the reason as text for people.
    fn reason(&self) -> String;

    /// Returns whether the reason concerns the whole file system and may therefore apply to many files.
    fn concerns_file_system(&self) -> bool {
        false
    }
}

/// Prints problems.
pub(crate) fn print<'p, P: PathProblem + 'p>(
    problems: impl IntoIterator<Item = &'p P>,
    settings: &Settings,
) {
    let problems: Vec<&P> = problems.into_iter().collect();
    print_some(problems.iter().copied(), problems.len() as u64, settings);
}

/// Prints the problems that a library kept. `total` is the number of problems that occurred.
pub(crate) fn print_some<'p, P: PathProblem + 'p>(
    problems: impl IntoIterator<Item = &'p P>,
    total: u64,
    settings: &Settings,
) {
    let is_verbose = settings.verbosity == Verbosity::Verbose;
    let (mut single, mut shared) = (Vec::new(), BTreeMap::<String, Vec<&P>>::new());
    for problem in problems {
        if problem.concerns_file_system() && !is_verbose {
            shared.entry(problem.reason()).or_default().push(problem);
        } else {
            single.push(problem);
        }
    }
    let mut printed = 0;
    for (reason, problems) in &shared {
        printed += problems.len() as u64;
        match problems[..] {
            [one] => settings.complain(&line(one)),
            ref many => {
                let files = counted(many.len() as u64, "file", "files");
                settings.complain(format!("{files}: {reason}").as_bytes());
            }
        }
    }
    let shown = if is_verbose { single.len() } else { single.len().min(MAX_LINES) };
    single[..shown].iter().for_each(|problem| settings.complain(&line(*problem)));
    printed += shown as u64;
    if total > printed {
        let hint = if is_verbose { "" } else { " (-v shows more)" };
        settings.complain(format!("… and {} more{hint}", count(total - printed)).as_bytes());
    }
}

/// Returns the message about entries that could not be examined.
pub(crate) fn unexamined(problems: u64) -> String {
    format!("{} could not be examined", counted(problems, "entry", "entries"))
}

/// Returns the reason why an operation failed, such as "cannot open: Permission denied".
pub(crate) fn failed_to(op: Op, source: &io::Error) -> String {
    format!("cannot {}: {}", op.verb(), io_text(source))
}

fn line(problem: &impl PathProblem) -> Vec<u8> {
    [&*problem.path(), b": ", problem.reason().as_bytes()].concat()
}

impl PathProblem for walk::Problem {
    fn path(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.path)
    }

    fn reason(&self) -> String {
        use walk::Reason;
        match &self.reason {
            // "No such file or directory" is clear without the name of the operation.
            Reason::Failed { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                io_text(source)
            }
            Reason::Failed { op, source } => failed_to(*op, source),
            other => other.to_string(),
        }
    }
}

impl PathProblem for purge::Problem {
    fn path(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.path)
    }

    fn reason(&self) -> String {
        match &self.reason {
            purge::Reason::Failed { op, source } => failed_to(*op, source),
            other => other.to_string(),
        }
    }
}

impl PathProblem for action::Refusal {
    fn path(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.path)
    }

    fn reason(&self) -> String {
        use action::Reason;
        let shown = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
        let reason = &self.reason;
        match reason {
            Reason::Failed { op, source } => failed_to(*op, source),
            Reason::KeptFailed { op, source } => {
                format!("cannot {} the kept file: {}", op.verb(), io_text(source))
            }
            Reason::Unsupported { kind: Kind::Reflink, .. } => {
                format!("{reason}; try --by hardlink")
            }
            Reason::Unsupported { .. } => format!("{reason}; try another kind"),
            Reason::Directory { at, source } => {
                format!("cannot change names in {}: {}", shown(at), io_text(source))
            }
            Reason::Staging { at, source } => {
                let hint =
                    if reason.is_full() { "; a few KiB of free space are enough" } else { "" };
                format!("cannot use {}: {}{hint}", shown(at), io_text(source))
            }
            Reason::NotPrivate { .. } => {
                format!("{reason}; mount a file system without permissions with umask=077")
            }
            Reason::MaybeAlias { .. } => {
                format!("{reason}; keep another file, or pass its directory with --distinct DIR")
            }
            other => other.to_string(),
        }
    }

    fn concerns_file_system(&self) -> bool {
        self.reason.is_of_file_system()
    }
}

#[cfg(test)]
mod tests {
    use fsops::Op;
    use walk::{Problem, Reason};

    use super::line;

    #[test]
    fn a_line_is_the_path_and_the_reason() {
        let failed = |errno| Reason::Failed {
            op: Op::List,
            source: std::io::Error::from_raw_os_error(errno),
        };
        for (reason, text) in [
            (failed(13), &b"d\xff: cannot list: Permission denied"[..]),
            (failed(2), b"d\xff: No such file or directory"),
            (Reason::Changed, b"d\xff: changed while it was read"),
        ] {
            assert_eq!(line(&Problem { path: b"d\xff".to_vec(), reason }), text);
        }
    }
}
