//! Work that waits, such as directories to be listed, shared by the workers of a pool.
//!
//! Each worker keeps a stack of its own and gives away the older half of it (the larger
//! subtrees) only when another worker has nothing to do. Depth first keeps the stacks short and
//! the parent's descriptor warm. Who takes of what was given takes half of that too, so that no two
//! workers are at neighbours for long.
//!
//! # Before an arm
//!
//! On a cold disk with an arm all directories that wait are in one line, by inode number, and the
//! next one is the first beyond the one taken last, as a lift stops at floors: most file systems
//! keep inodes, and the blocks of directories, in the order of these numbers. On a tree of 16,177
//! directories that had been written in random order the arm moved 247 times; with one level of
//! the tree after the other 377 times, and 14,357 times in the order of the tree.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};

/// Work that waits for a worker. Their order is that of the line.
#[derive(Debug)]
pub struct Queue<T> {
    shared: Mutex<Shared<T>>,
    wake: Condvar,
    /// Workers that do not wait, and how many of them there may be.
    active: AtomicUsize,
    most: AtomicUsize,
    /// Workers that wait; none as long as there are some that rest, who go on first.
    idle: AtomicUsize,
}

#[derive(Debug)]
struct Shared<T> {
    ready: Vec<T>,
    /// What is for who is free first, one by one.
    offered: Vec<T>,
    line: BTreeSet<T>,
    /// What was taken from the line last.
    last: T,
    workers: usize,
    /// Those that do not wait, who has been at work longest first.
    at_work: Vec<ThreadId>,
    idle: usize,
    /// Workers that wait although they have something to do.
    resting: usize,
    closed: bool,
}

impl<T: Clone + Ord> Shared<T> {
    fn is_empty(&self) -> bool {
        self.ready.is_empty() && self.offered.is_empty() && self.line.is_empty()
    }

    /// Returns whether the calling thread is one of those that have been at work longest.
    fn is_among_first(&self, most: usize) -> bool {
        let this = thread::current().id();
        self.at_work.iter().take(most).any(|&worker| worker == this)
    }

    /// Takes a piece of work, and half of what else is ready into `own`.
    fn take(&mut self, own: &mut Vec<T>) -> Option<T> {
        if let Some(offered) = self.offered.pop() {
            return Some(offered);
        }
        if let Some(waiting) = self.ready.pop() {
            own.extend(self.ready.drain(self.ready.len() / 2..));
            return Some(waiting);
        }
        let beyond = self.line.range((Excluded(&self.last), Unbounded)).next();
        let next = beyond.or_else(|| self.line.first())?.clone();
        self.line.remove(&next);
        self.last = next.clone();
        Some(next)
    }
}

impl<T: Clone + Ord> Queue<T> {
    /// Returns a queue with one piece of work in it.
    pub fn new(start: T) -> Queue<T> {
        let shared = Mutex::new(Shared {
            ready: vec![start.clone()],
            offered: Vec::new(),
            line: BTreeSet::new(),
            last: start,
            workers: 0,
            at_work: Vec::new(),
            idle: 0,
            resting: 0,
            closed: false,
        });
        Queue {
            shared,
            wake: Condvar::new(),
            active: AtomicUsize::new(0),
            most: AtomicUsize::new(usize::MAX),
            idle: AtomicUsize::new(0),
        }
    }

    /// Counts one more worker. Every worker MUST do this once, before anything else.
    pub fn join(&self) {
        let mut shared = self.lock();
        shared.workers += 1;
        shared.at_work.push(thread::current().id());
        self.active.store(shared.at_work.len(), Relaxed);
    }

