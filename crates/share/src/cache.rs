//! The cache of a thread: open files, the contents of small files, and names that do not exist.
//!
//! A request whose path is in the cache costs no system call on the file. An entry is used for at most
//! [`FRESH`] after it was checked; the caller then checks it again or removes it. The cache is bounded
//! in entries, because each holds a descriptor, and in bytes. Both are freed by the clock algorithm:
//! a hand goes round the entries and takes those that were not used since it last came by.
//!
//! The hand for contents takes only a few steps for a new content. If it finds none that is unused,
//! the new content stays out. Otherwise a set of files that is larger than the cache would replace
//! all of it again and again, and no request would find anything.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use hashbrown::HashTable;
use httpd::server::{Bytes, Counter};

/// Time for which an entry is used without a check.
pub(crate) const FRESH: Duration = Duration::from_secs(1);

/// Time after which an entry that was not used is removed, so that no descriptor keeps a deleted file
/// or a mount for long.
const IDLE: Duration = Duration::from_secs(60);

/// Number of entries that a hand passes for a new content.
const STEPS: usize = 8;

/// Number of parts in which idle entries are looked for, one at each call of [`Cache::tidy`].
const PARTS: usize = 16;

/// The size of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Maximum number of entries.
    pub(crate) entries: usize,
    /// Maximum number of bytes of contents.
    pub(crate) bytes: usize,
}

/// Counters of one thread. Only this thread changes them; any thread may read them.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Requests answered without a system call on the file.
    pub(crate) hits: Counter,
    /// Requests answered from an entry after it was checked.
    pub(crate) checked: Counter,
    /// Requests for which a path was searched.
    pub(crate) misses: Counter,
    /// Entries in the cache.
    pub(crate) entries: Counter,
    /// Bytes of contents in the cache.
    pub(crate) bytes: Counter,
}

/// A cache of values of the type `V`, each with the path of a request.
pub(crate) struct Cache<V> {
    hasher: RandomState,
    index: HashTable<usize>,
    slots: Vec<Slot<V>>,
    bounds: Bounds,
    bytes: usize,
    /// The next entry to be removed, if it is unused.
    hand: usize,
    /// The next content to be removed, if it is unused.
    content_hand: usize,
    part: usize,
    counters: Arc<Counters>,
}

struct Slot<V> {
    path: Box<[u8]>,
    value: V,
    content: Option<Bytes>,
    checked: Instant,
    used: Instant,
    /// True if the entry was used since the hand came by.
    is_used: bool,
    is_content_used: bool,
}

/// An entry that a request found.
pub(crate) struct Entry<'c, V> {
    /// The value.
    pub(crate) value: &'c V,
    /// The content of the file, if the cache has it.
    pub(crate) content: Option<&'c Bytes>,
    /// True if the entry can be used without a check.
    pub(crate) is_fresh: bool,
}

impl<V> Cache<V> {
    pub(crate) fn new(bounds: Bounds, counters: Arc<Counters>) -> Cache<V> {
        Cache {
            hasher: RandomState::new(),
            index: HashTable::new(),
            slots: Vec::new(),
            bounds,
            bytes: 0,
            hand: 0,
            content_hand: 0,
            part: 0,
            counters,
        }
    }

    /// Returns the entry of a path.
    pub(crate) fn get(&mut self, path: &[u8], now: Instant) -> Option<Entry<'_, V>> {
        let at = self.find(path)?;
        let slot = &mut self.slots[at];
        let is_fresh = now.saturating_duration_since(slot.checked) < FRESH;
        (slot.is_used, slot.is_content_used, slot.used) = (true, true, now);
        Some(Entry { value: &slot.value, content: slot.content.as_ref(), is_fresh })
    }

    /// Notes that the entry of a path was checked and is still true.
    pub(crate) fn renew(&mut self, path: &[u8], now: Instant) {
        if let Some(at) = self.find(path) {
            self.slots[at].checked = now;
        }
    }

    /// Adds an entry, or replaces the one of this path.
    pub(crate) fn insert(&mut self, path: &[u8], value: V, now: Instant) {
        self.remove(path);
        if self.bounds.entries == 0 {
            return;
        }
        while self.slots.len() >= self.bounds.entries {
            self.evict();
        }
        let slot = Slot {
            path: path.into(),
            value,
            content: None,
            checked: now,
            used: now,
            is_used: false,
            is_content_used: false,
        };
        let at = self.slots.len();
        let hash = self.hasher.hash_one(path);
        let (hasher, slots) = (&self.hasher, &self.slots);
        self.index.insert_unique(hash, at, |&other| hasher.hash_one(&*slots[other].path));
        self.slots.push(slot);
        self.counters.entries.add(1);
    }

    /// Adds the content of a file to its entry if there is room.
    pub(crate) fn set_content(&mut self, path: &[u8], content: &Bytes) {
        let Some(at) = self.find(path) else { return };
        self.drop_content(at);
        if content.len() > self.bounds.bytes / 2 {
            return;
        }
        for _ in 0..STEPS {
            if self.bytes + content.len() <= self.bounds.bytes {
                break;
            }
            self.content_hand = (self.content_hand + 1) % self.slots.len();
            if !std::mem::take(&mut self.slots[self.content_hand].is_content_used) {
                self.drop_content(self.content_hand);
            }
        }
        if self.bytes + content.len() <= self.bounds.bytes {
            self.slots[at].content = Some(Arc::clone(content));
            self.bytes += content.len();
            self.counters.bytes.add(content.len() as u64);
        }
    }

    /// Removes the entry of a path.
    pub(crate) fn remove(&mut self, path: &[u8]) {
        if let Some(at) = self.find(path) {
            self.remove_at(at);
        }
    }

    /// Removes entries that were not used for a while. A call looks at a part of the entries.
    pub(crate) fn tidy(&mut self, now: Instant) {
        self.part = (self.part + 1) % PARTS;
        let length = self.slots.len().div_ceil(PARTS);
        let from = self.part * length;
        for at in from..from + length {
            let is_idle = |slot: &Slot<V>| now.saturating_duration_since(slot.used) > IDLE;
            // The last entry takes the place of a removed one.
            while self.slots.get(at).is_some_and(is_idle) {
                self.remove_at(at);
            }
        }
    }

    fn find(&self, path: &[u8]) -> Option<usize> {
        let is_same = |&at: &usize| *self.slots[at].path == *path;
        self.index.find(self.hasher.hash_one(path), is_same).copied()
    }

    /// Removes the first entry that was not used since the hand came by.
    fn evict(&mut self) {
        loop {
            self.hand = (self.hand + 1) % self.slots.len();
            if !std::mem::take(&mut self.slots[self.hand].is_used) {
                return self.remove_at(self.hand);
            }
        }
    }

    fn remove_at(&mut self, at: usize) {
        self.drop_content(at);
        let hash = self.hasher.hash_one(&*self.slots[at].path);
        if let Ok(found) = self.index.find_entry(hash, |&other| other == at) {
            found.remove();
        }
        let last = self.slots.len() - 1;
        if at != last {
            let hash = self.hasher.hash_one(&*self.slots[last].path);
            if let Some(other) = self.index.find_mut(hash, |&other| other == last) {
                *other = at;
            }
        }
        self.slots.swap_remove(at);
        self.counters.entries.subtract(1);
    }

    fn drop_content(&mut self, at: usize) {
        if let Some(content) = self.slots[at].content.take() {
            self.bytes -= content.len();
            self.counters.bytes.subtract(content.len() as u64);
        }
    }
}

