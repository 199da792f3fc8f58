//! A source on another host: what it has said of its directories, and what it was asked for.
//!
//! Messages come in the order of the sender's walk. Workers deal with them in about that order too, but a directory
//! can only be begun when the listing that it is in was dealt with, and its names only when it is
//! begun: here each waits for the other.

use std::collections::HashMap;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fsops::Stat;
use wire::{Broken, FromReceiver, Loss, Outgoing};

use crate::engine::batch::Window;
use crate::engine::dir_state::Site;
use crate::model::attributes::Attributes;
use crate::model::dir_node::Node;
use crate::remote::receiver::connection::Connection;
use crate::remote::receiver::connection::Room;
use crate::remote::receiver::pending::Asked;

/// Directories that were listed and not begun: what a sender may have us remember.
const MOST_DIRS: usize = if cfg!(test) { 1 << 10 } else { 4 << 20 };

/// Directories of which something was said, and whose listing was not dealt with: more than fit in the listings that
/// may be under way.
const MOST_UNLISTED: usize = 1 << 16;

const TOO_MANY: Broken = Broken::Nonsense("more directories than can be");

/// The other host, as a receiver sees it.
#[derive(Debug)]
pub(crate) struct Far {
    /// Dropped first: listings that are left in `dirs` then release nothing.
    pub(crate) connection: Arc<Connection>,
    dirs: Mutex<Dirs>,
    asked: Mutex<HashMap<u64, Asked>>,
    requests: AtomicU64,
    turns: AtomicU64,
}

#[derive(Debug, Default)]
struct Dirs {
    expected: HashMap<u64, Expected>,
    /// Those that were not listed yet.
    unlisted: usize,
}

/// A directory of the source, until all of it was said and it is begun here.
#[derive(Debug, Default)]
struct Expected {
    node: Option<Arc<Node>>,
    facts: Option<Box<Entered>>,
    was_entered: bool,
    site: Option<Arc<Site>>,
    /// What was said before it was begun.
    early: Vec<Said>,
    /// Why the directory, with all that is in it, is not mirrored.
    lost: Option<Lost>,
}

/// Why a directory that the sender listed is not mirrored.
#[derive(Clone, Debug)]
pub(crate) enum Lost {
    /// It could not be made or entered, so everything in it counts as missing. The node, which is the directory itself
    /// or one above it, is not finished until the sender has listed the whole directory.
    Failed(Arc<Node>),
    /// It is left out on purpose, with all that is in it.
    LeftOut,
}

/// What a directory of the source is like.
#[derive(Debug)]
pub(crate) struct Entered {
    pub(crate) stat: Stat,
    pub(crate) attributes: Attributes,
    /// What is in it is mirrored too.
    pub(crate) is_listed: bool,
    pub(crate) room: Room,
}

/// Something that was said of a directory.
#[derive(Debug)]
pub(crate) enum Said {
    /// It is so.
    Entered(Box<Entered>),
    /// It cannot be gone into.
    Closed(Loss, Room),
    /// It has these names.
    Names(Window),
    /// Something of it could not be read.
    Failed(Vec<u8>, Loss, Room),
    /// There are no more names.
    Left { whole: bool },
}

/// What is to be done with something that was said.
#[derive(Debug)]
pub(crate) enum Next {
    /// Nothing for now.
    Nothing,
    /// To begin the directory.
    Begin(Arc<Node>),
    /// To do with it what was said.
    Do(Arc<Site>, Said),
    /// The directory is not mirrored; what was said may be of directories in it.
    Forget(Said, Lost),
    /// The directory cannot be.
    Close(Arc<Node>, Loss),
}

impl Far {
    pub(crate) fn new(out: Arc<Outgoing<File>>) -> Arc<Far> {
        Arc::new(Far {
            connection: Connection::new(out),
            dirs: Mutex::default(),
            asked: Mutex::default(),
            requests: AtomicU64::new(0),
            turns: AtomicU64::new(0),
        })
    }

