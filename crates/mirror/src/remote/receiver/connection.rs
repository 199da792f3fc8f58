//! Flow.

use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use wire::{Broken, FromReceiver, Outgoing};

/// Bytes that came and were not dealt with yet, but for listings: small files, metadata of directories.
const MAX_BUFFERED_BYTES: usize = 2 << 20;

/// How long to wait before looking again whether to stop.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The connection to the sender, as far as the receiver writes to it.
#[derive(Debug)]
pub(crate) struct Connection {
    out: Arc<Outgoing<File>>,
    /// Bytes of listings that were not dealt with to their end.
    listed_cost: AtomicUsize,
    buffered: Mutex<usize>,
    buffer_freed: Condvar,
    is_broken: AtomicBool,
    /// Why, if that was found out here.
    why: Mutex<Option<Broken>>,
    is_done: AtomicBool,
}

/// Tells the sender, when it is dropped, that a listing is dealt with.
#[derive(Debug)]
pub(crate) struct ListingCredit {
    connection: Weak<Connection>,
    window: u64,
    cost: usize,
}

/// Gives back, when it is dropped, what something took of the room for what is not dealt with.
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
            connection.say(&FromReceiver::Release { window: self.window });
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

    /// Says something; that nobody listens any more shows soon where messages are read.
    pub(crate) fn say(&self, message: &FromReceiver<'_>) {
        if let Err(why) = self.out.say(message, &[]) {
            self.break_off(why);
        }
    }

    /// Sends what was said.
    pub(crate) fn flush(&self) {
        if let Err(why) = self.out.flush() {
            self.break_off(why);
        }
    }

    /// Says that nothing more is needed, unless names were left out as there is nobody to talk to.
    pub(crate) fn finish(&self) {
        if self.is_broken() {
            return;
        }
        self.is_done.store(true, Relaxed);
        self.say(&FromReceiver::Done);
        self.flush();
    }

    /// Returns whether that was said.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done.load(Relaxed)
    }

    /// Returns whether there is nobody to talk to.
    pub(crate) fn is_broken(&self) -> bool {
        self.is_broken.load(Relaxed)
    }

    /// Ends the conversation.
    pub(crate) fn break_off(&self, why: Broken) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.set_broken();
    }

    /// Returns why it was ended here.
    pub(crate) fn why(&self) -> Option<Broken> {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn set_broken(&self) {
        self.is_broken.store(true, Relaxed);
        self.buffer_freed.notify_all();
    }

    /// Returns what a listing takes of what the sender may send ahead.
    ///
    /// # Errors
    ///
    /// That it sent more.
    pub(crate) fn take_credit(
        self: &Arc<Connection>,
        window: u64,
        cost: usize,
    ) -> Result<ListingCredit, Broken> {
        let before = self.listed_cost.fetch_add(cost, Relaxed);
        if before >= wire::CREDIT {
            return Err(Broken::Nonsense("listings that nobody has room for"));
        }
        Ok(ListingCredit { connection: Arc::downgrade(self), window, cost })
    }

    /// Returns whether there is room for more bytes that are to be dealt with.
    pub(crate) fn has_space(&self) -> bool {
        *self.buffered() <= MAX_BUFFERED_BYTES
    }

    /// Waits until there is room for more bytes that are to be dealt with, unless it is time to stop; `stuck` says
    /// whether nobody will make any.
    ///
    /// # Errors
    ///
    /// That nobody will: there is only what no honest sender says.
    pub(crate) fn wait_for_space(
        self: &Arc<Connection>,
        bytes: usize,
        stopped: &dyn Fn() -> bool,
        stuck: &dyn Fn() -> bool,
    ) -> Result<BufferSpace, Broken> {
        let mut buffered = self.buffered();
        while *buffered > MAX_BUFFERED_BYTES && !stopped() && !self.is_broken() {
            let waited = self.buffer_freed.wait_timeout(buffered, STOP_POLL);
            let (now, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if timeout.timed_out() && stuck() && *now > MAX_BUFFERED_BYTES {
                return Err(Broken::Nonsense("more than can be dealt with"));
            }
            buffered = now;
        }
        *buffered += bytes;
        Ok(BufferSpace { connection: Arc::downgrade(self), bytes })
    }

    fn buffered(&self) -> MutexGuard<'_, usize> {
        self.buffered.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
