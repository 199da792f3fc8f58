//! Reports of a receiver that the sender's lop started: the receiver's side sends them, the pushing side shows them to
//! its user.

use std::cell::RefCell;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fsops::{FileKey, Kind};
use runtime::{Progress, Stage};
use wire::{ConnectionError, FromReceiver, Incoming, Outgoing, Summary};

use crate::model::change::{Change, Differences};
use crate::model::reason::{Problem, Reason};
use crate::outcome::Outcome;
use crate::remote::sender::{ReportingUser, send_to};
use crate::roots::{Roots, Source};
use crate::run::{Audience, receive_for};
use crate::{Options, User};

/// How often the receiver reports its progress.
const PERIOD: Duration = Duration::from_millis(100);

/// Sends a tree to a receiver. Returns the outcome as the receiver reports it, and whether the run completed.
///
/// # Errors
///
/// Fails if the connection ends before its time. The counts are then those of the last report.
pub fn push(
    source: &Source,
    not_into: Option<FileKey>,
    options: &Options,
    progress: &Progress,
    user: User<'_>,
    incoming: &mut Incoming<File>,
    out: &Outgoing<File>,
) -> (Outcome, Result<(), ConnectionError>) {
    let received = RefCell::new((Outcome::default(), false));
    let on_message = |message: &FromReceiver<'_>| {
        let (outcome, stopped) = &mut *received.borrow_mut();
        match message {
            FromReceiver::Changed(change) => {
                if let Some(on_change) = user.on_change {
                    on_change(&Change::from_wire(change));
                }
            }
            FromReceiver::Progress { names, bytes, removed, so_far: running_totals } => {
                progress.files_done.fetch_max(*names, Relaxed);
                progress.bytes_done.fetch_max(*bytes, Relaxed);
                if progress.removed_done.fetch_max(*removed, Relaxed) < *removed {
                    progress.enter(Stage::Purge);
                }
                outcome.set_counts(running_totals);
            }
            FromReceiver::Problem(problem) => {
                let wire::Problem { path, text, of_source, cause } = *problem;
                let reason = Reason::Remote { text: text.into(), of_source, cause };
                outcome.add_problem(|| Problem { path: path.to_vec(), reason });
            }
            FromReceiver::LeftOut { why, path } => {
                outcome.add_left_out_path(*why, || path.to_vec());
            }
            FromReceiver::Finished(summary) => {
                outcome.set_counts(summary);
                options.note_matched(summary.matched);
                *stopped = summary.stopped;
            }
            _ => {}
        }
    };
    let consent = user.consent.unwrap_or(&|_| true);
    let ended = send_to(
        source,
        not_into,
        options,
        progress,
        incoming,
        out,
        Some(ReportingUser { on_message: &on_message, consent }),
    );
    let (mut outcome, stopped) = received.into_inner();
    outcome.is_lower_bound = ended.is_err() && !stopped;
    // A receiver that the user stopped ends the connection.
    let stopped = if stopped && !progress.poll_stop() {
        Err(ConnectionError::StoppedRemotely)
    } else {
        Ok(())
    };
    (outcome, stopped.and(ended))
}

/// What the user of a pushing lop wants to see.
#[derive(Clone, Copy, Debug)]
pub struct Reports {
    /// Whether to report each change.
    pub lists: bool,
    /// Whether to ask before anything is deleted.
    pub asks: bool,
}