    /// Returns what a worker does next, from `own` if there is something, else from what waits for any
    /// worker; `None` once every worker is out of work.
    ///
    /// If there are too many workers ([`Queue::limit`]), those that came to work last wait here until they are
    /// wanted again, and the others go on with what they have, which is far from each other. Who waits keeps
    /// `own`: what others would make of it may be close to what they are at.
    pub fn next(&self, own: &mut Vec<T>) -> Option<T> {
        if let Some(waiting) = own.pop_if(|_| !self.is_crowded()) {
            return Some(waiting);
        }
        let mut shared = self.lock();
        if shared.is_among_first(self.most.load(Relaxed))
            && let Some(waiting) = own.pop()
        {
            return Some(waiting);
        }
        let rests = usize::from(!own.is_empty());
        shared.resting += rests;
        self.waits(&mut shared, true);
        if shared.resting > rests && shared.is_empty() {
            // Who rests has work that is far from all other.
            self.wake.notify_all();
        }
        let next = loop {
            if shared.closed {
                break None;
            }
            let may_go = self.active.load(Relaxed) < self.most.load(Relaxed);
            if let Some(next) = may_go.then(|| own.pop().or_else(|| shared.take(own))).flatten() {
                break Some(next);
            }
            if shared.idle == shared.workers && shared.is_empty() {
                // Somebody may go on who rests, or nobody has anything to do.
                shared.closed = shared.resting == 0;
                self.wake.notify_all();
            }
            if shared.closed {
                break None;
            }
            shared = self.wake.wait(shared).unwrap_or_else(PoisonError::into_inner);
        };
        shared.resting -= rests;
        self.waits(&mut shared, false);
        next
    }

    /// Counts a worker as one that waits, or no more so.
    fn waits(&self, shared: &mut Shared<T>, begins: bool) {
        let this = thread::current().id();
        if begins {
            shared.idle += 1;
            shared.at_work.retain(|&other| other != this);
        } else {
            shared.idle -= 1;
            shared.at_work.push(this);
        }
        let free = if shared.resting == 0 { shared.idle } else { 0 };
        self.idle.store(free, Relaxed);
        self.active.store(shared.at_work.len(), Relaxed);
    }

    /// Lets only so many workers go on, at least one.
    pub fn limit(&self, most: usize) {
        let _shared = self.lock();
        self.most.store(most.max(1), Relaxed);
        self.wake.notify_all();
    }

    /// Returns how many workers may go on.
    pub fn most(&self) -> usize {
        self.most.load(Relaxed)
    }

    /// Begins anew, the work that comes first in order first, after all workers have left.
    pub fn restart(&self, mut work: Vec<T>) {
        work.sort_unstable_by(|a, b| b.cmp(a));
        let mut shared = self.lock();
        shared.ready = work;
        shared.offered.clear();
        shared.line.clear();
        shared.at_work.clear();
        (shared.workers, shared.idle, shared.resting, shared.closed) = (0, 0, 0, false);
        self.idle.store(0, Relaxed);
        self.active.store(0, Relaxed);
    }

    /// Takes out what nobody has taken, after all workers have left.
    pub fn drain(&self) -> Vec<T> {
        let mut shared = self.lock();
        let mut rest = std::mem::take(&mut shared.ready);
        rest.extend(std::mem::take(&mut shared.offered));
        rest.extend(std::mem::take(&mut shared.line));
        rest
    }

    /// Returns whether more workers are at work than there may be: one of them has to ask for more.
    pub fn is_crowded(&self) -> bool {
        self.active.load(Relaxed) > self.most.load(Relaxed)
    }

    /// Returns whether [`Queue::next`] would have the calling worker wait, as there are too many.
    pub fn is_to_rest(&self) -> bool {
        self.is_crowded() && !self.lock().is_among_first(self.most.load(Relaxed))
    }

    /// Returns whether a worker is waiting for nothing but work.
    pub fn has_free(&self) -> bool {
        self.idle.load(Relaxed) > 0 && self.active.load(Relaxed) < self.most.load(Relaxed)
    }

    /// Returns whether all workers wait, or rest, but for one.
    pub fn is_one_at_work(&self) -> bool {
        self.active.load(Relaxed) < 2
    }

    /// Returns whether all workers but the one that asks wait, and there is nothing for them to do.
    pub fn others_wait(&self) -> bool {
        let shared = self.lock();
        shared.is_empty() && shared.workers > 1 && shared.idle + 1 == shared.workers
    }

