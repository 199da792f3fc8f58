//! The socket, the connections and their limits.
//!
//! One thread accepts and answers all requests; handlers hand slow work to a pool of threads. A client
//! that sends its headers slowly is dropped, and at most [`MAX_CONNECTIONS`] are open at a time, so a
//! hostile client in the network cannot exhaust memory or descriptors.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU64;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use fsops::socket;
use httpd::certificate::Certificate;
use httpd::hosts::Hosts;
use httpd::secret::Secret;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener as TokioListener;
use tokio::runtime::Builder;
use tokio::sync::{Notify, Semaphore};
use tokio_rustls::TlsAcceptor;

use crate::app::App;
use crate::app::disks::FILE_THREADS;
use crate::compress::compress;
use crate::error::Error;
use crate::error_page::show_errors;
use crate::gate::{Gate, pass};
use crate::options::Options;
use crate::pages;
use crate::stall::StallGuard;

/// Maximum number of open connections, if the process may have enough descriptors. A browser opens six, and
/// an idle connection takes about 10 KiB.
const MAX_CONNECTIONS: usize = 1024;

/// Maximum time that a client may take to send the head of a request. Also the time that an idle
/// connection stays open.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Time after which a client that takes no bytes of a response is dropped.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Limit for the unsent bytes in the socket of a connection with a limited rate. With the default of the
/// kernel, each slow client could hold megabytes.
const UNSENT: u32 = 128 << 10;

/// Maximum number of unsent bytes in such a socket. The kernel can exceed [`UNSENT`] by one segment of at
/// most 64 KiB.
const MOST_UNSENT: u64 = UNSENT as u64 + (64 << 10);

/// Maximum size of the head of a request, in bytes.
const MAX_HEAD: usize = 32 * 1024;

/// Maximum number of threads for slow work: for queries of pages, and for files, whose disks may not answer.
const BLOCKING_THREADS: usize = 8 + FILE_THREADS;

/// Delay before the next connection is accepted after one could not be.
const ACCEPT_DELAY: Duration = Duration::from_millis(50);

/// Interval at which the server frees memory that it does not need.
const TIDY_INTERVAL: Duration = Duration::from_secs(60);

/// Time that open requests have to finish when the server stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    stall_timeout: Duration,
    gate: Arc<Gate>,
    app: Arc<App>,
    tls: Option<Certificate>,
    stop: Stopper,
}

/// Stops a server.
#[derive(Clone, Debug, Default)]
pub struct Stopper(Arc<Notify>);

impl Stopper {
    /// Asks the server to finish the open requests and end.
    pub fn stop(&self) {
        self.0.notify_one();
    }
}

impl Server {
    /// Starts to listen. Connections wait until [`Server::run`].
    ///
    /// # Errors
    ///
    /// Fails if the address, the certificate or the token file cannot be used, or if the system has no random
    /// numbers.
    pub fn bind(options: Options) -> Result<Server, Error> {
        let address = options.listen;
        let failed = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        if let Some(rate) = options.rates.connection {
            limit_rate(&listener, rate).map_err(failed)?;
        }
        let address = listener.local_addr().map_err(failed)?;
        let hosts = Hosts::new(address.ip(), &options.hosts);
        let certificate = options.certificate.as_ref();
        let certificate = certificate.map(|file| {
            let opened = Certificate::open(file, address, &options.hosts);
            opened.map_err(|source| Error::Certificate { file: file.into(), source })
        });
        let tls = certificate.transpose()?;
        let token = options.token_file.as_ref();
        let token = match token {
            None => Secret::random()?,
            Some(file) => Secret::kept_in(file)
                .map_err(|source| Error::TokenFile { file: file.into(), source })?,
        };
        let gate = Arc::new(Gate::new(hosts, address.port(), token, tls.is_some())?);
        let stall_timeout = stall_timeout(options.rates.connection);
        let app = Arc::new(App::new(options, gate.csrf().to_owned()));
        let stop = Stopper::default();
        Ok(Server { listener, address, stall_timeout, gate, app, tls, stop })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL that the user opens, with the token. `address` is the one that the user can
    /// reach; it differs from [`Server::address`] if the server listens on all addresses.
    pub fn url_at(&self, address: SocketAddr) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        format!("{scheme}://{address}/?token={}", self.gate.token())
    }

    /// Returns the SHA-256 fingerprint of the certificate, as browsers show it.
    pub fn fingerprint(&self) -> Option<&str> {
        self.tls.as_ref().map(|tls| tls.fingerprint.as_str())
    }

    /// Returns a handle that stops the server.
    pub fn stopper(&self) -> Stopper {
        self.stop.clone()
    }

