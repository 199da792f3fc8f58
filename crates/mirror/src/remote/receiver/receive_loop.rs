//! The loop that reads messages from the sender and writes the pieces of large files.
//!
//! A single worker runs this loop. Until the loop ends, that worker only adds tasks to the queue
//! and takes none.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use device::WaitMeter;
use fsops::{Kind, Op, Stat};
use wire::{ConnectionError, EnteredDir, FromSender, Incoming, KnownPrefix, Meta, decode};

use crate::engine::task::{Arrival, SameContent, SmallFile};
use crate::engine::worker::Worker;
use crate::model::reason::Reason;
use crate::model::settled::{DestInode, Failure, destination};
use crate::outcome::Outcome;
use crate::reconcile::copy::NewCopy;
use crate::remote::receiver::connection::BufferSpace;
use crate::remote::receiver::dispatch::ReceivedContent;
use crate::remote::receiver::listing::{attributes_of, batch_of};
use crate::remote::receiver::pending::{Basis, PendingRequest, reason_of, stat_of};
use crate::remote::receiver::session::{DirMessage, Session, SourceDir};
use crate::reuse::resume::MIN_RESUMED_BYTES;

/// The estimated memory overhead of a directory, in addition to the bytes of its message.
const MESSAGE_OVERHEAD_BYTES: usize = 512;

/// The maximum number of tasks in the outbox. Publishing tasks one at a time would wake workers too
/// often.
const MAX_UNPUBLISHED: usize = 64;

/// A file that arrives in pieces.
#[derive(Debug)]
struct IncomingFile {
    pending: PendingRequest,
    stat: Stat,
    /// The destination file for the pieces. `None` if the file is not needed or could not be
    /// created.
    new_copy: Option<NewCopy>,
    failure: Option<Failure>,
    /// True if the destination already has an identical file.
    is_unchanged: bool,
    /// The number of bytes received.
    received_bytes: u64,
}

type IncomingFiles = HashMap<u64, IncomingFile>;