/// Receives a tree from a lop that pushes it, and reports to that lop. `text` phrases the reasons of problems.
///
/// # Errors
///
/// Fails if the connection ends before its time.
pub fn receive_and_report(
    roots: &Roots,
    options: &Options,
    progress: &Progress,
    Reports { lists, asks }: Reports,
    text: &dyn Fn(&Reason) -> String,
    incoming: &mut Incoming<File>,
    out: &Arc<Outgoing<File>>,
) -> Result<(), ConnectionError> {
    let (is_done, running_totals) = (AtomicBool::new(false), Mutex::default());
    let on_change = |change: &Change| {
        // A lost connection is noticed where messages are read.
        let _unheard = out.send(&FromReceiver::Changed(change.to_wire()), &[]);
    };
    let (outcome, ended) = std::thread::scope(|scope| {
        let reporter = scope.spawn(|| {
            while !is_done.load(Relaxed) {
                std::thread::park_timeout(PERIOD);
                let names = progress.files_done.load(Relaxed);
                let bytes = progress.bytes_done.load(Relaxed);
                let removed = progress.removed_done.load(Relaxed);
                let running_totals = *running_totals.lock().unwrap_or_else(PoisonError::into_inner);
                let progress =
                    FromReceiver::Progress { names, bytes, removed, so_far: running_totals };
                let _unheard = out.send(&progress, &[]);
                let _unheard = out.flush();
            }
        });
        let user = if lists { User::reporting_to(&on_change) } else { User::default() };
        let audience = Audience { user, asks_sender: asks, running_totals: Some(&running_totals) };
        let received = receive_for(roots, options, progress, audience, incoming, out);
        is_done.store(true, Relaxed);
        reporter.thread().unpark();
        received
    });
    for problem in &outcome.problems {
        let text = text(&problem.reason);
        let (of_source, cause) = (problem.reason.is_of_source(), problem.reason.cause());
        let problem = wire::Problem { path: &problem.path, text: &text, of_source, cause };
        match out.send(&FromReceiver::Problem(problem), &[]) {
            // The path is longer than a message. The counts still include the problem.
            Ok(()) | Err(ConnectionError::ProtocolViolation(_)) => {}
            lost => lost?,
        }
    }
    for (why, path) in &outcome.left_out_paths {
        match out.send(&FromReceiver::LeftOut { why: *why, path }, &[]) {
            Ok(()) | Err(ConnectionError::ProtocolViolation(_)) => {}
            lost => lost?,
        }
    }
    let stopped = matches!(ended, Err(ConnectionError::Stopped));
    let summary = Summary { stopped, matched: options.matched(), ..outcome.summary() };
    out.send(&FromReceiver::Finished(summary), &[])?;
    out.flush()?;
    ended
}

impl Change {
    fn to_wire(&self) -> wire::Change<'_> {
        let bits = self.differences.all().into_iter().enumerate();
        let differences =
            bits.fold(0, |bits, (bit, differences)| bits | u8::from(differences) << bit);
        let (path, size, to) = (&self.path[..], self.size, self.to.as_deref());
        wire::Change {
            action: self.action,
            path,
            file_type: self.kind.mode_bits(),
            size,
            to,
            differs: differences,
        }
    }

    fn from_wire(message: &wire::Change<'_>) -> Change {
        let differences = |bit: u8| message.differs & 1 << bit != 0;
        Change {
            action: message.action,
            path: message.path.to_vec(),
            kind: Kind::of_mode(message.file_type),
            size: message.size,
            to: message.to.map(<[u8]>::to_vec),
            differences: Differences {
                kind: differences(0),
                content: differences(1),
                time: differences(2),
                mode: differences(3),
                owner: differences(4),
                xattrs: differences(5),
                links: differences(6),
            },
        }
    }
}

impl Differences {
    /// Returns whether each kind of difference applies, in the order of the protocol.
    fn all(self) -> [bool; 7] {
        let Differences { kind, content, time, mode, owner, xattrs, links } = self;
        [kind, content, time, mode, owner, xattrs, links]
    }
}

#[cfg(test)]
mod tests {
    use fsops::Kind;

    use crate::model::change::{Change, Differences};
    use wire::Action;

    #[test]
    fn a_change_survives_the_protocol() {
        let differences =
            Differences { kind: true, mode: true, links: true, ..Differences::default() };
        for (action, kind, size) in [
            (Action::New, Kind::File, Some(5)),
            (Action::Replaced, Kind::Symlink, None),
            (Action::Linked, Kind::Unknown, None),
            (Action::Adjusted, Kind::Fifo, None),
            (Action::Removed, Kind::Dir, None),
            (Action::New, Kind::Socket, None),
            (Action::New, Kind::Device, None),
        ] {
            let (path, to) = (b"a\xff".to_vec(), Some(b"b".to_vec()));
            let change = Change { action, path, kind, size, to, differences };
            let received = Change::from_wire(&change.to_wire());
            assert_eq!((received.action, received.kind, received.size), (action, kind, size));
            assert_eq!(
                (received.path, received.to, received.differences),
                (change.path, change.to, differences)
            );
        }
    }
}
