//! What the receiver knows of the sender's directories, and its pending requests.
//!
//! Messages arrive in the order in which the sender walks the tree, and workers process them in about that order. A
//! directory can only be started after the listing that contains it was processed, and its names only after the
//! directory was started. The session keeps whichever comes too early. It also holds the bounds on what a sender can
//! make the receiver remember, and refuses messages that no correct sender sends.

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

/// The most directories that are known and not finished: what a sender can make the receiver remember.
const MAX_DIRS: usize = if cfg!(test) { 1 << 10 } else { 4 << 20 };

/// The most directories that were mentioned before the listing that contains them was processed. Fewer fit into the
/// listings that may be under way.
const MAX_UNLISTED: usize = 1 << 16;

const TOO_MANY_DIRS: ConnectionError =
    ConnectionError::ProtocolViolation("more directories than allowed");

/// The state of the conversation with a sender.
#[derive(Debug)]
pub(crate) struct Session {
    /// Dropped first, so that listings that are left in `dirs` release nothing.
    pub(crate) connection: Arc<Connection>,
    dirs: Mutex<Dirs>,
    pending: Mutex<HashMap<u64, PendingRequest>>,
    requests: AtomicU64,
    turns: AtomicU64,
}

#[derive(Debug, Default)]
struct Dirs {
    expected: HashMap<u64, ExpectedDir>,
    /// The directories that no processed listing contains yet.
    unlisted: usize,
}

/// A directory of the source, until the sender has sent all of it and the directory was started here.
#[derive(Debug, Default)]
struct ExpectedDir {
    node: Option<Arc<DirNode>>,
    dir: Option<Box<SourceDir>>,
    was_entered: bool,
    dir_state: Option<Arc<DirState>>,
    /// Messages that arrived before the directory was started.
    early: Vec<DirMessage>,
    /// Why the directory, with everything below it, is not mirrored.
    dir_lost: Option<DirLoss>,
}

/// Why a directory that the sender listed is not mirrored.
#[derive(Clone, Debug)]
pub(crate) enum DirLoss {
    /// It could not be created or entered, so everything below it counts as missing. The node is that of the directory
    /// or of one above it. It is not finished until the sender has listed the whole directory.
    Failed(Arc<DirNode>),
    /// It is left out on purpose, with everything below it.
    LeftOut,
}

/// The metadata of a directory of the source.
#[derive(Debug)]
pub(crate) struct SourceDir {
    pub(crate) stat: Stat,
    pub(crate) attributes: Attributes,
    /// Whether the content of the directory is mirrored too.
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
    /// Some of its names.
    Names(Batch),
    /// Something in it could not be read.
    Failed(Vec<u8>, Loss, BufferSpace),
    /// There are no more names.
    End { whole: bool },
}

/// What to do about a message.
#[derive(Debug)]
pub(crate) enum NextStep {
    /// Nothing for now.
    Wait,
    /// Start the directory.
    Begin(Arc<DirNode>),
    /// Process the message for the directory.
    Apply(Arc<DirState>, DirMessage),
    /// The directory is not mirrored. The message may mention directories below it.
    Discard(DirMessage, DirLoss),
    /// The directory cannot be mirrored.
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

    /// Returns the next position in the order of arrival.
    pub(crate) fn next_turn(&self) -> u64 {
        self.turns.fetch_add(1, Relaxed)
    }

    /// Notes that a processed listing contains a directory.
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
            // No correct sender lists a directory twice.
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

    /// Notes that a listed directory is not mirrored; returns the messages that arrived for it.
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
            // No correct sender lists a directory twice.
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

    /// Takes a message about a directory; returns what to do about it.
    ///
    /// # Errors
    ///
    /// Fails if no correct sender sends the message.
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
        if let Some(dir_state) = expected.dir_state.clone() {
            if message.is_last() {
                dirs.remove(&number);
            }
            return Ok(NextStep::Apply(dir_state, message));
        }
        match (message, expected.node.clone()) {
            (DirMessage::Entered(_) | DirMessage::Closed(..), _) if expected.was_entered => {
                Err(ConnectionError::ProtocolViolation("a directory that was entered before"))
            }
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

    /// Notes that a directory was started; returns the messages that arrived for it.
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

    /// Sends a request, and remembers it.
    pub(crate) fn request(&self, pending: PendingRequest) {
        let PendingRequest { waiter: Waiter { shared, index }, have, .. } = &pending;
        let (window, item) = (shared.batch.listing, shared.batch.position(*index));
        let request = self.requests.fetch_add(1, Relaxed);
        let fetch = FromReceiver::Fetch { request, window, item, have: *have };
        self.pending().insert(request, pending);
        self.connection.send(&fetch);
    }

    /// Takes the pending request with this number.
    ///
    /// # Errors
    ///
    /// Fails if there is none.
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
