//! The server of directories.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use httpd::certificate::Certificate;
use httpd::hosts::Hosts;
use httpd::secret::Secret;
use httpd::server::{Address, Listener, Rates, Server, Settings};
use walk::OwnFiles;

pub use httpd::server::Stopper;

use crate::access::Access;
use crate::archive::Plans;
use crate::cache::Bounds;
use crate::error::Error;
use crate::facts::Facts;
use crate::handler::FileHandler;
use crate::listing::Budget;
use crate::roots::Roots;
use crate::shared::{Shared, Warn};
use crate::statistics::StatisticsReader;

/// Maximum number of bytes of small files that the caches of all threads keep.
const CACHE_BYTES: usize = 64 << 20;

/// Maximum number of files that the caches of all threads keep open. The kernel keeps about 1.5 KiB
/// for each of them.
const CACHE_FILES: usize = 1 << 17;

/// The directories, and how they are served.
pub struct Options {
    /// The directories. Each of several is below its name.
    pub directories: Vec<PathBuf>,
    /// Where to listen.
    pub listen: Address,
    /// Rate limits.
    pub rates: Rates,
    /// True if requests need no token.
    pub is_public: bool,
    /// The file that keeps the token from one start to the next. `None` for a new token at each start.
    pub token_file: Option<PathBuf>,
    /// The file that keeps the certificate. `None` for connections without encryption.
    pub certificate: Option<PathBuf>,
    /// Further host names by which browsers may reach the server.
    pub hosts: Vec<String>,
    /// The catalog, for digests and the sizes of folders.
    pub catalog: Option<PathBuf>,
    /// lop's own files, which are not shared.
    pub own: Vec<PathBuf>,
    /// True if there is a page with statistics, at `/?stats`.
    pub has_statistics_page: bool,
    /// Called with each problem that the person who started the server should know.
    pub warn: Warn,
}

/// A server of directories.
pub struct Share {
    server: Server<FileHandler>,
    shared: Arc<Shared>,
    statistics: StatisticsReader,
    bounds: Bounds,
    address: Address,
    fingerprint: Option<String>,
}

impl Share {
    /// Opens the directories and starts to listen. Clients wait until [`Share::run`].
    ///
    /// # Errors
    ///
    /// Fails if a directory, the address, the token file or the certificate cannot be used, or if the system has
    /// no random numbers.
    pub fn bind(options: Options) -> Result<Share, Error> {
        let roots = Roots::open(&options.directories, OwnFiles::new(&options.own))?;
        let failed = |source| Error::Listen { address: options.listen.clone(), source };
        let listener = Listener::bind(&options.listen).map_err(failed)?;
        let address = match &listener {
            Listener::Tcp(listener) => Address::Tcp(listener.local_addr().map_err(failed)?),
            Listener::Unix(_) => options.listen.clone(),
        };
        let names = names(&address, options.hosts);
        let certificate = options.certificate.map(|file| {
            let opened = Certificate::open(&file, tcp(&address), &names);
            opened.map_err(|source| Error::Certificate { file, source })
        });
        let certificate = certificate.transpose()?;
        let token = match options.token_file {
            _ if options.is_public => None,
            None => Some(Secret::random()?),
            Some(file) => {
                let kept = Secret::kept_in(&file);
                Some(kept.map_err(|source| Error::TokenFile { file, source })?)
            }
        };
        let hosts = match &address {
            Address::Tcp(address) => Some(Hosts::new(address.ip(), &names)),
            Address::Unix(_) => None,
        };
        let access = Access::new(hosts, token, tcp(&address).port(), certificate.is_some());

        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        // Half of the descriptors are for connections, a quarter is for the caches.
        let descriptors = runtime::raise_descriptor_limit();
        let bounds = Bounds {
            entries: (descriptors / 4).min(CACHE_FILES) / threads,
            bytes: CACHE_BYTES / threads,
        };
        let settings = Settings {
            listener,
            tls: certificate.as_ref().map(|certificate| Arc::clone(&certificate.config)),
            rates: options.rates,
            threads,
            connections: descriptors / 2,
        };
        let server = Server::new(settings).map_err(Error::Start)?;
        let statistics = StatisticsReader::new(server.monitor(), threads);
        let paths = roots.all().iter().map(|root| root.absolute(b"")).collect();
        let shared = Shared {
            access,
            facts: Facts::new(options.catalog, paths),
            plans: Plans::default(),
            listings: Budget::default(),
            warn: options.warn,
            statistics: options.has_statistics_page.then(|| statistics.clone()),
            roots,
        };
        let fingerprint = certificate.map(|certificate| certificate.fingerprint);
        Ok(Share { server, shared: Arc::new(shared), statistics, bounds, address, fingerprint })
    }

    /// Returns where the server listens, with the port that the system chose.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Returns the URL that the user opens, with the token if there is one. `host` is the name or address and
    /// port by which the user can reach the server.
    pub fn url_at(&self, host: &str) -> String {
        let scheme = if self.fingerprint.is_some() { "https" } else { "http" };
        let token = self.shared.access.token();
        let query = token.map(|token| format!("?token={token}")).unwrap_or_default();
        format!("{scheme}://{host}/{query}")
    }

    /// Returns the SHA-256 fingerprint of the certificate, as browsers show it.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// Returns a handle that stops the server.
    pub fn stopper(&self) -> Stopper {
        self.server.stopper()
    }

    /// Returns a handle that reads the statistics.
    pub fn statistics_reader(&self) -> StatisticsReader {
        self.statistics.clone()
    }

    /// Serves until the server is stopped.
    ///
    /// # Errors
    ///
    /// Fails if the threads cannot start.
    pub fn run(self) -> Result<(), Error> {
        let Share { server, shared, statistics, bounds, .. } = self;
        let handler = |index: usize| FileHandler::new(&shared, bounds, statistics.counters(index));
        server.run(handler).map_err(Error::Start)
    }
}

/// Returns the TCP address of a server. A Unix socket has none, so that parts of a certificate and of the
/// name of a cookie are those of any local server.
fn tcp(address: &Address) -> SocketAddr {
    match address {
        Address::Tcp(address) => *address,
        Address::Unix(_) => SocketAddr::from(([127, 0, 0, 1], 0)),
    }
}

/// Returns the names by which clients may reach the server: those that the user named and, in a network, the
/// name of this machine, also as multicast DNS has it.
fn names(address: &Address, mut names: Vec<String>) -> Vec<String> {
    let is_local = tcp(address).ip().is_loopback();
    let node = rustix::system::uname().nodename().to_str().map(str::to_owned);
    if let Some(node) = node.ok().filter(|node| !is_local && !node.is_empty()) {
        if !node.contains('.') {
            names.push(format!("{node}.local"));
        }
        names.push(node);
    }
    names
}
