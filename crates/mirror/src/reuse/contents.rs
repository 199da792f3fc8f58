//! An index of file contents by digest. It records which file has the content, or that the content is being
//! transferred.

use runtime::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::MutexGuard;

use crate::engine::dir_state::Waiter;
use crate::engine::entry;
use crate::model::content::ContentHolder;

/// Maximum number of digests in the index.
const MAX_CONTENTS: usize = 1 << 16;

/// File contents, indexed by the digests that the sender reported.
#[derive(Debug, Default)]
pub(crate) struct ContentIndex(Mutex<HashMap<[u8; 32], ContentState>>);

#[derive(Debug)]
enum ContentState {
    /// The content was requested from the sender, and these names wait for it.
    Coming(Vec<Waiter>),
    Here(ContentHolder),
}

/// Result of looking up a digest.
pub(crate) enum Lookup {
    Found(ContentHolder),
    /// The content is being transferred, and the name waits for it.
    Pending,
    /// No content is known for the digest. The caller has to request it.
    Unknown,
}

impl ContentIndex {
    /// Looks up a digest. If the content is being transferred and `may_wait` is set, the name waits for it. If the
    /// digest is unknown and `may_wait` is set, the content is recorded as requested.
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

    /// Records which file has the content now, or that the content did not arrive. Returns the names that waited for
    /// the content.
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