impl<V> Drop for Cache<V> {
    fn drop(&mut self) {
        self.counters.entries.subtract(self.slots.len() as u64);
        self.counters.bytes.subtract(self.bytes as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use httpd::server::Bytes;

    use super::{Bounds, Cache, Counters, FRESH, IDLE, PARTS};

    fn cache(entries: usize, bytes: usize) -> Cache<u32> {
        Cache::new(Bounds { entries, bytes }, Arc::default())
    }

    fn path(n: u32) -> Vec<u8> {
        format!("/f{n}").into_bytes()
    }

    fn content(length: usize) -> Bytes {
        vec![7; length].into()
    }

    #[test]
    fn an_entry_is_fresh_until_it_has_to_be_checked() {
        let (mut cache, start) = (cache(10, 0), Instant::now());
        cache.insert(b"/a", 1, start);
        assert!(cache.get(b"/a", start).is_some_and(|entry| entry.is_fresh && *entry.value == 1));
        assert!(cache.get(b"/a", start + FRESH).is_some_and(|entry| !entry.is_fresh));
        cache.renew(b"/a", start + FRESH);
        assert!(cache.get(b"/a", start + FRESH).is_some_and(|entry| entry.is_fresh));
        cache.remove(b"/a");
        assert!(cache.get(b"/a", start).is_none());
    }

    #[test]
    fn the_number_of_entries_is_bounded_and_used_ones_stay() {
        let (mut cache, now) = (cache(100, 0), Instant::now());
        for n in 0..1000 {
            cache.insert(&path(n), n, now);
            assert!(n == 0 || cache.get(&path(0), now).is_some(), "the first is used all the time");
        }
        assert_eq!(cache.slots.len(), 100);
        for n in 0..1000 {
            if let Some(entry) = cache.get(&path(n), now) {
                assert_eq!(*entry.value, n);
            }
        }
        assert_eq!(cache.counters.entries.get(), 100);
    }

    #[test]
    fn contents_are_bounded_and_a_large_set_does_not_displace_all_of_them() {
        let (mut cache, now) = (cache(10_000, 1000), Instant::now());
        for n in 0..1000 {
            cache.insert(&path(n), n, now);
            cache.set_content(&path(n), &content(10));
            assert!(cache.bytes <= 1000);
        }
        let has = |cache: &mut Cache<u32>, n| {
            cache.get(&path(n), now).is_some_and(|entry| entry.content.is_some())
        };
        let kept: Vec<u32> = (0..1000).filter(|&n| has(&mut cache, n)).collect();
        assert_eq!(kept.len(), 100);
        // All kept contents are in use, so new ones have to wait.
        cache.set_content(&path(1001), &content(10));
        assert_eq!(kept.iter().filter(|&&n| has(&mut cache, n)).count(), 100);
        cache.set_content(&path(kept[0]), &content(900));
        assert!(!has(&mut cache, kept[0]), "more than half of the cache");
    }

    #[test]
    fn idle_entries_are_removed() {
        let counters: Arc<Counters> = Arc::default();
        let mut cache = Cache::new(Bounds { entries: 100, bytes: 100 }, Arc::clone(&counters));
        let start = Instant::now();
        for n in 0..100 {
            cache.insert(&path(n), n, start);
            cache.set_content(&path(n), &content(1));
        }
        let later = start + IDLE + Duration::from_secs(1);
        for n in 0..50 {
            cache.get(&path(n), later);
        }
        for _ in 0..3 * PARTS {
            cache.tidy(later);
        }
        assert_eq!((cache.slots.len(), cache.bytes), (50, 50));
        assert_eq!(counters.bytes.get(), 50);
        drop(cache);
        assert_eq!((counters.entries.get(), counters.bytes.get()), (0, 0));
    }
}
