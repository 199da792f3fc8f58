//! The threads behind the file system: one that is the head, and a few that move the bytes.
//!
//! A [`Transfer`] goes to the head's thread, which holds all that wait, chooses, books and sleeps for
//! as long as the head is busy; then to the movers, who read or write the backing file and answer
//! the kernel. While they do so the head is already on its way to the next, so that the backing
//! file's own slowness does not add to the disk's, and the session's thread never waits for either.
//!
//! # Ending
//!
//! The threads end when the last [`Desk`] is gone and all that was handed in is answered.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fuser::{Errno, ReplyData, ReplyEmpty, ReplyWrite};
use rustix::fs::FallocateFlags;

use super::model::{Head, Usage};
use super::trouble::Health;

/// Threads that move bytes: enough that one slow read of the backing file delays no other.
const MOVERS: usize = 4;

/// What the head has to move for.
#[derive(Debug)]
pub(super) struct Transfer {
    /// Where in the disk.
    pub(super) at: u64,
    /// What, and who is to be answered.
    pub(super) what: What,
}

/// A direction, what is moved, and the kernel's request to answer.
#[derive(Debug)]
pub(super) enum What {
    /// So many bytes to the kernel.
    Read(u32, ReplyData),
    /// These bytes from the kernel.
    Write(Vec<u8>, ReplyWrite),
}

impl Transfer {
    /// Returns where it begins, and how many bytes it has.
    fn place(&self) -> (u64, u64) {
        match &self.what {
            What::Read(len, _) => (self.at, u64::from(*len)),
            What::Write(data, _) => (self.at, data.len() as u64),
        }
    }

    /// Does it and answers.
    fn carry_out(self, backing: &File, health: &Health) {
        let (at, len) = self.place();
        let met = health.meet(at, len);
        match self.what {
            What::Read(len, reply) => match met.and_then(|()| Ok(read(backing, at, len)?)) {
                Ok(data) => reply.data(&data),
                Err(e) => reply.error(e),
            },
            What::Write(data, reply) => match met
                .and_then(|()| Ok(backing.write_all_at(&data, at)?))
            {
                Ok(()) => reply.written(data.len().try_into().expect("the kernel counts it so")),
                Err(e) => reply.error(e),
            },
        }
    }
}

fn read(backing: &File, at: u64, len: u32) -> io::Result<Vec<u8>> {
    let mut data = vec![0; len as usize];
    backing.read_exact_at(&mut data, at)?;
    Ok(data)
}

/// Space to allocate, zero or free in the backing file: costs the head nothing.
#[derive(Debug)]
pub(super) struct Allocation {
    /// From where in the disk.
    pub(super) at: u64,
    /// How many bytes.
    pub(super) len: u64,
    /// How.
    pub(super) how: FallocateFlags,
    /// Who is to be answered.
    pub(super) reply: ReplyEmpty,
}

impl Allocation {
    fn carry_out(self, backing: &File) {
        match rustix::fs::fallocate(backing, self.how, self.at, self.len) {
            Ok(()) => self.reply.ok(),
            Err(e) => self.reply.error(Errno::from_i32(e.raw_os_error())),
        }
    }
}

/// What a mover does next.
#[derive(Debug)]
enum Task {
    Transfer(Transfer),
    Allocation(Allocation),
}

impl Task {
    fn carry_out(self, backing: &File, health: &Health) {
        match self {
            Self::Transfer(transfer) => transfer.carry_out(backing, health),
            Self::Allocation(allocation) => allocation.carry_out(backing),
        }
    }
}

/// The head as several threads see it.
#[derive(Debug, Clone)]
pub(super) struct SharedHead(Arc<Mutex<Head>>);

impl SharedHead {
    pub(super) fn new(head: Head) -> Self {
        Self(Arc::new(Mutex::new(head)))
    }

    /// Returns what it did so far; the request it is busy with is counted.
    pub(super) fn usage(&self) -> Usage {
        self.with(|head| head.usage())
    }

    /// Returns that, and where its head is.
    pub(super) fn state(&self) -> (Usage, u64) {
        self.with(|head| (head.usage(), head.position()))
    }

