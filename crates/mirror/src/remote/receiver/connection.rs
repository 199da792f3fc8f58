//! The receiver's end of the connection, with flow control.
//!
//! Flow control bounds how much unprocessed data the receiver holds in memory. A listing takes
//! credit, and dropping its [`ListingCredit`] returns that credit. Small files and directory
//! metadata take buffer space, and dropping their [`BufferSpace`] frees it. Every message kept in
//! memory MUST hold either credit or buffer space. Otherwise, a sender could exhaust the memory.

use runtime::{Condvar, Mutex};
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard, Weak};
use std::time::Duration;

use wire::{ConnectionError, FromReceiver, Outgoing};

/// The maximum size of buffered small files and directory metadata, in bytes. Listings are not
/// included.
const MAX_BUFFERED_BYTES: usize = 2 << 20;

/// The interval at which a waiting thread checks whether to stop.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The connection to the sender.
#[derive(Debug)]
pub(crate) struct Connection {
    out: Arc<Outgoing<File>>,
    /// The credit taken by unprocessed listings.
    listed_cost: AtomicUsize,
    buffered: Mutex<usize>,
    buffer_freed: Condvar,
    is_broken: AtomicBool,
    /// The error that made the receiver end the connection, if any.
    why: Mutex<Option<ConnectionError>>,
    is_done: AtomicBool,
}

/// The credit taken by a listing. Dropping it tells the sender that the listing has been processed.
#[derive(Debug)]
pub(crate) struct ListingCredit {
    connection: Weak<Connection>,
    window: u64,
    cost: usize,
}

/// The buffer space taken by a message. Dropping it frees the space.
#[derive(Debug, Default)]
pub(crate) struct BufferSpace {
    connection: Weak<Connection>,
    bytes: usize,
}

impl Drop for BufferSpace {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.upgrade() {
            let mut buffered = connection.buffered();
            *buffered = buffered.saturating_sub(self.bytes);
            if *buffered <= MAX_BUFFERED_BYTES {
                connection.buffer_freed.notify_one();
            }
        }
    }
}

impl Drop for ListingCredit {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.upgrade() {
            connection.listed_cost.fetch_sub(self.cost, Relaxed);
            connection.send(&FromReceiver::Release { window: self.window });
        }
    }
}

impl Connection {
    pub(crate) fn new(out: Arc<Outgoing<File>>) -> Arc<Connection> {
        Arc::new(Connection {
            out,
            listed_cost: AtomicUsize::new(0),
            buffered: Mutex::default(),
            buffer_freed: Condvar::new(),
            is_broken: AtomicBool::new(false),
            why: Mutex::default(),
            is_done: AtomicBool::new(false),
        })
    }

    /// Queues a message. Ends the run if the connection is lost.
    pub(crate) fn send(&self, message: &FromReceiver<'_>) {
        if let Err(why) = self.out.send(message, &[]) {
            self.break_off(why);
        }
    }

    /// Sends the queued messages.
    pub(crate) fn flush(&self) {
        if let Err(why) = self.out.flush() {
            self.break_off(why);
        }
    }

    /// Tells the sender that the receiver has everything it needs. Does nothing if the connection
    /// is broken.
    pub(crate) fn finish(&self) {
        if self.is_broken() {
            return;
        }
        self.is_done.store(true, Relaxed);
        self.send(&FromReceiver::Done);
        self.flush();
    }

    /// Returns whether [`Connection::finish`] was called.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Relaxed)
    }

    /// Returns whether the connection is broken.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Relaxed)
    }

    /// Ends the connection because of an error that the receiver detected.
    pub(crate) fn break_off(&self, why: ConnectionError) {
        self.why.lock().get_or_insert(why);
        self.set_broken();
    }

    /// Takes the error that made the receiver end the connection.
    pub(crate) fn why(&self) -> Option<ConnectionError> {
        self.why.lock().take()
    }

    pub(crate) fn set_broken(&self) {
        self.is_broken.store(true, Relaxed);
        self.buffer_freed.notify_all();
    }

    /// Takes credit for a listing.
    ///
    /// # Errors
    ///
    /// Fails if the sender has exceeded its credit.
    pub(crate) fn take_credit(
        self: &Arc<Connection>,
        window: u64,
        cost: usize,
    ) -> Result<ListingCredit, ConnectionError> {
        let before = self.listed_cost.fetch_add(cost, Relaxed);
        if before >= wire::LISTING_CREDIT_BYTES {
            return Err(ConnectionError::ProtocolViolation("listings beyond the credit"));
        }
        Ok(ListingCredit { connection: Arc::downgrade(self), window, cost })
    }

    /// Returns whether there is buffer space.
    pub(crate) fn has_space(&self) -> bool {
        *self.buffered() <= MAX_BUFFERED_BYTES
    }

    /// Waits until there is buffer space or `stopped` returns true. `stuck` returns true if no
    /// other thread will free buffer space.
    ///
    /// # Errors
    ///
    /// Fails if the buffer is full and no thread will free space. Only a faulty sender causes this.
    pub(crate) fn wait_for_space(
        self: &Arc<Connection>,
        bytes: usize,
        stopped: &dyn Fn() -> bool,
        stuck: &dyn Fn() -> bool,
    ) -> Result<BufferSpace, ConnectionError> {
        let mut buffered = self.buffered();
        while *buffered > MAX_BUFFERED_BYTES && !stopped() && !self.is_broken() {
            let (now, timed_out) = self.buffer_freed.wait_timeout(buffered, STOP_POLL);
            if timed_out && stuck() && *now > MAX_BUFFERED_BYTES {
                return Err(ConnectionError::ProtocolViolation("more than the buffer holds"));
            }
            buffered = now;
        }
        *buffered += bytes;
        Ok(BufferSpace { connection: Arc::downgrade(self), bytes })
    }

    fn buffered(&self) -> MutexGuard<'_, usize> {
        self.buffered.lock()
    }
}