    /// Answers requests until the server is stopped. Running jobs are interrupted then; a run that was
    /// interrupted keeps its journal and can be undone.
    ///
    /// # Errors
    ///
    /// Fails if the threads of the server cannot be started.
    pub fn run(self) -> Result<(), Error> {
        let mut runtime = Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(BLOCKING_THREADS).build();
        let runtime = runtime.map_err(Error::Start)?;
        let Server { listener, stall_timeout, gate, app, tls, stop, .. } = self;
        let tls = tls.map(|tls| tls.config.into());
        let router = router(gate, Arc::clone(&app));
        let served = runtime.block_on(async {
            let listener = TokioListener::from_std(listener)?;
            tokio::spawn(look_after(Arc::clone(&app)));
            tokio::select! {
                never = accept(&listener, router, tls, stall_timeout) => never,
                () = stop.0.notified() => Ok(()),
            }
        });
        runtime.shutdown_timeout(STOP_TIMEOUT);
        app.shut_down();
        served.map_err(Error::Start)
    }
}

/// Limits the rate of each connection that a listener accepts from now on. Accepted sockets inherit the options.
fn limit_rate(listener: &TcpListener, rate: NonZeroU64) -> io::Result<()> {
    socket::set_max_pacing_rate(listener.as_fd(), rate.get())?;
    socket::set_unsent_low_water_mark(listener.as_fd(), UNSENT)
}

/// Returns the time after which a client that takes no bytes is dropped. A limit of the rate adds the time that the
/// kernel needs to send what it has already taken.
fn stall_timeout(rate: Option<NonZeroU64>) -> Duration {
    STALL_TIMEOUT + Duration::from_secs(rate.map_or(0, |rate| MOST_UNSENT / rate))
}

/// Returns all routes, behind the gate.
pub(crate) fn router(gate: Arc<Gate>, app: Arc<App>) -> Router {
    let routes = pages::routes().with_state(Arc::clone(&app)).layer(from_fn(compress));
    let routes = routes.layer(from_fn_with_state(app, show_errors));
    routes.layer(from_fn_with_state(gate, pass))
}

/// Loads the groups when the server starts, and drops them when they are not needed.
async fn look_after(app: Arc<App>) {
    let load = Arc::clone(&app);
    let _loaded = tokio::task::spawn_blocking(move || load.load_ahead()).await;
    loop {
        tokio::time::sleep(TIDY_INTERVAL).await;
        app.tidy_up();
    }
}

async fn accept(
    listener: &TokioListener,
    router: Router,
    tls: Option<TlsAcceptor>,
    stall_timeout: Duration,
) -> io::Result<()> {
    // A quarter of the descriptors is left for the catalog, files and jobs.
    let descriptors = runtime::raise_descriptor_limit();
    let places = Arc::new(Semaphore::new((descriptors / 4 * 3).clamp(8, MAX_CONNECTIONS)));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
        let Ok((socket, _)) = listener.accept().await else {
            // The connection was closed before it was accepted, or the process has no descriptors left.
            tokio::time::sleep(ACCEPT_DELAY).await;
            continue;
        };
        // Small responses should not wait for more data.
        let _as_it_is = socket.set_nodelay(true);
        let (router, tls) = (router.clone(), tls.clone());
        tokio::spawn(async move {
            let _place = place;
            let Some(tls) = tls else {
                return serve_connection(socket, router, stall_timeout).await;
            };
            // A client that does not encrypt, or does not trust the certificate, ends here.
            if let Ok(Ok(socket)) = tokio::time::timeout(HEAD_TIMEOUT, tls.accept(socket)).await {
                serve_connection(socket, router, stall_timeout).await;
            }
        });
    }
}

async fn serve_connection(
    socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    stall_timeout: Duration,
) {
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIMEOUT).max_buf_size(MAX_HEAD);
    // An error means that the client went away or does not speak HTTP. Both concern only the client.
    let socket = TokioIo::new(StallGuard::new(socket, stall_timeout));
    let _ended = http.serve_connection(socket, service).await;
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::num::NonZeroU64;
    use std::os::fd::AsFd;
    use std::time::Duration;

    use fsops::socket::max_pacing_rate;
    use testkit::TempTree;

    use super::{STALL_TIMEOUT, Server, stall_timeout};
    use crate::options::{Options, RateLimits};
    use crate::testing::options;

    #[test]
    fn every_connection_has_the_limit_of_the_rate() {
        let state = TempTree::new();
        for (limit, rate) in [(None, u64::MAX), (NonZeroU64::new(50_000), 50_000)] {
            let rates = RateLimits { connection: limit, ..RateLimits::default() };
            let listen = ([127, 0, 0, 1], 0).into();
            let server = Server::bind(Options { listen, ..options(&state, false, rates) });
            let server = server.expect("listens");
            server.listener.set_nonblocking(false).expect("set");
            for _ in 0..2 {
                let _client = TcpStream::connect(server.address()).expect("connects");
                let (socket, _) = server.listener.accept().expect("accepted");
                assert_eq!(max_pacing_rate(socket.as_fd()).expect("a rate"), rate);
            }
        }
    }

    #[test]
    fn a_slow_connection_has_not_stalled() {
        assert_eq!(stall_timeout(None), STALL_TIMEOUT);
        assert_eq!(stall_timeout(NonZeroU64::new(1 << 30)), STALL_TIMEOUT);
        let slow = STALL_TIMEOUT + Duration::from_secs(128 + 64);
        assert_eq!(stall_timeout(NonZeroU64::new(1 << 10)), slow);
    }
}