    /// Returns the next number of what is to be done in turn.
    pub(crate) fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Relaxed)
    }

    /// Notes that a directory was listed.
    pub(crate) fn listed(&self, number: u64, node: Arc<Node>) -> Next {
        let mut all = self.dirs();
        let Dirs { expected: dirs, unlisted } = &mut *all;
        let was_said = dirs.contains_key(&number);
        if !was_said && dirs.len() >= MOST_DIRS {
            self.connection.break_off(TOO_MANY);
            return Next::Close(node, Loss::Changed);
        }
        let expected = dirs.entry(number).or_default();
        if expected.node.is_some() || expected.lost.is_some() {
            // No honest sender says that twice.
            return Next::Close(node, Loss::Changed);
        }
        *unlisted -= usize::from(was_said);
        let closed = expected.early.iter().find_map(|said| match said {
            Said::Closed(loss, _) => Some(*loss),
            _ => None,
        });
        if let Some(loss) = closed {
            dirs.remove(&number);
            return Next::Close(node, loss);
        }
        expected.node = Some(Arc::clone(&node));
        if expected.facts.is_some() { Next::Begin(node) } else { Next::Nothing }
    }

    /// Notes that a directory that was listed is not mirrored; returns what was said of it before.
    pub(crate) fn lost(&self, number: u64, why: &Lost) -> Vec<Said> {
        let mut all = self.dirs();
        let Dirs { expected: dirs, unlisted } = &mut *all;
        let was_said = dirs.contains_key(&number);
        if !was_said && dirs.len() >= MOST_DIRS {
            self.connection.break_off(TOO_MANY);
            return Vec::new();
        }
        let expected = dirs.entry(number).or_default();
        if expected.lost.is_some() {
            // No honest sender lists it twice.
            return Vec::new();
        }
        if expected.node.is_none() {
            *unlisted -= usize::from(was_said);
        }
        if let Lost::Failed(node) = why {
            node.hold();
        }
        expected.lost = Some(why.clone());
        expected.site = None;
        let early = std::mem::take(&mut expected.early);
        if early.iter().any(Said::is_last) {
            dirs.remove(&number);
        }
        early
    }

    /// Takes what was said of a directory.
    ///
    /// # Errors
    ///
    /// That it makes no sense.
    pub(crate) fn heard(&self, number: u64, said: Said) -> Result<Next, Broken> {
        let mut all = self.dirs();
        let Dirs { expected: dirs, unlisted } = &mut *all;
        if !dirs.contains_key(&number) {
            *unlisted += 1;
            if dirs.len() >= MOST_DIRS || *unlisted > MOST_UNLISTED {
                return Err(TOO_MANY);
            }
        }
        let expected = dirs.entry(number).or_default();
        if let Some(why) = expected.lost.clone() {
            if said.is_last() {
                dirs.remove(&number);
            }
            return Ok(Next::Forget(said, why));
        }
        if let Some(site) = expected.site.clone() {
            if said.is_last() {
                dirs.remove(&number);
            }
            return Ok(Next::Do(site, said));
        }
        match (said, expected.node.clone()) {
            (Said::Entered(_) | Said::Closed(..), _) if expected.was_entered => {
                Err(Broken::Nonsense("a directory that was entered before"))
            }
            _ if expected.early.iter().any(Said::is_last) => {
                Err(Broken::Nonsense("something behind the end of a directory"))
            }
            (Said::Entered(facts), node) => {
                expected.facts = Some(facts);
                expected.was_entered = true;
                Ok(node.map_or(Next::Nothing, Next::Begin))
            }
            (Said::Closed(loss, _room), Some(node)) => {
                dirs.remove(&number);
                Ok(Next::Close(node, loss))
            }
            (said, _) => {
                expected.early.push(said);
                Ok(Next::Nothing)
            }
        }
    }

    /// Takes what is known of a directory that is to be begun.
    pub(crate) fn facts(&self, number: u64) -> Option<Box<Entered>> {
        self.dirs().expected.get_mut(&number)?.facts.take()
    }

    /// Notes that a directory was begun; returns what was said of it before.
    pub(crate) fn begun(&self, number: u64, site: &Arc<Site>) -> Vec<Said> {
        let dirs = &mut self.dirs().expected;
        let Some(expected) = dirs.get_mut(&number) else { return Vec::new() };
        expected.site = Some(Arc::clone(site));
        let early = std::mem::take(&mut expected.early);
        if early.iter().any(Said::is_last) {
            dirs.remove(&number);
        }
        early
    }

    /// Asks for a file.
    pub(crate) fn ask(&self, asked: Asked, (window, item): (u64, u32)) {
        let have = asked.have;
        let request = self.requests.fetch_add(1, Relaxed);
        self.asked().insert(request, asked);
        self.connection.say(&FromReceiver::Fetch { request, window, item, have });
    }

    /// Returns what was asked for with this number, which is free then.
    ///
    /// # Errors
    ///
    /// That nothing was.
    pub(crate) fn answered(&self, request: u64) -> Result<Asked, Broken> {
        let asked = self.asked().remove(&request);
        asked.ok_or(Broken::Nonsense("an answer that nobody asked for"))
    }

    fn dirs(&self) -> MutexGuard<'_, Dirs> {
        self.dirs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn asked(&self) -> MutexGuard<'_, HashMap<u64, Asked>> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Said {
    /// Returns whether nothing more is said of the directory.
    pub(crate) fn is_last(&self) -> bool {
        matches!(self, Said::Left { .. } | Said::Closed(..))
    }
}

#[cfg(test)]
mod tests;
