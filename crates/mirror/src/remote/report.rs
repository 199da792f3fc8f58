//! What a receiver that was started by the sender's lop says of its work, and what that makes of it.

use std::cell::RefCell;
use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use fsops::{FileKey, Kind};
use runtime::{Progress, Stage};
use wire::{Broken, FromReceiver, Incoming, Outgoing, Summary};

use crate::model::change::Change;
use crate::model::change::Differs;
use crate::model::change::What;
use crate::model::reason::Problem;
use crate::model::reason::Reason;
use crate::outcome::Outcome;
use crate::remote::sender::send_to;
use crate::roots::Roots;
use crate::roots::Source;
use crate::run::receive_for;
use crate::{Options, User};

/// How often the other side is told how far it is.
const PERIOD: Duration = Duration::from_millis(100);

/// Sends a tree to the receiver at the other end, and returns what that says came of it, and whether it was done.
///
/// # Errors
///
/// That the conversation ended before its time.
pub fn push(
    source: &Source,
    not_into: Option<FileKey>,
    options: &Options,
    progress: &Progress,
    user: User<'_>,
    talk: (&mut Incoming<File>, &Outgoing<File>),
) -> (Outcome, Result<(), Broken>) {
    let heard = RefCell::new((Outcome::default(), false));
    let hear = |said: &FromReceiver<'_>| {
        let (outcome, stopped) = &mut *heard.borrow_mut();
        match said {
            FromReceiver::Changed(change) => {
                if let Some(tell) = user.tell {
                    tell(&Change::heard(change));
                }
            }
            FromReceiver::Progress { names, bytes, removed, so_far } => {
                progress.files_done.fetch_max(*names, Relaxed);
                progress.bytes_done.fetch_max(*bytes, Relaxed);
                if progress.removed_done.fetch_max(*removed, Relaxed) < *removed {
                    progress.enter(Stage::Purge);
                }
                outcome.take(so_far);
            }
            FromReceiver::Problem(problem) => {
                let wire::Problem { path, text, of_source, cause } = *problem;
                let reason = Reason::Said { text: text.into(), of_source, cause };
                outcome.keep(|| Problem { path: path.to_vec(), reason });
            }
            FromReceiver::LeftOut { why, path } => outcome.keep_left(*why, || path.to_vec()),
            FromReceiver::Finished(summary) => {
                outcome.take(summary);
                options.note_matched(summary.matched);
                *stopped = summary.stopped;
            }
            _ => {}
        }
    };
    let consent = user.consent.unwrap_or(&|_| true);
    let ended = send_to(source, not_into, options, progress, talk, Some((&hear, consent)));
    let (mut outcome, stopped) = heard.into_inner();
    outcome.is_least = ended.is_err() && !stopped;
    // Who was told to stop over there has ended the conversation.
    let stopped = if stopped && !progress.poll_stop() { Err(Broken::StoppedThere) } else { Ok(()) };
    (outcome, stopped.and(ended))
}

/// What the user of a lop that [`push`]es wants to hear of.
#[derive(Clone, Copy, Debug)]
pub struct Reports {
    /// Each change.
    pub lists: bool,
    /// Whether something may be removed, before it is.
    pub asks: bool,
}

