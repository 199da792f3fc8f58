//! A least-recently-used cache of open directories.

use std::rc::Rc;

use fsops::Dir;

/// A least-recently-used cache of open directories. Each thread has its own.
///
/// Lookups compare the keys one by one, starting with the newest entry. This is fast because a
/// worker keeps few directories open and mostly uses the newest ones.
#[derive(Debug)]
pub struct DirCache<K> {
    open: Vec<Entry<K>>,
    capacity: usize,
    /// Number of calls to `get` and `put`.
    clock: u64,
}

#[derive(Debug)]
struct Entry<K> {
    key: K,
    used: u64,
    dir: Rc<Dir>,
}

impl<K> DirCache<K> {
    /// Returns a cache for `capacity` directories, or for one directory if `capacity` is 0.
    pub fn new(capacity: usize) -> DirCache<K> {
        DirCache { open: Vec::new(), capacity: capacity.max(1), clock: 0 }
    }

    /// Returns the newest open directory whose key satisfies `is`.
    pub fn get(&mut self, is: impl Fn(&K) -> bool) -> Option<Rc<Dir>> {
        self.clock += 1;
        let entry = self.open.iter_mut().rev().find(|entry| is(&entry.key))?;
        entry.used = self.clock;
        Some(Rc::clone(&entry.dir))
    }

    /// Adds an open directory. If the cache is full, calls `evict` with the least recently used
    /// directory and closes that directory.
    pub fn put(&mut self, key: K, dir: Dir, evict: impl FnOnce(&K, &Dir)) -> Rc<Dir> {
        self.clock += 1;
        let dir = Rc::new(dir);
        let entry = Entry { key, used: self.clock, dir: Rc::clone(&dir) };
        if self.open.len() < self.capacity {
            self.open.push(entry);
        } else if let Some(oldest) = self.open.iter_mut().min_by_key(|entry| entry.used) {
            evict(&oldest.key, &oldest.dir);
            *oldest = entry;
        }
        dir
    }

    /// Removes the newest directory whose key satisfies `is`, and returns it. The caller can then
    /// check that no other reference keeps the directory open.
    pub fn close(&mut self, is: impl Fn(&K) -> bool) -> Option<Rc<Dir>> {
        let at = self.open.iter().rposition(|entry| is(&entry.key))?;
        Some(self.open.swap_remove(at).dir)
    }

    /// Closes all directories and calls `evict` for each.
    pub fn clear(&mut self, evict: impl Fn(&K, &Dir)) {
        for entry in self.open.drain(..) {
            evict(&entry.key, &entry.dir);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use fsops::Dir;

    use super::DirCache;

    fn dir() -> Dir {
        Dir::open(".".as_ref()).expect("the working directory")
    }

    #[test]
    fn the_least_recently_used_directory_is_evicted() {
        let evicted = RefCell::new(Vec::new());
        let evict = |key: &u32, _: &Dir| evicted.borrow_mut().push(*key);
        let mut cache = DirCache::new(2);
        cache.put(1, dir(), evict);
        cache.put(2, dir(), evict);
        assert!(cache.get(|&key| key == 1).is_some());
        cache.put(3, dir(), evict);
        assert_eq!(*evicted.borrow(), [2]);
        assert!(
            cache.get(|&key| key == 2).is_none()
                && cache.get(|&key| key == 1).is_some()
                && cache.get(|&key| key == 3).is_some()
        );
        cache.clear(evict);
        assert_eq!(evicted.borrow().len(), 3);
    }

    #[test]
    fn closed_directories_leave_the_cache() {
        let mut cache = DirCache::new(0);
        cache.put(1, dir(), |_, _| ());
        assert!(cache.close(|&key| key == 2).is_none());
        assert!(cache.close(|&key| key == 1).is_some());
        assert!(cache.get(|&key| key == 1).is_none());
    }
}
