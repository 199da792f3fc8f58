//! Tracks the sender's directories and the pending requests.
//!
//! Messages arrive in the order in which the sender walks the tree, and workers process them in
//! roughly that order. A directory can be started only after the listing that contains it has been
//! processed. Its names can be processed only after the directory has been started. The session
//! holds messages that arrive too early. It also limits how much state a sender can create on the
//! receiver, and rejects messages that violate the protocol.

use runtime::Mutex;
use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};

use fsops::Stat;
use wire::{ConnectionError, FromReceiver, Loss, Outgoing};

use crate::engine::batch::Batch;
use crate::engine::dir_state::{DirState, Waiter};
use crate::model::attributes::Attributes;
use crate::model::dir_node::DirNode;
use crate::remote::receiver::connection::{BufferSpace, Connection};
use crate::remote::receiver::pending::PendingRequest;

/// The maximum number of unfinished directories. It limits how much memory a sender can use on the
/// receiver.
const MAX_DIRS: usize = if cfg!(test) { 1 << 10 } else { 4 << 20 };

/// The maximum number of directories for which a message arrived before their listing was
/// processed. The credit for listings keeps a correct sender below this limit.
const MAX_UNLISTED: usize = 1 << 16;

const TOO_MANY_DIRS: ConnectionError =
    ConnectionError::ProtocolViolation("more directories than allowed");

/// The receiver's state for one sender.
#[derive(Debug)]
pub(crate) struct Session {
    /// This field is dropped before `dirs`, so that remaining listings do not return their credit.
    pub(crate) connection: Arc<Connection>,
    dirs: Mutex<Dirs>,
    pending: Mutex<HashMap<u64, PendingRequest>>,
    requests: AtomicU64,
    turns: AtomicU64,
}

#[derive(Debug, Default)]
struct Dirs {
    expected: HashMap<u64, ExpectedDir>,
    /// The number of directories that are not in any processed listing.
    unlisted: usize,
}

/// A source directory that the sender has not sent completely, or that the receiver has not
/// started.
#[derive(Debug, Default)]
struct ExpectedDir {
    node: Option<Arc<DirNode>>,
    dir: Option<Box<SourceDir>>,
    was_entered: bool,
    dir_state: Option<Arc<DirState>>,
    /// Messages that arrived before the directory was started.
    early: Vec<DirMessage>,
    /// The reason why neither the directory nor anything below it is mirrored.
    dir_lost: Option<DirLoss>,
}

/// The reason why a listed directory is not mirrored.
#[derive(Clone, Debug)]
pub(crate) enum DirLoss {
    /// The directory could not be created or entered, so everything below it counts as missing. The
    /// node belongs to the directory or one of its ancestors. That node stays unfinished until the
    /// sender has listed the whole directory.
    Failed(Arc<DirNode>),
    /// The directory and everything below it are left out.
    LeftOut,
}

/// The metadata of a source directory.
#[derive(Debug)]
pub(crate) struct SourceDir {
    pub(crate) stat: Stat,
    pub(crate) attributes: Attributes,
    /// True if the entries of the directory are mirrored as well.
    pub(crate) is_listed: bool,
    pub(crate) space: BufferSpace,
}

/// A message about a directory.
#[derive(Debug)]
pub(crate) enum DirMessage {
    /// The metadata of the directory.
    Entered(Box<SourceDir>),
    /// The directory cannot be entered.
    Closed(Loss, BufferSpace),
    /// Some names in the directory.
    Names(Batch),
    /// The directory or one of its entries could not be read.
    Failed(Vec<u8>, Loss, BufferSpace),
    /// The end of the directory.
    End { whole: bool },
}

/// The next step after a message.
#[derive(Debug)]
pub(crate) enum NextStep {
    /// Do nothing yet.
    Wait,
    /// Start the directory.
    Begin(Arc<DirNode>),
    /// Process the message.
    Apply(Arc<DirState>, DirMessage),
    /// Discard the message, because the directory is not mirrored. The message may mention
    /// subdirectories.
    Discard(DirMessage, DirLoss),
    /// Record that the directory cannot be mirrored.
    Close(Arc<DirNode>, Loss),
}

impl Session {
    pub(crate) fn new(out: Arc<Outgoing<File>>) -> Arc<Session> {
        Arc::new(Session {
            connection: Connection::new(out),
            dirs: Mutex::default(),
            pending: Mutex::default(),
            requests: AtomicU64::new(0),
            turns: AtomicU64::new(0),
        })
    }

    /// Returns the next position in arrival order.
    pub(crate) fn next_turn(&self) -> u64 {
        self.turns.fetch_add(1, Relaxed)
    }

    /// Records that a processed listing contains the directory.
    pub(crate) fn dir_listed(&self, number: u64, node: Arc<DirNode>) -> NextStep {
        let mut all = self.dirs();
        let Dirs { expected: dirs, unlisted } = &mut *all;
        let was_said = dirs.contains_key(&number);
        if !was_said && dirs.len() >= MAX_DIRS {
            self.connection.break_off(TOO_MANY_DIRS);
            return NextStep::Close(node, Loss::Changed);
        }
        let expected = dirs.entry(number).or_default();
        if expected.node.is_some() || expected.dir_lost.is_some() {
            // A correct sender never lists a directory twice.
            return NextStep::Close(node, Loss::Changed);
        }
        *unlisted -= usize::from(was_said);
        let closed = expected.early.iter().find_map(|message| match message {
            DirMessage::Closed(loss, _) => Some(*loss),
            _ => None,
        });
        if let Some(loss) = closed {
            dirs.remove(&number);
            return NextStep::Close(node, loss);
        }
        expected.node = Some(Arc::clone(&node));
        if expected.dir.is_some() { NextStep::Begin(node) } else { NextStep::Wait }
    }

