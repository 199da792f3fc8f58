//! An index of the contents that this run knows by digest: where they are, or that they are on their way.

use runtime::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::MutexGuard;

use crate::engine::dir_state::Waiter;
use crate::engine::entry;
use crate::model::content::ContentHolder;

/// The most contents in the index.
const MAX_CONTENTS: usize = 1 << 16;

/// Contents by the digest that the sender told.
#[derive(Debug, Default)]
pub(crate) struct ContentIndex(Mutex<HashMap<[u8; 32], ContentState>>);

#[derive(Debug)]
enum ContentState {
    /// The content was requested from the sender; these names wait for it.
    Coming(Vec<Waiter>),
    Here(ContentHolder),
}

/// What the index knows of a content.
pub(crate) enum Lookup {
    Found(ContentHolder),
    /// The name waits until the content has arrived.
    Pending,
    /// Nothing, so the caller has to get the content.
    Unknown,
}

impl ContentIndex {
    /// Returns where a content is. If it is on its way and `may_wait` is set, the name waits for it.
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

    /// Notes where a content is now, or that it did not arrive. Returns the names that waited for it.
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
        self.0.lock()
    }
}
