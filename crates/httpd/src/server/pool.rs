//! Threads for work that may wait for a disk or another server.
//!
//! Threads start when there is work for them, and end after a while without work. A disk that does not
//! answer holds the threads that wait for it; the threads of the connections go on.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use runtime::{Condvar, Mutex};
use rustix::event::{EventfdFlags, eventfd};

/// Maximum number of threads. Disks with many heads or queues answer this many reads side by side.
const MAX_THREADS: usize = 64;

/// Time after which a thread without work ends.
const IDLE_TIME: Duration = Duration::from_secs(10);

/// A piece of work.
type Task = Box<dyn FnOnce() + Send>;

/// The threads, shared by all threads of a server.
#[derive(Default)]
pub(super) struct Pool {
    queue: Mutex<Queue>,
    work: Condvar,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    threads: usize,
    idle: usize,
}

impl Pool {
    /// Runs a task on one of the threads.
    pub(super) fn run(self: &Arc<Self>, task: Task) {
        let mut queue = self.queue.lock();
        queue.tasks.push_back(task);
        if queue.tasks.len() <= queue.idle || queue.threads >= MAX_THREADS {
            self.work.notify_one();
            return;
        }
        queue.threads += 1;
        drop(queue);
        let pool = Arc::clone(self);
        let started = std::thread::Builder::new().name("file".into()).spawn(move || pool.work());
        if started.is_err() {
            // The system has no more threads. One of ours takes the task, or else this thread does.
            let mut queue = self.queue.lock();
            queue.threads -= 1;
            let own = if queue.threads == 0 { queue.tasks.pop_front() } else { None };
            drop(queue);
            if let Some(task) = own {
                task();
            }
        }
    }

    fn work(&self) {
        let mut queue = self.queue.lock();
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                drop(queue);
                task();
                queue = self.queue.lock();
                continue;
            }
            queue.idle += 1;
            let (now, is_late) = self.work.wait_timeout(queue, IDLE_TIME);
            queue = now;
            queue.idle -= 1;
            if is_late && queue.tasks.is_empty() {
                queue.threads -= 1;
                return;
            }
        }
    }
}

/// Messages to a thread that waits for events. A message wakes the thread.
pub(super) struct Mailbox<M> {
    messages: Mutex<Vec<M>>,
    bell: OwnedFd,
}

impl<M> Mailbox<M> {
    pub(super) fn new() -> io::Result<Mailbox<M>> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Mailbox { messages: Mutex::default(), bell })
    }

    /// Leaves a message.
    pub(super) fn send(&self, message: M) {
        self.messages.lock().push(message);
        self.ring();
    }

    /// Wakes the thread.
    pub(super) fn ring(&self) {
        // The counter is full only if the thread has not come to read it, and then it will wake up.
        let _full = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    /// Takes all messages.
    pub(super) fn take(&self) -> Vec<M> {
        let _empty = rustix::io::read(&self.bell, &mut [0u8; 8]);
        std::mem::take(&mut *self.messages.lock())
    }
}

impl<M> AsFd for Mailbox<M> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::sync::{Arc, Barrier};

    use super::{MAX_THREADS, Mailbox, Pool};

    #[test]
    fn tasks_that_wait_do_not_keep_others_from_running() {
        let pool = Arc::new(Pool::default());
        let all = Arc::new(Barrier::new(MAX_THREADS + 1));
        for _ in 0..MAX_THREADS {
            let all = Arc::clone(&all);
            pool.run(Box::new(move || {
                all.wait();
            }));
        }
        all.wait();
        let (done, wait) = channel();
        for n in 0..1000 {
            let done = done.clone();
            pool.run(Box::new(move || done.send(n).expect("received")));
        }
        drop(done);
        assert_eq!(wait.into_iter().count(), 1000);
    }

    #[test]
    fn messages_arrive_once_and_in_order() {
        let mailbox = Mailbox::new().expect("a mailbox");
        mailbox.send(1);
        mailbox.send(2);
        assert_eq!(mailbox.take(), [1, 2]);
        assert!(mailbox.take().is_empty());
    }
}