    /// Records that a listed directory is not mirrored. Returns the messages that have arrived for
    /// it.
    pub(crate) fn dir_lost(&self, number: u64, why: &DirLoss) -> Vec<DirMessage> {
        let mut all = self.dirs();
        let Dirs { expected: dirs, unlisted } = &mut *all;
        let was_said = dirs.contains_key(&number);
        if !was_said && dirs.len() >= MAX_DIRS {
            self.connection.break_off(TOO_MANY_DIRS);
            return Vec::new();
        }
        let expected = dirs.entry(number).or_default();
        if expected.dir_lost.is_some() {
            // A correct sender never lists a directory twice.
            return Vec::new();
        }
        if expected.node.is_none() {
            *unlisted -= usize::from(was_said);
        }
        if let DirLoss::Failed(node) = why {
            node.hold();
        }
        expected.dir_lost = Some(why.clone());
        expected.dir_state = None;
        let early = std::mem::take(&mut expected.early);
        if early.iter().any(DirMessage::is_last) {
            dirs.remove(&number);
        }
        early
    }

    /// Accepts a message about a directory and returns the next step.
    ///
    /// # Errors
    ///
    /// Fails if the message violates the protocol.
    pub(crate) fn dir_message(
        &self,
        number: u64,
        message: DirMessage,
    ) -> Result<NextStep, ConnectionError> {
        let mut all = self.dirs();
        let Dirs { expected: dirs, unlisted } = &mut *all;
        if !dirs.contains_key(&number) {
            *unlisted += 1;
            if dirs.len() >= MAX_DIRS || *unlisted > MAX_UNLISTED {
                return Err(TOO_MANY_DIRS);
            }
        }
        let expected = dirs.entry(number).or_default();
        if let Some(why) = expected.dir_lost.clone() {
            if message.is_last() {
                dirs.remove(&number);
            }
            return Ok(NextStep::Discard(message, why));
        }
        if expected.was_entered
            && matches!(message, DirMessage::Entered(_) | DirMessage::Closed(..))
        {
            return Err(ConnectionError::ProtocolViolation("a directory that was entered before"));
        }
        if let Some(dir_state) = expected.dir_state.clone() {
            if message.is_last() {
                dirs.remove(&number);
            }
            return Ok(NextStep::Apply(dir_state, message));
        }
        match (message, expected.node.clone()) {
            _ if expected.early.iter().any(DirMessage::is_last) => {
                Err(ConnectionError::ProtocolViolation("a message after the end of a directory"))
            }
            (DirMessage::Entered(dir), node) => {
                expected.dir = Some(dir);
                expected.was_entered = true;
                Ok(node.map_or(NextStep::Wait, NextStep::Begin))
            }
            (DirMessage::Closed(loss, _space), Some(node)) => {
                dirs.remove(&number);
                Ok(NextStep::Close(node, loss))
            }
            (message, _) => {
                expected.early.push(message);
                Ok(NextStep::Wait)
            }
        }
    }

    /// Takes the metadata of a directory that is about to be started.
    pub(crate) fn take_dir(&self, number: u64) -> Option<Box<SourceDir>> {
        self.dirs().expected.get_mut(&number)?.dir.take()
    }

    /// Records that a directory was started. Returns the messages that have arrived for it.
    pub(crate) fn dir_begun(&self, number: u64, dir_state: &Arc<DirState>) -> Vec<DirMessage> {
        let dirs = &mut self.dirs().expected;
        let Some(expected) = dirs.get_mut(&number) else { return Vec::new() };
        expected.dir_state = Some(Arc::clone(dir_state));
        let early = std::mem::take(&mut expected.early);
        if early.iter().any(DirMessage::is_last) {
            dirs.remove(&number);
        }
        early
    }

    /// Sends a request and adds it to the pending requests.
    pub(crate) fn request(&self, pending: PendingRequest) {
        let PendingRequest { waiter: Waiter { shared, index }, have, .. } = &pending;
        let (window, item) = (shared.batch.listing, shared.batch.position(*index));
        let request = self.requests.fetch_add(1, Relaxed);
        let fetch = FromReceiver::Fetch { request, window, item, have: *have };
        self.pending().insert(request, pending);
        self.connection.send(&fetch);
    }

    /// Removes and returns the pending request with this number.
    ///
    /// # Errors
    ///
    /// Fails if there is no such request.
    pub(crate) fn take_request(&self, request: u64) -> Result<PendingRequest, ConnectionError> {
        let pending = self.pending().remove(&request);
        pending.ok_or(ConnectionError::ProtocolViolation("an answer without a request"))
    }

    fn dirs(&self) -> MutexGuard<'_, Dirs> {
        self.dirs.lock()
    }

    fn pending(&self) -> MutexGuard<'_, HashMap<u64, PendingRequest>> {
        self.pending.lock()
    }
}

impl DirMessage {
    /// Returns whether this is the last message about the directory.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, DirMessage::End { .. } | DirMessage::Closed(..))
    }
}

#[cfg(test)]
mod tests;
