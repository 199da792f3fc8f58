//! What is known of contents: from earlier, as hints, and of those that were mirrored in this run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::CString;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fsops::Stat;

use crate::engine::dir_state::Waiter;
use crate::model::dir_node::Node;
use crate::reconcile::decide::Name;

/// Bytes of the smallest files that are looked for: less is copied in the time that the search takes.
pub const SMALLEST: u64 = 16 << 10;

/// Contents of which it is remembered where they are.
const KNOWN: usize = 1 << 16;

/// What is remembered of contents from earlier.
pub trait Memory: Send + Sync + fmt::Debug {
    /// Returns what is known of the content of a file of the source, by the directory's path below the top.
    fn of_source(&self, dir: &[u8], name: &[u8], stat: &Stat) -> Option<Hint>;

    /// Returns paths below the destination's top where a file with this content may be, or one that had
    /// this size and time of modification, perhaps with this name.
    fn in_destination(&self, name: &[u8], stat: &Stat, digest: Option<&[u8; 32]>) -> Vec<Vec<u8>>;
}

/// What is known of a file of the source, if it has not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    /// BLAKE3 of it.
    pub digest: [u8; 32],
    /// Another file with that content, as a path below the top; empty if there is none.
    pub also: Vec<u8>,
}

/// Where a content may be.
#[derive(Clone, Debug)]
pub(crate) enum Holder {
    /// At a path below the destination's top.
    Below(Vec<u8>),
    /// In a file that was mirrored before.
    Mirrored(Arc<Node>, CString),
}

/// Contents of the source that it has said the digests of.
#[derive(Debug, Default)]
pub(crate) struct Contents(Mutex<HashMap<[u8; 32], Whereabouts>>);

#[derive(Debug)]
enum Whereabouts {
    /// It was asked for; these wait for it.
    Coming(Vec<Waiter>),
    Here(Holder),
}

/// What is known of a content that is needed.
pub(crate) enum Needed {
    Here(Holder),
    /// It is waited for.
    Waits,
    /// Nothing.
    Nowhere,
}

impl Contents {
    /// Returns where a content is; if it is on its way, `name` waits for it unless others wait for that.
    pub(crate) fn need(&self, digest: [u8; 32], name: Name<'_>, may_wait: bool) -> Needed {
        let mut all = self.all();
        let has_room = all.len() < KNOWN;
        match all.entry(digest) {
            Entry::Occupied(mut found) => match found.get_mut() {
                Whereabouts::Here(holder) => Needed::Here(holder.clone()),
                Whereabouts::Coming(waiters) if may_wait => {
                    waiters.push(name.waiter());
                    Needed::Waits
                }
                Whereabouts::Coming(_) => Needed::Nowhere,
            },
            Entry::Vacant(free) => {
                if has_room && may_wait {
                    free.insert(Whereabouts::Coming(Vec::new()));
                }
                Needed::Nowhere
            }
        }
    }

    /// Notes where a content is now, or that it did not come; returns who waited for it.
    pub(crate) fn settle(&self, digest: [u8; 32], holder: Option<Holder>) -> Vec<Waiter> {
        let mut all = self.all();
        let before = match (all.get(&digest), holder) {
            (Some(Whereabouts::Here(_)), _) => return Vec::new(),
            (None, Some(_)) if all.len() >= KNOWN => return Vec::new(),
            (_, Some(holder)) => all.insert(digest, Whereabouts::Here(holder)),
            (_, None) => all.remove(&digest),
        };
        match before {
            Some(Whereabouts::Coming(waiters)) => waiters,
            _ => Vec::new(),
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<[u8; 32], Whereabouts>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