impl Worker<'_> {
    /// Reads messages until the sender finishes. Returns an error if the connection ends early.
    pub(crate) fn receive_loop(
        mut self,
        session: &Arc<Session>,
        incoming: &mut Incoming<File>,
        meter: &mut WaitMeter<'_>,
    ) -> (Outcome, Result<(), ConnectionError>) {
        let _guard = self.job.queue.close_on_panic();
        let mut incoming_files = IncomingFiles::new();
        let progress = self.job.progress;
        let ended =
            self.read_messages(session, incoming, &mut incoming_files).map_err(|why| match why {
                ConnectionError::Stopped if !progress.poll_stop() => {
                    session.connection.why().unwrap_or(ConnectionError::Lost)
                }
                why => why,
            });
        self.publish();
        for new_copy in
            incoming_files.into_values().filter_map(|incoming_file| incoming_file.new_copy)
        {
            // Keep large partial files, so that the next run can resume them.
            if !new_copy.file.stat().is_ok_and(|now| now.size >= MIN_RESUMED_BYTES) {
                new_copy.undo();
            }
        }
        if ended.is_err() {
            session.connection.set_broken();
            self.job.queue.close();
        }
        // The connection has ended, so this worker helps the others with the remaining tasks.
        self.dir_cache.clear();
        while let Some(task) = self.next_task() {
            self.run_task(task, meter);
        }
        (self.outcome, ended)
    }

    fn read_messages(
        &mut self,
        session: &Arc<Session>,
        incoming: &mut Incoming<File>,
        incoming_files: &mut IncomingFiles,
    ) -> Result<(), ConnectionError> {
        let job = self.job;
        let mut listings = 0;
        loop {
            if !incoming.has_more() || self.outbox.len() >= MAX_UNPUBLISHED {
                self.publish();
                session.connection.flush();
            }
            // `next` does not check for a stop while it has buffered messages.
            if job.progress.poll_stop() {
                return Err(ConnectionError::Stopped);
            }
            let message =
                incoming.next(&|| job.progress.poll_stop() || session.connection.is_broken())?;
            let length = message.len();
            let (message, bytes) = decode::<FromSender<'_>>(message)?;
            match message {
                FromSender::Bye { matched } if session.connection.is_done() => {
                    job.options.note_matched(matched);
                    return Ok(());
                }
                FromSender::Bye { .. } | FromSender::Consent { .. } => {
                    return Err(ConnectionError::ProtocolViolation("a farewell before the end"));
                }
                FromSender::Enter(EnteredDir { dir, facts, is_entered: is_listed }) => {
                    let (stat, attributes) = (stat_of(&facts.meta), attributes_of(&facts));
                    let space = self.wait_for_space(session, length + MESSAGE_OVERHEAD_BYTES)?;
                    let entered = Box::new(SourceDir { stat, attributes, is_listed, space });
                    self.take_dir_message(session, dir, DirMessage::Entered(entered))?;
                }
                FromSender::Closed { dir, loss } => {
                    let space = self.wait_for_space(session, MESSAGE_OVERHEAD_BYTES)?;
                    self.take_dir_message(session, dir, DirMessage::Closed(loss, space))?;
                }
                FromSender::Names(names) => {
                    if names.window != listings {
                        return Err(ConnectionError::ProtocolViolation("a listing out of order"));
                    }
                    listings += 1;
                    let all = names.records.iter().map(|record| record.names.len()).sum();
                    let credit = session
                        .connection
                        .take_credit(names.window, wire::listing_cost_bytes(length, all))?;
                    let batch = batch_of(&names, credit, job.options.content_hints.is_some())?;
                    self.take_dir_message(session, names.dir, DirMessage::Names(batch))?;
                }
                FromSender::Failed { dir, name, loss } => {
                    let space = self.wait_for_space(session, length + MESSAGE_OVERHEAD_BYTES)?;
                    self.take_dir_message(
                        session,
                        dir,
                        DirMessage::Failed(name.to_vec(), loss, space),
                    )?;
                }
                FromSender::Leave { dir, whole } => {
                    self.take_dir_message(session, dir, DirMessage::End { whole })?;
                }
                FromSender::File { request, meta, stable, digest } => {
                    let pending = session.take_request(request)?;
                    let space = self.wait_for_space(session, bytes.len())?;
                    let (stat, bytes) = (pending.opened_stat(&meta), bytes.into());
                    let is_stable = stable;
                    let file = SmallFile { pending, stat, is_stable, digest, bytes, _space: space };
                    self.enqueue(session, Arrival::SmallFile(Box::new(file)));
                }
                FromSender::Begin { request, meta, from } => {
                    let incoming_file =
                        self.begin_incoming(session.take_request(request)?, &meta, from)?;
                    incoming_files.insert(request, incoming_file);
                }
                FromSender::Piece { request, at } => {
                    let incoming_file = incoming_of(incoming_files, request)?;
                    write_piece(incoming_file, at, bytes)?;
                    incoming_file.received_bytes =
                        incoming_file.received_bytes.saturating_add(bytes.len() as u64);
                    job.progress.bytes_done.fetch_add(bytes.len() as u64, Relaxed);
                }
                FromSender::Again { request, meta } => {
                    self.restart_incoming(incoming_of(incoming_files, request)?, &meta);
                }
                FromSender::End { request, stable, digest } => {
                    let ended = incoming_files.remove(&request).ok_or(UNREQUESTED)?;
                    self.finish_incoming(session, ended, stable, digest);
                    self.hand_over_waiters(session);
                }
                FromSender::Lost { request, loss } => {
                    let failure = reason_of(loss).map_or(Failure::Vanished, Failure::Failed);
                    self.outcome.counts.vanished += u64::from(matches!(failure, Failure::Vanished));
                    let lost = match incoming_files.remove(&request) {
                        Some(lost) => lost,
                        None => IncomingFile::nothing(session.take_request(request)?),
                    };
                    self.fail_incoming(&lost, failure);
                    self.hand_over_waiters(session);
                }
            }
            self.report_progress();
        }
    }

    /// Waits until there is buffer space for a message.
    fn wait_for_space(
        &mut self,
        session: &Arc<Session>,
        bytes: usize,
    ) -> Result<BufferSpace, ConnectionError> {
        if !session.connection.has_space() {
            // Publish and flush first. Other workers may need these tasks, and the sender these
            // messages, before any space is freed.
            self.publish();
            session.connection.flush();
        }
        let (progress, queue) = (self.job.progress, &self.job.queue);
        session.connection.wait_for_space(bytes, &|| progress.poll_stop(), &|| queue.others_wait())
    }

    fn take_dir_message(
        &mut self,
        session: &Session,
        dir: u64,
        message: DirMessage,
    ) -> Result<(), ConnectionError> {
        let next = session.dir_message(dir, message)?;
        self.take_step(session, dir, next);
        Ok(())
    }

    /// Starts receiving a file in pieces, beginning at offset `from`.
    fn begin_incoming(
        &mut self,
        pending: PendingRequest,
        meta: &Meta,
        from: u64,
    ) -> Result<IncomingFile, ConnectionError> {
        let stat = pending.opened_stat(meta);
        let mut incoming_file = IncomingFile { stat, ..IncomingFile::nothing(pending) };
        let have = incoming_file.pending.have.filter(|have| have.length == from);
        if from > 0 && have.is_none() {
            return Err(ConnectionError::ProtocolViolation("part of a file without a request"));
        }
        let is_whole = from > 0 && from == stat.size && stat.kind == Kind::File;
        if is_whole && incoming_file.pending.basis.is_complete_file() {
            incoming_file.is_unchanged = true;
        } else {
            self.create_incoming(&mut incoming_file, have.filter(|_| from > 0));
        }
        Ok(incoming_file)
    }

    /// Creates the destination file, and fills in the bytes that the destination already has.
    fn create_incoming(&mut self, incoming_file: &mut IncomingFile, have: Option<KnownPrefix>) {
        let IncomingFile { pending, stat, .. } = &*incoming_file;
        let entry = pending.entry();
        if self.is_dry_run(entry.dir) {
            return;
        }
        let replaces = pending.replaces.is_some();
        let new_copy = match have {
            _ if stat.kind != Kind::File => Err(Failure::Failed(Reason::Changed)),
            Some(have) => self.begin_copy_from_basis(entry, stat, &pending.basis, &have),
            None => self.begin_copy(entry, stat, replaces),
        };
        match new_copy {
            Ok(new_copy) => incoming_file.new_copy = Some(new_copy),
            Err(failure) => incoming_file.failure = Some(failure),
        }
    }

    /// Restarts a file that changed while the sender read it.
    fn restart_incoming(&mut self, incoming_file: &mut IncomingFile, meta: &Meta) {
        incoming_file.stat = incoming_file.pending.opened_stat(meta);
        if std::mem::take(&mut incoming_file.is_unchanged) {
            return self.create_incoming(incoming_file, None);
        }
        if let Some(new_copy) = &incoming_file.new_copy
            && let Err(e) = new_copy.file.set_size(0)
        {
            incoming_file.fail(destination(Op::Write)(e));
        }
    }

    fn finish_incoming(
        &mut self,
        session: &Session,
        mut incoming_file: IncomingFile,
        is_stable: bool,
        digest: Option<[u8; 32]>,
    ) {
        self.counted_bytes = incoming_file.received_bytes;
        if incoming_file.is_unchanged && matches!(incoming_file.pending.basis, Basis::Candidate(_))
        {
            let IncomingFile { pending, stat, .. } = incoming_file;
            let same = SameContent { pending, stat, is_stable };
            return self.enqueue(session, Arrival::SameContent(Box::new(same)));
        }
        if incoming_file.is_unchanged {
            return self.conclude_unchanged(session, &incoming_file.pending);
        }
        let stat = incoming_file.stat;
        let settled = match (incoming_file.failure.take(), &mut incoming_file.new_copy) {
            (None, Some(new_copy)) => {
                let sized = new_copy.file.set_size(stat.size).map_err(destination(Op::Write));
                let filled = ReceivedContent { stat, is_stable, digest };
                sized.and_then(|()| {
                    self.finish_remote_copy(incoming_file.pending.entry(), new_copy, filled)
                })
            }
            (None, None) => Ok(DestInode::NotNeeded),
            (Some(failure), _) => Err(failure),
        };
        if let (Err(_), Some(new_copy)) = (&settled, &incoming_file.new_copy) {
            new_copy.undo();
        }
        self.conclude_request(&incoming_file.pending, &stat, settled);
    }

    fn fail_incoming(&mut self, incoming_file: &IncomingFile, failure: Failure) {
        self.counted_bytes = incoming_file.received_bytes;
        if let Some(new_copy) = &incoming_file.new_copy {
            new_copy.undo();
        }
        self.conclude_request(&incoming_file.pending, &incoming_file.stat, Err(failure));
    }
}

