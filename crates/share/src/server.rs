//! The server of a directory.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fsops::Dir;
use httpd::server::{Activity, Listener, Monitor, Rates, Server, Settings, Stopper};

use crate::cache::{Bounds, Counters};
use crate::handler::{FileHandler, Shared};

/// Maximum number of bytes of small files that the caches of all threads keep.
const CACHE_BYTES: usize = 64 << 20;

/// Maximum number of files that the caches of all threads keep open. The kernel keeps about 1.5 KiB
/// for each of them.
const CACHE_FILES: usize = 1 << 17;

/// A directory, and how it is served.
#[derive(Debug)]
pub struct Options {
    /// The directory.
    pub directory: PathBuf,
    /// The listening socket.
    pub listener: Listener,
    /// Limits of rates.
    pub rates: Rates,
}

/// A server of a directory.
pub struct Share {
    server: Server<FileHandler>,
    shared: Arc<Shared>,
}

/// Counters of a server since it started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Connections, requests and bytes.
    pub activity: Activity,
    /// Requests answered without a system call on the file.
    pub hits: u64,
    /// Requests answered from the cache after the file was checked.
    pub checked: u64,
    /// Requests for which a file was opened, or found missing.
    pub misses: u64,
    /// Paths in the cache.
    pub entries: u64,
    /// Bytes of small files in the cache.
    pub cached_bytes: u64,
}

/// Reads the statistics of a server.
#[derive(Clone)]
pub struct StatisticsReader {
    monitor: Monitor,
    counters: Arc<Counters>,
}

impl Share {
    /// Opens the directory. Clients wait until [`Share::run`].
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be opened, or the socket cannot be prepared.
    pub fn new(options: Options) -> io::Result<Share> {
        let root = Dir::open(&options.directory)?;
        let device = root.stat()?.device;
        let local_device = root.volume()?.is_local(device).then_some(device);
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // Half of the descriptors are for connections, a quarter is for the caches.
        let descriptors = runtime::raise_descriptor_limit();
        let bounds = Bounds {
            entries: (descriptors / 4).min(CACHE_FILES) / threads,
            bytes: CACHE_BYTES / threads,
        };
        let settings = Settings {
            listener: options.listener,
            tls: None,
            rates: options.rates,
            threads,
            connections: descriptors / 2,
        };
        let counters = Arc::default();
        let shared = Arc::new(Shared { root, local_device, bounds, counters });
        Ok(Share { server: Server::new(settings)?, shared })
    }

    /// Returns the address of a TCP socket, with the port that the system chose.
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        self.server.tcp_address()
    }

    /// Returns a handle that stops the server.
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Returns a handle that reads the statistics.
    pub fn statistics_reader(&self) -> StatisticsReader {
        let counters = Arc::clone(&self.shared.counters);
        StatisticsReader { monitor: self.server.monitor(), counters }
    }

    /// Serves until the server is stopped.
    ///
    /// # Errors
    ///
    /// Fails if the threads cannot start.
    pub fn run(self) -> io::Result<()> {
        let Share { server, shared } = self;
        server.run(|_| FileHandler::new(&shared))
    }
}

impl StatisticsReader {
    /// Returns the counters.
    pub fn read(&self) -> Statistics {
        let counters = &self.counters;
        Statistics {
            activity: self.monitor.activity(),
            hits: counters.hits.load(Relaxed),
            checked: counters.checked.load(Relaxed),
            misses: counters.misses.load(Relaxed),
            entries: counters.entries.load(Relaxed),
            cached_bytes: counters.bytes.load(Relaxed),
        }
    }
}
