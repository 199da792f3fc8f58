//! Prints the names that could not be mirrored, one per line. If many names fail for the same cause, a single line
//! reports the cause.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use mirror::{Cause, Outcome, Problem, Reason};

use crate::args::MirrorArgs;
use crate::error::io_text;
use crate::output::problems::{self, PathProblem};
use crate::quantity::{count, counted};
use crate::settings::{Settings, Verbosity};

/// Returns the reason for a failure as human-readable text.
pub(super) fn reason_text(reason: &Reason) -> String {
    match reason {
        Reason::Source { op, source }
        | Reason::Destination { op, source }
        | Reason::Unremoved(purge::Reason::Failed { op, source }) => {
            // The path comes before this text, so the "of" in "read the attributes of" would have no object.
            let verb = op.verb().strip_suffix(" of").unwrap_or(op.verb());
            format!("cannot {verb}: {}", io_text(source))
        }
        other => other.to_string(),
    }
}

/// A problem. The path begins with the source or the destination as the user typed it.
struct MirrorProblem {
    path: Vec<u8>,
    reason: String,
}

impl PathProblem for MirrorProblem {
    fn path(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(&self.path)
    }

    fn reason(&self) -> String {
        self.reason.clone()
    }
}

/// Prints each name that could not be mirrored, with the reason.
pub(super) fn print(outcome: &Outcome, args: &MirrorArgs, settings: &Settings) {
    let all = settings.verbosity == Verbosity::Verbose;
    let is_single = |problem: &&Problem| all || problem.reason.cause().is_none();
    let placed = |problem: &Problem| {
        let top = if problem.reason.is_of_source() { &args.source } else { &args.destination };
        MirrorProblem { path: path(top, &problem.path), reason: reason_text(&problem.reason) }
    };
    let blocked: u64 = if all { 0 } else { outcome.counts.blocked.iter().sum() };
    let single: Vec<_> = outcome.problems.iter().filter(is_single).map(placed).collect();
    problems::print_some(&single, outcome.counts.failed.saturating_sub(blocked), settings);
    for cause in [Cause::Full, Cause::Quota, Cause::ReadOnly] {
        let names = outcome.counts.blocked[cause as usize];
        if names > 0 {
            settings.complain(&blocked_text(
                cause,
                &args.destination,
                names,
                outcome.counts.missing,
            ));
        }
    }
}

/// Returns the message about names that could not be written to the destination because of `cause`.
fn blocked_text(cause: Cause, destination: &OsStr, names: u64, missing: u64) -> Vec<u8> {
    let why = match cause {
        Cause::Full => "is full",
        Cause::Quota => "has used up the disk quota",
        Cause::ReadOnly => "is read-only",
    };
    let names = counted(names, "name", "names");
    let below =
        if missing > 0 { format!(", and {} below them", count(missing)) } else { String::new() };
    let text = format!(" {why}: {names} not mirrored{below}");
    [path(destination, b"").as_slice(), text.as_bytes()].concat()
}

/// Joins a top directory, as the user typed it, and a path below it.
fn path(top: &OsStr, below: &[u8]) -> Vec<u8> {
    let top = top.as_bytes();
    if below.is_empty() {
        return top.to_vec();
    }
    // No slash is inserted after a colon: it would make a path absolute that is relative to the remote home directory.
    let is_open = top.ends_with(b"/") || top.ends_with(b":");
    [top, if is_open { &b""[..] } else { b"/" }, below].concat()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use mirror::Cause;

    use super::{blocked_text, path};

    #[test]
    fn a_path_begins_as_it_was_typed() {
        for (top, below, whole) in [
            ("perm", "secret", "perm/secret"),
            ("perm/", "secret", "perm/secret"),
            ("/", "a", "/a"),
            ("nas:", "a/b", "nas:a/b"),
            ("nas:x", "a", "nas:x/a"),
            ("perm", "", "perm"),
        ] {
            assert_eq!(path(OsStr::new(top), below.as_bytes()), whole.as_bytes());
        }
    }

    #[test]
    fn a_cause_is_reported_once() {
        let said = |cause, names, missing| {
            String::from_utf8(blocked_text(cause, OsStr::new("/mnt/small"), names, missing))
        };
        assert_eq!(
            said(Cause::Full, 495, 0).unwrap(),
            "/mnt/small is full: 495 names not mirrored"
        );
        assert_eq!(
            said(Cause::Full, 1, 2_190).unwrap(),
            "/mnt/small is full: 1 name not mirrored, and 2,190 below them"
        );
    }
}