    /// Runs `f` on it; no panic can leave it half changed.
    fn with<T>(&self, f: impl FnOnce(&mut Head) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Where requests are handed in.
#[derive(Debug)]
pub(super) struct Desk {
    arriving: Sender<Transfer>,
    tasks: Sender<Task>,
}

impl Desk {
    /// Queues it for the head.
    pub(super) fn transfer(&self, transfer: Transfer) {
        hand_in(&self.arriving, transfer);
    }

    /// Has it done past the head.
    pub(super) fn allocate(&self, allocation: Allocation) {
        hand_in(&self.tasks, Task::Allocation(allocation));
    }
}

/// Sends to threads that are there as long as there is a [`Desk`].
///
/// Should they not be, dropping the reply tells the kernel EIO.
fn hand_in<T>(to: &Sender<T>, request: T) {
    to.send(request).unwrap_or_else(|SendError(lost)| drop(lost));
}

/// Starts the threads.
///
/// # Errors
///
/// One cannot be started; those that were end by themselves.
pub(super) fn start(
    head: SharedHead,
    health: &Health,
    backing: File,
    scale: f64,
) -> io::Result<(Desk, Vec<JoinHandle<()>>)> {
    let (arriving, arrivals) = channel();
    let (tasks, due) = channel();
    let (backing, due) = (Arc::new(backing), Arc::new(Mutex::new(due)));
    let mut threads = Vec::with_capacity(MOVERS + 1);
    for _ in 0..MOVERS {
        let (backing, due, health) = (Arc::clone(&backing), Arc::clone(&due), health.clone());
        threads.push(spawn("mover", move || be_mover(&backing, &due, &health))?);
    }
    let served = tasks.clone();
    threads.push(spawn("hdd", move || {
        run_head(&head, scale, &arrivals, Transfer::place, |transfer| {
            hand_in(&served, Task::Transfer(transfer));
        });
    })?);
    Ok((Desk { arriving, tasks }, threads))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Serves what arrives until nobody can hand in any more.
///
/// An idle head starts for the first that comes. What comes while it is busy waits, and is served
/// nearest first. To take in all that has come by the time this thread is awake would order the
/// bursts that the kernel sends to an idle disk, as no drive does: 11 % fewer seeks, measured with
/// a duplicate finder of many threads.
fn run_head<T>(
    head: &SharedHead,
    scale: f64,
    arrivals: &Receiver<T>,
    place: impl Fn(&T) -> (u64, u64),
    served: impl Fn(T),
) {
    while let Ok(first) = arrivals.recv() {
        let mut waiting = vec![first];
        while let Some((next, busy_s)) = head.with(|head| serve_nearest(head, &mut waiting, &place))
        {
            thread::sleep(Duration::from_secs_f64(busy_s * scale));
            // Before it is answered: the answer's next request comes too late for this turn.
            waiting.extend(arrivals.try_iter());
            served(next);
        }
    }
}

/// Takes the nearest out and has it served; returns it and the seconds it takes.
fn serve_nearest<T>(
    head: &mut Head,
    waiting: &mut Vec<T>,
    place: impl Fn(&T) -> (u64, u64),
) -> Option<(T, f64)> {
    let index = head.nearest(waiting.iter().map(|request| place(request).0))?;
    let next = waiting.remove(index);
    let (at, len) = place(&next);
    Some((next, head.serve(at, len)))
}

fn be_mover(backing: &File, due: &Mutex<Receiver<Task>>, health: &Health) {
    loop {
        let task = due.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(task) = task else { return };
        task.carry_out(backing, health);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::super::model::Mechanics;
    use super::*;

    const MIB: u64 = 1 << 20;

    /// Returns the order in which requests at these offsets, all there at once, are served.
    fn order(offsets: &[u64]) -> Vec<u64> {
        let (arriving, arrivals) = channel();
        for at in offsets {
            hand_in(&arriving, *at);
        }
        drop(arriving);
        let (head, order) = (Head::new(Mechanics::DESKTOP, 1 << 40), RefCell::new(Vec::new()));
        run_head(
            &SharedHead::new(head),
            0.0,
            &arrivals,
            |at| (*at, 4096),
            |at| order.borrow_mut().push(at),
        );
        order.into_inner()
    }

    #[test]
    fn an_idle_head_starts_for_the_first_and_then_takes_the_nearest() {
        assert_eq!(
            order(&[500 * MIB, 0, 800 * MIB, 499 * MIB, 501 * MIB]),
            [500 * MIB, 501 * MIB, 499 * MIB, 800 * MIB, 0]
        );
    }

    #[test]
    fn all_that_was_handed_in_is_served_before_the_head_ends() {
        let offsets = (0..100).map(|n| n * 37 % 100 * MIB).collect::<Vec<_>>();
        let mut served = order(&offsets);
        served.sort_unstable();
        assert_eq!(served, (0..100).map(|n| n * MIB).collect::<Vec<_>>());
    }
}