/// Receives a tree for a lop that [`push`]es it, and says what comes of it; `text` phrases reasons.
///
/// # Errors
///
/// That the conversation ended before its time.
pub fn receive_and_report(
    roots: &Roots,
    options: &Options,
    progress: &Progress,
    (Reports { lists, asks }, text): (Reports, &dyn Fn(&Reason) -> String),
    (incoming, out): (&mut Incoming<File>, &Arc<Outgoing<File>>),
) -> Result<(), Broken> {
    let (is_done, so_far) = (AtomicBool::new(false), Mutex::default());
    let tell = |change: &Change| {
        // Who does not listen any more is found gone where messages are read.
        let _unheard = out.say(&FromReceiver::Changed(change.said()), &[]);
    };
    let (outcome, ended) = std::thread::scope(|scope| {
        let reporter = scope.spawn(|| {
            while !is_done.load(Relaxed) {
                std::thread::park_timeout(PERIOD);
                let names = progress.files_done.load(Relaxed);
                let bytes = progress.bytes_done.load(Relaxed);
                let removed = progress.removed_done.load(Relaxed);
                let so_far = *so_far.lock().unwrap_or_else(PoisonError::into_inner);
                let progress = FromReceiver::Progress { names, bytes, removed, so_far };
                let _unheard = out.say(&progress, &[]);
                let _unheard = out.flush();
            }
        });
        let user = if lists { User::told(&tell) } else { User::default() };
        let reports = (asks, Some(&so_far));
        let received = receive_for(roots, options, progress, user, reports, (incoming, out));
        is_done.store(true, Relaxed);
        reporter.thread().unpark();
        received
    });
    for problem in &outcome.problems {
        let text = text(&problem.reason);
        let (of_source, cause) = (problem.reason.is_of_source(), problem.reason.cause());
        let problem = wire::Problem { path: &problem.path, text: &text, of_source, cause };
        match out.say(&FromReceiver::Problem(problem), &[]) {
            // Its path is longer than a message; it is counted.
            Ok(()) | Err(Broken::Nonsense(_)) => {}
            lost => lost?,
        }
    }
    for (why, path) in &outcome.left {
        match out.say(&FromReceiver::LeftOut { why: *why, path }, &[]) {
            Ok(()) | Err(Broken::Nonsense(_)) => {}
            lost => lost?,
        }
    }
    let stopped = matches!(ended, Err(Broken::Stopped));
    let summary = Summary { stopped, matched: options.matched(), ..outcome.summary() };
    out.say(&FromReceiver::Finished(summary), &[])?;
    out.flush()?;
    ended
}

impl Change {
    fn said(&self) -> wire::Change<'_> {
        let what = match self.what {
            What::New => wire::What::New,
            What::Replaced => wire::What::Replaced,
            What::Linked => wire::What::Linked,
            What::Adjusted => wire::What::Adjusted,
            What::Removed => wire::What::Removed,
            What::Reused => wire::What::Reused,
        };
        let bits = self.differs.all().into_iter().enumerate();
        let differs = bits.fold(0, |bits, (bit, differs)| bits | u8::from(differs) << bit);
        let (path, size, to) = (&self.path[..], self.size, self.to.as_deref());
        wire::Change { what, path, file_type: self.kind.mode_bits(), size, to, differs }
    }

    fn heard(said: &wire::Change<'_>) -> Change {
        let what = match said.what {
            wire::What::New => What::New,
            wire::What::Replaced => What::Replaced,
            wire::What::Linked => What::Linked,
            wire::What::Adjusted => What::Adjusted,
            wire::What::Removed => What::Removed,
            wire::What::Reused => What::Reused,
        };
        let differs = |bit: u8| said.differs & 1 << bit != 0;
        Change {
            what,
            path: said.path.to_vec(),
            kind: Kind::of_mode(said.file_type),
            size: said.size,
            to: said.to.map(<[u8]>::to_vec),
            differs: Differs {
                kind: differs(0),
                content: differs(1),
                time: differs(2),
                mode: differs(3),
                owner: differs(4),
                xattrs: differs(5),
                links: differs(6),
            },
        }
    }
}

impl Differs {
    /// Returns whether there is a difference of each kind, in the order of the protocol.
    fn all(self) -> [bool; 7] {
        let Differs { kind, content, time, mode, owner, xattrs, links } = self;
        [kind, content, time, mode, owner, xattrs, links]
    }
}

#[cfg(test)]
mod tests {
    use fsops::Kind;

    use crate::model::change::Change;
    use crate::model::change::Differs;
    use crate::model::change::What;

    #[test]
    fn what_is_heard_of_a_change_is_what_was_said() {
        let differs = Differs { kind: true, mode: true, links: true, ..Differs::default() };
        for (what, kind, size) in [
            (What::New, Kind::File, Some(5)),
            (What::Replaced, Kind::Symlink, None),
            (What::Linked, Kind::Unknown, None),
            (What::Adjusted, Kind::Fifo, None),
            (What::Removed, Kind::Dir, None),
            (What::New, Kind::Socket, None),
            (What::New, Kind::Device, None),
        ] {
            let (path, to) = (b"a\xff".to_vec(), Some(b"b".to_vec()));
            let change = Change { what, path, kind, size, to, differs };
            let heard = Change::heard(&change.said());
            assert_eq!((heard.what, heard.kind, heard.size), (what, kind, size));
            assert_eq!((heard.path, heard.to, heard.differs), (change.path, change.to, differs));
        }
    }
}
