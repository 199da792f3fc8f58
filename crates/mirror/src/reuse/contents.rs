//! What is known of contents: from earlier, as hints, and of those that were mirrored in this run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::dir_state::Waiter;
use crate::engine::entry::Name;
use crate::model::content::Holder;

/// Contents of which it is remembered where they are.
const KNOWN: usize = 1 << 16;

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
