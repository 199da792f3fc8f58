//! Processes directories, listings, small files and replies from the sender.
//!
//! The receive loop turns messages into [`Arrival`]s and queues them in the order in which they
//! arrive. Any worker may take the next one.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use device::WaitMeter;
use fsops::{Kind, Op, Stat};
use wire::Loss;

use crate::engine::dir_cache::Side;
use crate::engine::dir_state::{DirState, NameWork, SharedBatch};
use crate::engine::entry::Entry;
use crate::engine::estimate::SubtreeCount;
use crate::engine::task::{Arrival, SmallFile, Task};
use crate::engine::worker::Worker;
use crate::hardlinks::groups::Leader;
use crate::model::dir_node::DirNode;
use crate::model::reason::Reason;
use crate::model::settled::{DestInode, Failure, Settled, destination};
use crate::reconcile::copy::{CopiedContent, NewCopy};
use crate::reconcile::copy_bytes::Proof;
use crate::reconcile::directory::child_state;
use crate::remote::receiver::pending::{Basis, PendingRequest, reason_of};
use crate::remote::receiver::session::{DirLoss, DirMessage, NextStep, Session};
use wire::Differences;

/// The maximum number of waiting names that a worker keeps to itself.
const MAX_WAITERS: usize = 128;

/// The sender's description of a file whose bytes are already at the destination.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReceivedContent {
    /// The metadata of the source file when the sender read it.
    pub(crate) stat: Stat,
    /// True if the source file did not change while the sender read it.
    pub(crate) is_stable: bool,
    /// The BLAKE3 digest of the content. Set only if copies are verified.
    pub(crate) digest: Option<[u8; 32]>,
}

