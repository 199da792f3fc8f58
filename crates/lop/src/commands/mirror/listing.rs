//! Lists changes while a tree is mirrored: a line each, or one JSON document.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use fsops::Watch;
use mirror::{Change, Outcome, Tell};

use super::account::{Account, Line, line};
use crate::args::MirrorArgs;
use crate::error::CommandError;
use crate::formats::to_json;
use crate::monitor::Monitor;
use crate::output;
use crate::patterns::Patterns;
use crate::settings::Settings;

/// What came of it, and whether it went to its end.
pub(super) type Ended = (Outcome, Result<(), CommandError>);

/// Mirrors, and tells of changes.
pub(super) type Work<'w> = &'w mut dyn FnMut(Option<Tell<'_>>) -> Ended;

/// Mirrors, and lists changes one a line, if they are wanted.
pub(super) fn listed(
    lists: bool,
    watch: &Arc<Watch>,
    settings: &Settings,
    work: Work<'_>,
) -> Result<Ended, CommandError> {
    let monitor = Monitor::begin(watch, settings)?;
    let mut ended = None;
    output::print(|out| {
        let lines = Lines::new(out);
        let tell = |change: &Change| {
            lines.write(&line(change, settings.stdout.names));
        };
        ended = Some(work(lists.then_some(&tell)));
        lines.end()
    })?;
    finish(ended, monitor)
}

/// Mirrors, and prints one document with the changes, if they are wanted, and the summary.
pub(super) fn listed_as_json(
    lists: bool,
    watch: &Arc<Watch>,
    settings: &Settings,
    (args, patterns, start): (&MirrorArgs, &Patterns, Instant),
    work: Work<'_>,
) -> Result<Ended, CommandError> {
    let monitor = Monitor::begin(watch, settings)?;
    let mut ended = None;
    output::print(|out| {
        let lines = Lines::new(out);
        lines.write(if lists { b"{\"changes\":[" } else { b"{" });
        let first = Mutex::new(true);
        let tell = |change: &Change| {
            let mut first = first.lock().unwrap_or_else(PoisonError::into_inner);
            let comma = if std::mem::take(&mut *first) { "\n" } else { ",\n" };
            lines.write(format!("{comma}{}", to_json(&Line::of(change))).as_bytes());
        };
        let (outcome, end) = work(lists.then_some(&tell));
        let summary = to_json(&Account::new(&outcome, args, patterns, start.elapsed()));
        let before = if lists { "\n],\n" } else { "" };
        lines.write(format!("{before}\"summary\":{summary}}}\n").as_bytes());
        ended = Some((outcome, end));
        lines.end()
    })?;
    finish(ended, monitor)
}

fn finish(ended: Option<Ended>, monitor: Monitor) -> Result<Ended, CommandError> {
    let seen = monitor.finish();
    let (outcome, end) = ended.ok_or_else(|| CommandError::failed("nothing was done"))?;
    // That a connection is lost on Ctrl-C is what Ctrl-C is for.
    Ok((outcome, seen.map_err(CommandError::from).and(end)))
}

/// What several threads print to. If it cannot be written, as nobody reads it any more, the work goes on:
/// half a mirror is worth less than an unread list.
struct Lines<'o> {
    out: Mutex<(&'o mut (dyn Write + Send), io::Result<()>)>,
}

impl<'o> Lines<'o> {
    fn new(out: &'o mut (dyn Write + Send)) -> Lines<'o> {
        Lines { out: Mutex::new((out, Ok(()))) }
    }

    fn write(&self, bytes: &[u8]) {
        let mut out = self.out.lock().unwrap_or_else(PoisonError::into_inner);
        if out.1.is_ok() {
            out.1 = out.0.write_all(bytes);
        }
    }

    fn end(self) -> io::Result<()> {
        self.out.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}
