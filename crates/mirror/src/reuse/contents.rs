//! What is known of contents: from earlier, as hints, and of those that were mirrored in this run.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::engine::dir_state::Waiter;
use crate::engine::entry;
use crate::model::content::ContentHolder;

/// Contents of which it is remembered where they are.
const MAX_CONTENTS: usize = 1 << 16;

/// Contents of the source that it has said the digests of.
#[derive(Debug, Default)]
pub(crate) struct ContentIndex(Mutex<HashMap<[u8; 32], ContentState>>);

#[derive(Debug)]
enum ContentState {
    /// It was asked for; these wait for it.
    Coming(Vec<Waiter>),
    Here(ContentHolder),
}

/// What is known of a content that is needed.
pub(crate) enum Lookup {
    Found(ContentHolder),
    /// It is waited for.
    Pending,
    /// Nothing.
    Unknown,
}

impl ContentIndex {
    /// Returns where a content is; if it is on its way, `name` waits for it unless others wait for that.
    pub(crate) fn look_up(
        &self,
        digest: [u8; 32],
        entry: entry::Entry<'_>,
        may_wait: bool,
    ) -> Lookup {
        let mut all = self.all();
        let has_room = all.len() < MAX_CONTENTS;
        match all.entry(digest) {
            Entry::Occupied(mut found) => match found.get_mut() {
                ContentState::Here(holder) => Lookup::Found(holder.clone()),
                ContentState::Coming(waiters) if may_wait => {
                    waiters.push(entry.waiter());
                    Lookup::Pending
                }
                ContentState::Coming(_) => Lookup::Unknown,
            },
            Entry::Vacant(free) => {
                if has_room && may_wait {
                    free.insert(ContentState::Coming(Vec::new()));
                }
                Lookup::Unknown
            }
        }
    }

    /// Notes where a content is now, or that it did not come; returns who waited for it.
    pub(crate) fn resolve(&self, digest: [u8; 32], holder: Option<ContentHolder>) -> Vec<Waiter> {
        let mut all = self.all();
        let before = match (all.get(&digest), holder) {
            (Some(ContentState::Here(_)), _) => return Vec::new(),
            (None, Some(_)) if all.len() >= MAX_CONTENTS => return Vec::new(),
            (_, Some(holder)) => all.insert(digest, ContentState::Here(holder)),
            (_, None) => all.remove(&digest),
        };
        match before {
            Some(ContentState::Coming(waiters)) => waiters,
            _ => Vec::new(),
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<[u8; 32], ContentState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
