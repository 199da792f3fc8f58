//! The entry points [`mirror`] and [`receive`], which execute one run from its first task to its final deletions.
//!
//! A run starts a [`Job`], gives its first [`Task`] to a pool of workers, and adds up the outcomes of the workers. It
//! deletes extraneous entries after all workers have ended. Before that point, it cannot tell whether the whole source
//! was read.

use std::fs::File;
use std::sync::Arc;

use device::{Threads, WorkerPool};
use fsops::Stat;
use runtime::{Interrupted, Mutex, Progress, Stage};
use wire::{
    ConnectionError, Counts, FromReceiver, FromSender, Incoming, Outgoing, Removal, decode,
};

use crate::engine::job::Job;
use crate::engine::task::{Arrival, Task};
use crate::engine::worker::Worker;
use crate::model::dir_node::{CHANGED, DRY_RUN_ONLY, DirNode};
use crate::model::metadata_support::ClampedTimes;
use crate::outcome::Outcome;
use crate::reconcile::local_source::LocalSource;
use crate::remote::receiver::session::Session;
use crate::roots::Roots;
use crate::{Consent, Options, User};

/// Makes the destination identical to the source. Returns the outcome, and an error if the run ended early because
/// `progress` was asked to stop.
///
/// `progress.files_done` counts the names processed. `progress.bytes_done` counts the bytes of all files processed,
/// including files that did not have to be copied.
pub fn mirror(
    roots: &Roots,
    options: &Options,
    progress: &Progress,
    user: User<'_>,
) -> (Outcome, Result<(), Interrupted>) {
    progress.enter(Stage::Mirror);
    let Some(source) = &roots.source else { return (Outcome::default(), Ok(())) };
    let Stat { inode, device, .. } = source.top.stat;
    let start = Task::MirrorDir { inode, node: roots.top() };
    let job = Job::new(roots, options, progress, user.on_change, start, device, true);
    job.limit_pool();
    let mut outcome = Outcome::default();
    let threads = options.threads;
    let pool = pool(&job, threads, progress);
    for other in pool.run(|meter| Worker::new(&job, &LocalSource).run(meter)) {
        outcome.add(other);
    }
    finish_run(&job, &mut outcome, user.consent);
    (outcome, progress.check())
}

/// Makes the destination identical to the tree of a sender on another host. Otherwise behaves like [`mirror`].
///
/// # Errors
///
/// Fails if the connection ends before the sender's final message. In that case, everything mirrored so far stays and
/// nothing is deleted. The next run continues where this one ended.
pub fn receive(
    roots: &Roots,
    options: &Options,
    progress: &Progress,
    user: User<'_>,
    incoming: &mut Incoming<File>,
    out: &Arc<Outgoing<File>>,
) -> (Outcome, Result<(), ConnectionError>) {
    let audience = Audience { user, asks_sender: false, running_totals: None };
    receive_for(roots, options, progress, audience, incoming, out)
}

/// The users that a receiver reports to.
pub(crate) struct Audience<'a> {
    /// The user on this host.
    pub(crate) user: User<'a>,
    /// True to ask the user on the sender's host before anything is deleted, instead of calling `user.consent`.
    pub(crate) asks_sender: bool,
    /// Counts that the workers update during the run.
    pub(crate) running_totals: Option<&'a Mutex<Counts>>,
}

/// Receives a tree and reports to `audience`.
pub(crate) fn receive_for(
    roots: &Roots,
    options: &Options,
    progress: &Progress,
    Audience { user, asks_sender, running_totals }: Audience<'_>,
    incoming: &mut Incoming<File>,
    out: &Arc<Outgoing<File>>,
) -> (Outcome, Result<(), ConnectionError>) {
    progress.enter(Stage::Mirror);
    let session = Session::new(Arc::clone(out));
    let top = roots.top();
    let device = roots.destination.as_ref().map_or(0, |top| top.stat.device);
    let _waits_to_be_entered = session.dir_listed(0, Arc::clone(&top));
    let start =
        Task::Dispatch { turn: session.next_turn(), arrival: Arc::new(Arrival::Dir(0, top)) };
    let mut job = Job::new(roots, options, progress, user.on_change, start, device, false);
    job.running_totals = running_totals;
    let mut outcome = Outcome::default();
    let Threads { first, grows } = options.threads;
    // Start one more thread, because one of the threads only reads messages.
    let threads = Threads { first: first + 1, grows };
    let pool = pool(&job, threads, progress);
    let this = std::thread::current().id();
    let reader = Mutex::new(Some(&mut *incoming));
    // Join the queue before the workers start. Workers end as soon as no other thread can produce tasks.
    job.queue.join();
    let results = pool.run(|meter| {
        let worker = Worker::new(&job, &*session);
        let reader = || reader.lock().take();
        if std::thread::current().id() == this
            && let Some(incoming) = reader()
        {
            worker.receive_loop(&session, incoming, meter)
        } else {
            (worker.run(meter), Ok(()))
        }
    });
    let mut ended = Ok(());
    for (other, end) in results {
        outcome.add(other);
        ended = ended.and(end);
    }
    if ended.is_ok() && asks_sender {
        let incoming = Mutex::new((incoming, &mut ended));
        let ask = |removal: &Removal| {
            let (incoming, ended) = &mut *incoming.lock();
            let answer = ask_sender(removal, progress, incoming, out);
            answer.unwrap_or_else(|broken| {
                **ended = Err(broken);
                false
            })
        };
        finish_run(&job, &mut outcome, Some(&ask));
    } else if ended.is_ok() {
        finish_run(&job, &mut outcome, user.consent);
    }
    (outcome, if progress.poll_stop() { Err(ConnectionError::Stopped) } else { ended })
}

/// Asks the user on the sender's host whether the entries may be deleted.
fn ask_sender(
    removal: &Removal,
    progress: &Progress,
    incoming: &mut Incoming<File>,
    out: &Outgoing<File>,
) -> Result<bool, ConnectionError> {
    out.send(&FromReceiver::Ask(removal.clone()), &[])?;
    out.flush()?;
    match decode::<FromSender<'_>>(incoming.next(&|| progress.poll_stop())?)?.0 {
        FromSender::Consent { given } => Ok(given),
        _ => Err(ConnectionError::ProtocolViolation("no answer to a question")),
    }
}

impl Roots {
    /// Returns the node of the top directory.
    fn top(&self) -> Arc<DirNode> {
        let top = DirNode::top();
        if self.destination.is_none() {
            top.set(DRY_RUN_ONLY);
        }
        if self.was_created {
            top.set(CHANGED);
        }
        top
    }
}

/// Returns the pool of the workers of a job. They open files for writing.
fn pool<'a>(job: &'a Job<'_>, threads: Threads, progress: &'a Progress) -> WorkerPool<'a> {
    WorkerPool { disk: &job.disk, threads, pieces: None, all_at_once: true, writes: true, progress }
}

/// Completes the outcome after all workers have ended. Records which metadata the destination could not store, and
/// deletes extraneous entries.
fn finish_run(job: &Job<'_>, outcome: &mut Outcome, consent: Option<Consent<'_>>) {
    (outcome.counts.no_owners, outcome.counts.no_modes) = job.support.lacking();
    let ClampedTimes { first, last } = job.support.clamped();
    (outcome.counts.first_time, outcome.counts.last_time) = (first, last);
    if !job.progress.poll_stop() {
        let extraneous = std::mem::take(&mut *job.extraneous());
        extraneous.delete(job, outcome, consent);
    }
}
