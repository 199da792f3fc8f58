//! The contract between the server and the program that answers requests.

use std::time::Instant;

use super::request::Request;
use super::response::Response;

/// Answers the requests of one thread of a server.
///
/// The server creates a handler for each of its threads, so a handler needs no locks for what it
/// keeps. [`Handler::handle`] runs between the reads and writes of all connections of the thread. It
/// MUST NOT wait for a disk or a lock: work that may wait is returned as [`Reply::Later`].
pub trait Handler: Sized {
    /// Answers a request. `now` is the time at which the thread woke up.
    fn handle(&mut self, request: &Request<'_>, now: Instant) -> Reply<Self>;

    /// Called about once a second, to free what is not needed any more.
    fn tidy(&mut self, now: Instant);
}

/// The answer to a request.
pub enum Reply<H> {
    /// The response.
    Ready(Response),
    /// Work for another thread. The connection waits for it; other connections go on.
    Later(Job<H>),
}

/// Work that runs on a thread that may wait for a disk.
pub type Job<H> = Box<dyn FnOnce() -> Finish<H> + Send>;

/// The end of a job, which runs on the thread of the handler and returns the response.
pub type Finish<H> = Box<dyn FnOnce(&mut H) -> Response + Send>;
