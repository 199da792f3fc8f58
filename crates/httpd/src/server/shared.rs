//! State that all threads of a server use, and the messages between threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rustls::ServerConfig;

use super::handler::Finish;
use super::listener::Listener;
use super::output::Worked;
use super::pool::Pool;
use super::rates::Rates;

/// State that all threads of a server use.
pub(super) struct Shared {
    pub(super) listener: Listener,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) rates: Rates,
    pub(super) places: Arc<Places>,
    pub(super) pool: Arc<Pool>,
    pub(super) is_stopping: Arc<AtomicBool>,
}

/// The places for connections. Threads have no shares of their own, because the kernel chooses the thread
/// that accepts a connection.
#[derive(Debug)]
pub(super) struct Places {
    free: AtomicUsize,
}

/// The place of a connection, which is free again when this value is dropped.
#[derive(Debug)]
pub(super) struct Place(Arc<Places>);

impl Places {
    pub(super) fn new(count: usize) -> Arc<Places> {
        Arc::new(Places { free: AtomicUsize::new(count) })
    }

    /// Takes a place, if one is free.
    pub(super) fn take(self: &Arc<Self>) -> Option<Place> {
        let taken = self.free.fetch_update(Relaxed, Relaxed, |free| free.checked_sub(1));
        taken.is_ok().then(|| Place(Arc::clone(self)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.free.fetch_add(1, Relaxed);
    }
}

/// A message from another thread.
pub(super) enum Message<H> {
    /// A thread has neither a place for a new connection, nor one that it could close.
    Accept,
    /// The response to a request.
    Finished(u64, Finish<H>),
    /// Work for a body was done.
    Worked(u64, Worked),
    /// A job panicked.
    Panicked(u64),
}
