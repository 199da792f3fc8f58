//! State that all threads of a server use, and the messages between threads.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustls::ServerConfig;

use super::handler::Finish;
use super::limits::Rates;
use super::listener::Listener;
use super::output::Worked;
use super::pool::Pool;

/// State that all threads of a server use.
pub(super) struct Shared {
    pub(super) listener: Listener,
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) rates: Rates,
    /// Maximum number of connections of a thread.
    pub(super) max_connections: usize,
    pub(super) pool: Arc<Pool>,
    pub(super) is_stopping: Arc<AtomicBool>,
}

/// A message from another thread.
pub(super) enum Message<H> {
    /// The response to a request.
    Finished(u64, Finish<H>),
    /// Work for a body was done.
    Worked(u64, Worked),
    /// A job panicked.
    Panicked(u64),
}
