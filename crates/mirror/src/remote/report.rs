//! Progress and results that the receiver of a push reports to the sender, which shows them to the
//! user.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use fsops::FileKey;
use runtime::{Mutex, Progress, Stage, on_panic};
use wire::{Change, ConnectionError, FromReceiver, Incoming, Outgoing};

use crate::model::reason::{Problem, Reason};
use crate::outcome::Outcome;
use crate::remote::sender::{ReportingUser, send_to};
use crate::roots::{Roots, Source};
use crate::run::{Audience, receive_for};
use crate::{Options, User};

/// The interval between progress reports.
const PERIOD: Duration = Duration::from_millis(100);

/// Sends a tree to a receiver. Returns the outcome that the receiver reported, and whether the run
/// completed.
///
/// # Errors
///
/// Fails if the connection ends early. The counts are then those of the last report.
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
                    on_change(change);
                }
            }
            FromReceiver::Progress { names, bytes, removed, so_far } => {
                progress.files_done.fetch_max(*names, Relaxed);
                progress.bytes_done.fetch_max(*bytes, Relaxed);
                if progress.removed_done.fetch_max(*removed, Relaxed) < *removed {
                    progress.enter(Stage::Purge);
                }
                outcome.counts = *so_far;
            }
            FromReceiver::Problem(problem) => {
                let wire::Problem { path, text, of_source, cause } = *problem;
                let reason = Reason::Remote { text: text.into(), of_source, cause };
                outcome.add_problem(|| Problem { path: path.to_vec(), reason });
            }
            FromReceiver::LeftOut { why, path } => {
                outcome.add_left_out_path(*why, || path.to_vec());
            }
            FromReceiver::Finished { counts, matched, stopped: was_stopped } => {
                outcome.counts = *counts;
                options.note_matched(*matched);
                *stopped = *was_stopped;
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
    // If the user did not stop this process, the receiver was stopped on its own host.
    let stopped = if stopped && !progress.poll_stop() {
        Err(ConnectionError::StoppedRemotely)
    } else {
        Ok(())
    };
    (outcome, stopped.and(ended))
}

/// The options for reporting to the user of a push.
#[derive(Clone, Copy, Debug)]
pub struct Reports {
    /// Whether to report each change.
    pub lists: bool,
    /// Whether to ask before anything is deleted.
    pub asks: bool,
}

/// Receives the tree of a push, and reports to the sender. `text` formats the reason of a problem.
///
/// # Errors
///
/// Fails if the connection ends early.
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
        // Ignore errors here, because the receive loop detects a lost connection.
        let _unheard = out.send(&FromReceiver::Changed(Cow::Borrowed(change)), &[]);
    };
    let (outcome, ended) = std::thread::scope(|scope| {
        let reporter = scope.spawn(|| {
            while !is_done.load(Relaxed) {
                std::thread::park_timeout(PERIOD);
                let names = progress.files_done.load(Relaxed);
                let bytes = progress.bytes_done.load(Relaxed);
                let removed = progress.removed_done.load(Relaxed);
                let so_far = *running_totals.lock();
                let progress = FromReceiver::Progress { names, bytes, removed, so_far };
                let _unheard = out.send(&progress, &[]);
                let _unheard = out.flush();
            }
        });
        let _guard = on_panic(|| is_done.store(true, Relaxed));
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
            // The path is too long for a message. The counts still include the problem.
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
    let (counts, matched) = (outcome.counts, options.matched());
    out.send(&FromReceiver::Finished { counts, matched, stopped }, &[])?;
    out.flush()?;
    ended
}
