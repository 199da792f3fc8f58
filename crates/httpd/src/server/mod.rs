//! The server: a few threads that each handle many connections.
//!
//! | module | contents |
//! |---|---|
//! | `listener` | the listening socket |
//! | `worker` | a thread: events, connections and their timeouts |
//! | `drive` | what happens on a connection: requests in, responses out |
//! | `connection` | the state of a connection |
//! | `request` | parsing of heads |
//! | `response`, `output` | responses, and their way to the socket |
//! | `stream` | plain and encrypted sockets |
//! | `handler` | the contract with the program that answers requests |
//! | `pool` | threads for work that may wait for a disk |
//! | `poll`, `alarms` | waiting for events and times |
//! | `rates` | rate limits |
//! | `shared` | state of all threads, and their messages |
//! | `clock`, `limits`, `counters` | the time of a turn, limits, statistics |
//! | `testing` | a connection for fuzzers (feature `testing`) |
//!
//! # Performance
//!
//! A request that the handler answers from memory takes three system calls: one wait for events, one
//! read, one write. Several connections share the wait. Events are reported once for each change
//! (`EPOLLET`), so a connection is registered once and never changed. An idle connection has no
//! buffer. Large bodies go from the page cache to the socket by `sendfile(2)`.
//!
//! # Waiting
//!
//! The threads with the connections never wait for a disk: a part of a file that is not in the page
//! cache is sent or read by a thread of the pool.

mod alarms;
mod clock;
mod connection;
mod counters;
mod drive;
mod handler;
mod limits;
mod listener;
mod output;
mod poll;
mod pool;
mod rates;
mod request;
mod response;
mod shared;
mod stream;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod worker;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustls::ServerConfig;

pub use counters::{Activity, Counter};
pub use handler::{Finish, Handler, Job, Reply};
pub use listener::{Address, Listener, UnixSocket};
pub use rates::Rates;
pub use request::{Method, OwnedRequest, Request};
pub use response::{Body, Bytes, FileRange, Head, Part, Parts, Response, Served, read_exactly};

use counters::Counters;
use pool::{Mailbox, Pool};
use shared::{Message, Places, Shared};
use worker::Worker;

/// Least number of connections, however few descriptors the process may have.
const MIN_CONNECTIONS: usize = 8;

/// The settings of a server.
#[derive(Debug)]
pub struct Settings {
    /// The listening socket.
    pub listener: Listener,
    /// The certificate and key. `None` for connections without encryption.
    pub tls: Option<Arc<ServerConfig>>,
    /// Rate limits.
    pub rates: Rates,
    /// Number of threads.
    pub threads: usize,
    /// Maximum number of connections of all threads.
    pub connections: usize,
}

/// A server whose handlers have the type `H`.
pub struct Server<H> {
    shared: Arc<Shared>,
    threads: Vec<Thread<H>>,
}

/// The ends of a thread that others use.
struct Thread<H> {
    counters: Arc<Counters>,
    mailbox: Arc<Mailbox<Message<H>>>,
}

/// Stops a server.
#[derive(Clone)]
pub struct Stopper(Arc<dyn Fn() + Send + Sync>);

/// Reads the counters of a server.
#[derive(Clone)]
pub struct Monitor(Arc<[Arc<Counters>]>);

impl<H: Handler + 'static> Server<H> {
    /// Prepares a server. Clients wait until [`Server::run`].
    ///
    /// # Errors
    ///
    /// Fails if an option of the socket cannot be set, or if the process has no descriptors left.
    pub fn new(settings: Settings) -> io::Result<Server<H>> {
        settings.listener.prepare()?;
        let count = settings.threads.max(1);
        let shared = Shared {
            listener: settings.listener,
            tls: settings.tls,
            rates: settings.rates,
            places: Places::new(settings.connections.max(MIN_CONNECTIONS)),
            pool: Arc::new(Pool::default()),
            is_stopping: Arc::default(),
        };
        let thread =
            |_| Ok(Thread { counters: Arc::default(), mailbox: Arc::new(Mailbox::new()?) });
        let threads: io::Result<_> = (0..count).map(thread).collect();
        Ok(Server { shared: Arc::new(shared), threads: threads? })
    }

    /// Returns the address of a TCP socket, with the port that the system chose.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match &self.shared.listener {
            Listener::Tcp(listener) => listener.local_addr().ok(),
            Listener::Unix(_) => None,
        }
    }

    /// Returns a handle that stops the server.
    pub fn stopper(&self) -> Stopper {
        // A handle that outlives the server does not keep the socket open.
        let is_stopping = Arc::clone(&self.shared.is_stopping);
        let mailboxes: Vec<_> = self.threads.iter().map(|t| Arc::clone(&t.mailbox)).collect();
        Stopper(Arc::new(move || {
            is_stopping.store(true, Ordering::Relaxed);
            for mailbox in &mailboxes {
                mailbox.ring();
            }
        }))
    }

    /// Returns a handle that reads the counters.
    pub fn monitor(&self) -> Monitor {
        Monitor(self.threads.iter().map(|thread| Arc::clone(&thread.counters)).collect())
    }

    /// Serves until the server is stopped. `handler` makes the handler of each thread.
    ///
    /// # Errors
    ///
    /// Fails if the threads cannot start.
    ///
    /// # Panics
    ///
    /// If a handler panics. The other threads stop first.
    pub fn run(self, handler: impl Fn(usize) -> H + Sync) -> io::Result<()> {
        let stopper = self.stopper();
        let Server { shared, threads } = self;
        let (handler, shared) = (&handler, &shared);
        let mut next: Vec<_> = threads.iter().map(|thread| Arc::clone(&thread.mailbox)).collect();
        next.rotate_left(1);
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..)
                .zip(threads.into_iter().zip(next))
                .map(|(index, (thread, next)): (usize, _)| {
                    let (stop, failed) = (stopper.clone(), stopper.clone());
                    let work = move || {
                        let _stopped = runtime::on_panic(move || stop.stop());
                        let worker = Worker::new(shared, thread, next, handler(index));
                        worker.map(|mut worker| worker.run()).inspect_err(|_| failed.stop())
                    };
                    let name = format!("http-{index}");
                    let thread = std::thread::Builder::new().name(name).spawn_scoped(scope, work);
                    thread.inspect_err(|_| stopper.stop())
                })
                .collect();
            let mut outcome = Ok(());
            for thread in threads {
                let ended = thread.map(|thread| match thread.join() {
                    Ok(ended) => ended,
                    Err(panic) => std::panic::resume_unwind(panic),
                });
                outcome = outcome.and(ended.and_then(|ended| ended));
            }
            outcome
        })
    }
}

impl Stopper {
    /// Asks the server to finish the open responses within two seconds and end.
    pub fn stop(&self) {
        (self.0)();
    }
}

impl Monitor {
    /// Returns the counters.
    pub fn activity(&self) -> Activity {
        Activity::of(&self.0)
    }
}
