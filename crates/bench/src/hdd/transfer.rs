//! The threads behind the file system: one plays the head, and a few move the bytes.
//!
//! Each [`Transfer`] goes to the thread that simulates the disk head. This thread holds all waiting
//! transfers, chooses the next, and sleeps for as long as the disk is busy with it. A mover then reads or writes the
//! backing file and answers the kernel while the head serves the next transfer. A slow backing file
//! therefore does not add to the simulated disk time, and the session thread never blocks.
//!
//! # Ending
//!
//! The threads end when the last [`RequestQueue`] is dropped and every request is answered.

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

/// Number of threads that move bytes. With four threads, a slow read of the backing file does not
/// delay the others.
const MOVERS: usize = 4;

/// A read from the disk, or a write to it.
#[derive(Debug)]
pub(super) struct Transfer {
    /// Offset on the disk.
    pub(super) at: u64,
    /// Direction of the transfer, with the reply.
    pub(super) what: What,
}

/// The direction of a transfer, with the handle that answers the kernel's request.
#[derive(Debug)]
pub(super) enum What {
    /// Sends this number of bytes to the kernel.
    Read(u32, ReplyData),
    /// Receives these bytes from the kernel.
    Write(Vec<u8>, ReplyWrite),
}

impl Transfer {
    /// Returns the offset and the length.
    fn place(&self) -> (u64, u64) {
        match &self.what {
            What::Read(len, _) => (self.at, u64::from(*len)),
            What::Write(data, _) => (self.at, data.len() as u64),
        }
    }

    /// Reads or writes the backing file, and answers the kernel.
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

/// A request to allocate, zero or punch a range of the backing file. It needs no seek.
#[derive(Debug)]
pub(super) struct Allocation {
    /// Offset on the disk.
    pub(super) at: u64,
    /// Length in bytes.
    pub(super) len: u64,
    /// The mode.
    pub(super) how: FallocateFlags,
    /// The kernel's request to answer.
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

/// The next task of a mover.
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

/// The head, shared between threads.
#[derive(Debug, Clone)]
pub(super) struct SharedHead(Arc<Mutex<Head>>);

impl SharedHead {
    pub(super) fn new(head: Head) -> Self {
        Self(Arc::new(Mutex::new(head)))
    }

    /// Returns the work of the head so far, including the request that it is serving.
    pub(super) fn usage(&self) -> Usage {
        self.with(|head| head.usage())
    }

    /// Returns the work of the head so far and its position.
    pub(super) fn state(&self) -> (Usage, u64) {
        self.with(|head| (head.usage(), head.position()))
    }

    /// Runs `f` on the head. A panic in `f` cannot leave the head in an inconsistent state.
    fn with<T>(&self, f: impl FnOnce(&mut Head) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The handle through which the file system submits requests.
#[derive(Debug)]
pub(super) struct RequestQueue {
    arriving: Sender<Transfer>,
    tasks: Sender<Task>,
}

impl RequestQueue {
    /// Queues a transfer for the head.
    pub(super) fn transfer(&self, transfer: Transfer) {
        submit(&self.arriving, transfer);
    }

    /// Queues an allocation, which bypasses the head.
    pub(super) fn allocate(&self, allocation: Allocation) {
        submit(&self.tasks, Task::Allocation(allocation));
    }
}

/// Sends a request to the threads, which live as long as any [`RequestQueue`].
///
/// If the threads have ended, the request is dropped and the kernel receives EIO.
fn submit<T>(to: &Sender<T>, request: T) {
    to.send(request).unwrap_or_else(|SendError(lost)| drop(lost));
}

/// Starts the threads.
///
/// # Errors
///
/// A thread cannot be started. Threads that were already started then end on their own.
pub(super) fn start(
    head: SharedHead,
    health: &Health,
    backing: File,
    scale: f64,
) -> io::Result<(RequestQueue, Vec<JoinHandle<()>>)> {
    let (arriving, arrivals) = channel();
    let (tasks, due) = channel();
    let (backing, due) = (Arc::new(backing), Arc::new(Mutex::new(due)));
    let mut threads = Vec::with_capacity(MOVERS + 1);
    for _ in 0..MOVERS {
        let (backing, due, health) = (Arc::clone(&backing), Arc::clone(&due), health.clone());
        threads.push(spawn("mover", move || run_mover(&backing, &due, &health))?);
    }
    let served = tasks.clone();
    threads.push(spawn("hdd", move || {
        run_head(&head, scale, &arrivals, Transfer::place, |transfer| {
            submit(&served, Task::Transfer(transfer));
        });
    })?);
    Ok((RequestQueue { arriving, tasks }, threads))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Serves transfers until all senders are gone.
///
/// An idle head starts with the first transfer that arrives. Transfers that arrive while the head
/// is busy wait, and the nearest is served first. The head must not collect everything that has
/// arrived by the time this thread wakes up. Otherwise, it would sort the bursts that the kernel
/// sends to an idle disk. Real drives do not do that. With a multi-threaded duplicate finder, such
/// sorting saved 11 % of the seeks.
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
            // Arrivals are collected before the reply is sent. A request that is sent in response
            // to this reply therefore comes too late for the next choice.
            waiting.extend(arrivals.try_iter());
            served(next);
        }
    }
}

/// Removes and serves the nearest transfer. Returns the transfer and its duration in seconds.
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

fn run_mover(backing: &File, due: &Mutex<Receiver<Task>>, health: &Health) {
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

    /// Returns the order in which waiting requests at these offsets are served.
    fn order(offsets: &[u64]) -> Vec<u64> {
        let (arriving, arrivals) = channel();
        for at in offsets {
            submit(&arriving, *at);
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
    fn all_submitted_requests_are_served_before_the_head_ends() {
        let offsets = (0..100).map(|n| n * 37 % 100 * MIB).collect::<Vec<_>>();
        let mut served = order(&offsets);
        served.sort_unstable();
        assert_eq!(served, (0..100).map(|n| n * MIB).collect::<Vec<_>>());
    }
}