impl Worker<'_> {
    /// Adds a task to the outbox. The worker calls [`Worker::publish`] before it waits for
    /// anything.
    pub(crate) fn enqueue(&mut self, session: &Session, arrival: Arrival) {
        self.outbox.push(Task::Dispatch { turn: session.next_turn(), arrival: Arc::new(arrival) });
    }

    /// Moves the tasks in the outbox to the queue.
    pub(crate) fn publish(&mut self) {
        self.job.queue.enqueue_sorted(&mut self.outbox);
    }

    /// Processes an arrival.
    pub(crate) fn dispatch(
        &mut self,
        session: &Session,
        arrival: &Arc<Arrival>,
        meter: &mut WaitMeter<'_>,
    ) {
        match &**arrival {
            Arrival::Dir(number, node) => self.start_remote_dir(session, *number, node),
            Arrival::Names(work) => {
                if let Some(dir_state) = work.dir_state() {
                    dir_state.run_serially(work, |work| self.process_names(session, work, meter));
                }
            }
            Arrival::DirEnd(dir_state) => self.release_dir(dir_state),
            Arrival::SmallFile(file) => {
                self.write_small_file(file);
            }
            Arrival::SameContent(same) => self.reuse_requested(session, same),
        }
        self.share_waiters(session);
        self.process_waiters();
    }

    fn process_names(&mut self, session: &Session, work: &NameWork, meter: &mut WaitMeter<'_>) {
        match work {
            NameWork::Batch(shared) => {
                self.join_batch(shared, meter);
                self.release_dir(&shared.dir);
            }
            NameWork::Waiters(waiters) => {
                for waiter in &**waiters {
                    self.process_waiter(waiter);
                }
            }
        }
        self.share_waiters(session);
    }

    /// Hands waiting names in excess of [`MAX_WAITERS`] to other workers.
    fn share_waiters(&mut self, session: &Session) {
        while self.waiters.len() > MAX_WAITERS {
            let waiters = self.waiters.split_off(self.waiters.len() - MAX_WAITERS);
            self.enqueue(session, Arrival::Names(NameWork::Waiters(waiters.into())));
        }
    }

    /// Hands all waiting names to other workers.
    pub(crate) fn hand_over_waiters(&mut self, session: &Session) {
        self.share_waiters(session);
        if !self.waiters.is_empty() {
            let waiters = std::mem::take(&mut self.waiters);
            self.enqueue(session, Arrival::Names(NameWork::Waiters(waiters.into())));
        }
    }

    /// Performs the step that the session chose for a message.
    pub(crate) fn take_step(&mut self, session: &Session, number: u64, next: NextStep) {
        match next {
            NextStep::Wait => {}
            NextStep::Begin(node) => self.enqueue(session, Arrival::Dir(number, node)),
            NextStep::Apply(dir_state, message) => self.apply_message(session, dir_state, message),
            NextStep::Discard(message, why) => self.add_missing_remote(session, message, &why),
            NextStep::Close(node, loss) => {
                self.outcome.counts.unread_dirs += u64::from(reason_of(loss).is_some());
                self.record_loss(&node, b"", loss);
                self.abandon(&node);
            }
        }
    }

    fn apply_message(&mut self, session: &Session, dir_state: Arc<DirState>, message: DirMessage) {
        match message {
            DirMessage::Names(mut batch) => {
                dir_state.order_names(&mut batch);
                dir_state.hold();
                self.enqueue(
                    session,
                    Arrival::Names(NameWork::Batch(SharedBatch::new(&dir_state, batch))),
                );
            }
            DirMessage::Failed(name, loss, _space) => {
                let is_left_out = matches!(loss, Loss::LeftOut(_));
                self.outcome.counts.names += u64::from(!name.is_empty() && !is_left_out);
                self.outcome.counts.unread_dirs += u64::from(name.is_empty() && !is_left_out);
                self.record_loss(&dir_state.node, &name, loss);
            }
            DirMessage::End { whole } => {
                dir_state.is_fully_listed.store(whole, Relaxed);
                self.enqueue(session, Arrival::DirEnd(dir_state));
            }
            // The session refuses a directory that is entered or closed twice.
            DirMessage::Entered(_) | DirMessage::Closed(..) => {}
        }
    }

    /// Records that an entry of the source is unavailable.
    fn record_loss(&mut self, node: &DirNode, name: &[u8], loss: Loss) {
        match (reason_of(loss), loss) {
            (Some(reason), _) => self.fail(node, name, reason),
            (None, Loss::LeftOut(why)) => self.outcome.leave_out(why, || node.child_path(name)),
            (None, _) => self.outcome.counts.vanished += 1,
        }
    }

    /// Tells the session that a listing contained the directory with this number.
    pub(crate) fn expect_dir(&mut self, session: &Session, entry: Entry<'_>, number: u64) {
        let node = &entry.dir.node;
        let state = child_state(node, entry.dest);
        let next = session.dir_listed(number, DirNode::child(node, entry.name, state));
        self.take_step(session, number, next);
    }

    fn start_remote_dir(&mut self, session: &Session, number: u64, node: &Arc<DirNode>) {
        let Some(dir) = session.take_dir(number) else { return };
        match self.start_remote(node, *dir) {
            Ok(dir_state) => {
                for message in session.dir_begun(number, &dir_state) {
                    self.apply_message(session, Arc::clone(&dir_state), message);
                }
            }
            Err(reason) => {
                self.fail(node, b"", reason);
                self.give_up_dir(session, number, &DirLoss::Failed(Arc::clone(node)));
                self.abandon(node);
            }
        }
    }

    /// Records that the directory with this number is not mirrored. If the directory failed, counts
    /// its entries as missing.
    pub(crate) fn give_up_dir(&mut self, session: &Session, number: u64, why: &DirLoss) {
        for message in session.dir_lost(number, why) {
            self.add_missing_remote(session, message, why);
        }
    }

    /// Handles a message about a directory that is not mirrored. Counts the entries in the message
    /// as missing if the directory failed, and gives up the subdirectories.
    fn add_missing_remote(&mut self, session: &Session, message: DirMessage, why: &DirLoss) {
        let mut rest = VecDeque::from([message]);
        while let Some(message) = rest.pop_front() {
            if let (true, DirLoss::Failed(node)) = (message.is_last(), why) {
                self.release(node);
            }
            if matches!(why, DirLoss::Failed(_)) {
                self.add_missing(&SubtreeCount::of(&message));
            }
            if let DirMessage::Names(batch) = message {
                for number in batch.dirs() {
                    rest.extend(session.dir_lost(number, why));
                }
            }
        }
    }

    /// Creates an empty file.
    pub(crate) fn create_empty(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        replaces: bool,
    ) -> Result<DestInode, Failure> {
        let mut new_copy = self.begin_copy(entry, stat, replaces)?;
        let digest = Some(blake3::hash(b"").into());
        let ended = self.finish_remote_copy(
            entry,
            &mut new_copy,
            ReceivedContent { stat: *stat, is_stable: true, digest },
        );
        ended.inspect_err(|_| new_copy.undo())
    }

    fn write_small_file(&mut self, file: &SmallFile) {
        let SmallFile { pending, stat, is_stable, digest, bytes, .. } = file;
        let entry = pending.entry();
        let settled = if self.stopped() {
            Err(Failure::Stopped)
        } else if stat.kind != Kind::File || stat.size != bytes.len() as u64 {
            Err(Failure::Failed(Reason::Changed))
        } else {
            let filled = ReceivedContent { stat: *stat, is_stable: *is_stable, digest: *digest };
            self.begin_copy(entry, stat, pending.replaces.is_some()).and_then(|mut new_copy| {
                let written = new_copy.file.write_at(bytes, 0).map_err(destination(Op::Write));
                let ended =
                    written.and_then(|()| self.finish_remote_copy(entry, &mut new_copy, filled));
                ended.inspect_err(|_| new_copy.undo())
            })
        };
        self.conclude_request(pending, stat, settled);
    }

    /// Applies the metadata to a received file and moves it to its final name.
    pub(crate) fn finish_remote_copy(
        &mut self,
        entry: Entry<'_>,
        new_copy: &mut NewCopy,
        ReceivedContent { stat, is_stable, digest }: ReceivedContent,
    ) -> Result<DestInode, Failure> {
        let attributes = self.source_attributes(entry)?;
        let proof = Proof::Digest(digest);
        self.finish_copy(entry, new_copy, CopiedContent { stat, is_stable, attributes, proof })
    }

    /// Records the result of a request.
    pub(crate) fn conclude_request(
        &mut self,
        pending: &PendingRequest,
        stat: &Stat,
        settled: Result<DestInode, Failure>,
    ) {
        let entry = pending.entry();
        if settled.is_ok() {
            self.record_created(entry, stat, pending.replaces);
        }
        self.conclude(entry, &pending.listed_stat(), settled.map(Settled::Done));
        self.release_dir(&pending.waiter.shared.dir);
    }

    /// Completes a request for a file that matches the basis of the request.
    pub(crate) fn conclude_unchanged(&mut self, session: &Session, pending: &PendingRequest) {
        let entry = pending.entry();
        let settled = match (&pending.basis, entry.remote) {
            (Basis::Existing(dest), Some(remote)) => {
                let (now, differences) = &**dest;
                let adjusted = if differences.any() {
                    self.adjust(entry, &remote.stat, now, *differences)
                } else {
                    Ok(())
                };
                adjusted.map(|()| Settled::Done(DestInode::Known(now.inode)))
            }
            (Basis::Base, Some(remote)) => {
                match self.link_to_base_file(entry, &remote.stat, pending.replaces) {
                    Ok(None) => Ok(self.request_whole(session, pending)),
                    linked => {
                        linked.map(|inode| Settled::Done(inode.unwrap_or(DestInode::NotNeeded)))
                    }
                }
            }
            _ => Err(Failure::Failed(Reason::Changed)),
        };
        self.conclude(entry, &pending.listed_stat(), settled);
        self.release_dir(&pending.waiter.shared.dir);
    }

    /// Requests the whole content of a file because the identical local file cannot be used.
    pub(crate) fn request_whole(&mut self, session: &Session, pending: &PendingRequest) -> Settled {
        let entry = pending.entry();
        if self.is_dry_run(entry.dir) {
            self.record_created(entry, &pending.listed_stat(), pending.replaces);
            return Settled::Done(DestInode::NotNeeded);
        }
        session.request_content(entry, pending.replaces, None, Basis::Absent)
    }

    /// Copies the leader of a link group when it has reached the file system's link limit.
    pub(crate) fn copy_leader(
        &mut self,
        entry: Entry<'_>,
        stat: &Stat,
        leader: &Leader,
    ) -> Result<DestInode, Failure> {
        if stat.kind != Kind::File {
            return match self.create_or_update(entry, stat)? {
                Settled::Done(inode) => Ok(inode),
                Settled::Pending => Err(Failure::Failed(Reason::Changed)),
            };
        }
        let dir = self.open(Side::Destination, &leader.node).map_err(destination(Op::Open))?;
        let source = dir.open_regular(&leader.name).map_err(destination(Op::Open))?;
        let now = source.stat().map_err(destination(Op::Stat))?;
        let replaces = entry.dest.map(|_| Differences { links: true, ..Differences::default() });
        let mut new_copy = self.begin_copy(entry, stat, replaces.is_some())?;
        let filled = self.fill_from(entry.dir, &new_copy.file, &source, &now);
        let ended = filled.and_then(|(_, is_stable)| {
            let digest = self.job.options.verify.then(|| self.digest(&source, stat.size));
            self.finish_remote_copy(
                entry,
                &mut new_copy,
                ReceivedContent { stat: *stat, is_stable, digest: digest.transpose()? },
            )
        });
        let inode = ended.inspect_err(|_| new_copy.undo())?;
        self.record_created(entry, stat, replaces);
        Ok(inode)
    }
}