    /// Gives away the older half of `own` if a worker is waiting.
    pub fn share(&self, own: &mut Vec<T>) {
        if !self.has_free() || own.len() < 2 {
            return;
        }
        let half = own.len() / 2;
        self.lock().ready.extend(own.drain(..half));
        self.wake.notify_all();
    }

    /// Gives a piece of work to whoever is free first.
    pub fn offer(&self, work: T) {
        self.lock().offered.push(work);
        self.wake.notify_all();
    }

    /// Returns how much is in line.
    pub fn in_line(&self) -> usize {
        self.lock().line.len()
    }

    /// Puts all of `own` in line.
    pub fn enqueue_sorted(&self, own: &mut Vec<T>) {
        if own.is_empty() {
            return;
        }
        self.lock().line.extend(own.drain(..));
        if self.has_free() {
            self.wake.notify_all();
        }
    }

    /// Takes the next in line for which `is` holds.
    pub fn take_if(&self, is: impl Fn(&T) -> bool) -> Option<T> {
        let mut shared = self.lock();
        let beyond = shared.line.range((Excluded(&shared.last), Unbounded)).find(|next| is(next));
        let next = beyond.or_else(|| shared.line.iter().find(|next| is(next)))?.clone();
        shared.line.remove(&next);
        shared.last = next.clone();
        Some(next)
    }

    /// Returns a guard that closes the queue when it is dropped by a panic, so that the other
    /// workers do not wait for ever for the one that is gone.
    pub fn close_on_panic(&self) -> CloseOnPanic<'_, T> {
        CloseOnPanic(self)
    }

    /// Lets every worker stop at its next look.
    pub fn close(&self) {
        self.lock().closed = true;
        self.wake.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, Shared<T>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Closes a queue when it is dropped by a panic.
#[derive(Debug)]
#[must_use = "it guards until it is dropped"]
pub struct CloseOnPanic<'a, T: Clone + Ord>(&'a Queue<T>);

impl<T: Clone + Ord> Drop for CloseOnPanic<'_, T> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Barrier, Mutex};

    use super::Queue;

    #[test]
    fn who_takes_of_what_is_ready_takes_half() {
        let queue = Queue::new(0);
        queue.restart((0..8).collect());
        let take = || {
            queue.join();
            let mut own = Vec::new();
            (queue.next(&mut own), own)
        };
        assert_eq!(take(), (Some(0), vec![4, 3, 2, 1]));
        let second = std::thread::scope(|scope| scope.spawn(take).join().expect("no panic"));
        assert_eq!(second, (Some(5), vec![6]));
    }

    #[test]
    fn of_the_line_only_some_are_taken_in_order_and_from_its_beginning_again() {
        let queue = Queue::new(0);
        queue.restart(Vec::new());
        queue.enqueue_sorted(&mut vec![9, 2, 5, 4, 7, 3]);
        let is_odd = |number: &i32| number % 2 == 1;
        let odd = || std::iter::from_fn(|| queue.take_if(is_odd));
        assert_eq!(odd().take(2).collect::<Vec<_>>(), [3, 5]);
        queue.enqueue_sorted(&mut vec![1, 8]);
        assert_eq!(odd().collect::<Vec<_>>(), [7, 9, 1]);
        assert_eq!(queue.in_line(), 3);
    }

    #[test]
    fn those_at_work_first_go_on_and_then_those_that_rested() {
        let queue = Queue::new(0);
        queue.restart(Vec::new());
        let (done, joined) = (Mutex::new(Vec::new()), Barrier::new(2));
        let work = |mut own: Vec<i32>| {
            while let Some(task) = queue.next(&mut own) {
                done.lock().expect("no panic").push(task);
            }
        };
        queue.join();
        std::thread::scope(|scope| {
            let later = scope.spawn(|| {
                queue.join();
                queue.limit(1);
                joined.wait();
                work(vec![4, 3]);
            });
            joined.wait();
            work(vec![2, 1]);
            later.join().expect("no panic");
        });
        assert_eq!(done.into_inner().expect("no panic"), [1, 2, 3, 4]);
    }
}