impl IncomingFile {
    fn nothing(pending: PendingRequest) -> IncomingFile {
        IncomingFile {
            stat: pending.listed_stat(),
            pending,
            new_copy: None,
            failure: None,
            is_unchanged: false,
            received_bytes: 0,
        }
    }

    fn fail(&mut self, failure: Failure) {
        if let Some(new_copy) = self.new_copy.take() {
            new_copy.undo();
        }
        self.failure = Some(failure);
    }
}

const UNREQUESTED: ConnectionError = ConnectionError::ProtocolViolation("bytes without a request");

fn incoming_of(
    incoming_files: &mut IncomingFiles,
    request: u64,
) -> Result<&mut IncomingFile, ConnectionError> {
    incoming_files.get_mut(&request).ok_or(UNREQUESTED)
}

fn write_piece(
    incoming_file: &mut IncomingFile,
    at: u64,
    bytes: &[u8],
) -> Result<(), ConnectionError> {
    let end = at.checked_add(bytes.len() as u64);
    if incoming_file.is_unchanged || end.is_none_or(|end| end > incoming_file.stat.size) {
        return Err(ConnectionError::ProtocolViolation("bytes beyond the end of a file"));
    }
    if let Some(new_copy) = &incoming_file.new_copy
        && let Err(e) = new_copy.file.write_at(bytes, at)
    {
        incoming_file.fail(destination(Op::Write)(e));
    }
    Ok(())
}
