//! A server of one directory, whose paths select the way in which it answers.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fsops::{Dir, FileKey};
use httpd::certificate::Certificate;
use httpd::server::{
    Activity, Address, Body, FileRange, Finish, Handler, Head, Listener, Monitor, Part, Parts,
    Rates, Reply, Request, Response, Served, Server, Settings, Stopper,
};
use rustls::StreamOwned;
use testkit::TempTree;

use crate::client::{self, Client};

/// Answers from a directory:
///
/// | path | answer |
/// |---|---|
/// | `/file/NAME` | the file, from another thread |
/// | `/range/NAME?FROM-TO` | the bytes of the file from an offset up to another |
/// | `/parts/NAME` | the file in halves, between two texts |
/// | `/exact/NAME` | the file, which must not change |
/// | `/panic` | a job that panics |
/// | `/echo/TEXT` | the path and the query, at once |
pub(crate) struct Files(Arc<Dir>);

impl Handler for Files {
    fn handle(&mut self, request: &Request<'_>, _now: Instant) -> Reply<Files> {
        let path = String::from_utf8_lossy(request.path).into_owned();
        let dir = Arc::clone(&self.0);
        if let Some(name) = path.strip_prefix("/file/") {
            return later(name, dir, false, Body::File);
        }
        if let Some(name) = path.strip_prefix("/range/") {
            let query = request.query.map(String::from_utf8_lossy).unwrap_or_default();
            let (at, end) = query.split_once('-').expect("a range");
            let (at, end) = (at.parse().expect("a number"), end.parse().expect("a number"));
            let body = move |range| Body::File(FileRange { at, end, ..range });
            return later(name, dir, false, body);
        }
        if let Some(name) = path.strip_prefix("/exact/") {
            return later(name, dir, true, Body::File);
        }
        if let Some(name) = path.strip_prefix("/parts/") {
            return later(name, dir, false, |range| Body::Parts(Box::new(Halves(range, 0))));
        }
        if path == "/panic" {
            return Reply::Later(Box::new(|| panic!("a job of a test")));
        }
        let owned = request.to_owned();
        let again = owned.get().expect("the same request");
        let query = again.query.map(String::from_utf8_lossy).unwrap_or_default();
        Reply::Ready(Response::text(200, &format!("{path} {query}")))
    }

    fn tidy(&mut self, _now: Instant) {}
}

fn later(
    name: &str,
    dir: Arc<Dir>,
    is_exact: bool,
    body: impl FnOnce(FileRange) -> Body + Send + 'static,
) -> Reply<Files> {
    let name = name.to_owned();
    Reply::Later(Box::new(move || -> Finish<Files> {
        let found = dir.find_beneath(name.as_bytes()).and_then(|found| found.open_file());
        let Ok(file) = found else { return Box::new(|_| Response::text(404, "missing")) };
        let stat = file.stat().expect("stat");
        let served = Arc::new(Served { file, stat, is_exact });
        let body = body(FileRange { served, at: 0, end: stat.size });
        let length = match &body {
            Body::File(range) => range.end - range.at,
            _ => stat.size + 2 * TEXT.len() as u64,
        };
        let head = Head::new(200).with_length(length);
        Box::new(move |_| Response { head, body })
    }))
}

/// The text before and after the halves of a file.
pub(crate) const TEXT: &[u8] = b"[text]";

/// The name of the Unix socket in the directory.
pub(crate) const SOCKET: &str = "socket";

/// The name of the file with the certificate in the directory.
pub(crate) const CERTIFICATE: &str = "certificate";

struct Halves(FileRange, u32);

impl Parts for Halves {
    fn next(&mut self) -> std::io::Result<Option<Part>> {
        self.1 += 1;
        let middle = self.0.end / 2;
        let range = |at, end| Part::File(FileRange { at, end, ..self.0.clone() });
        Ok(match self.1 {
            1 | 4 => Some(Part::Bytes(TEXT.into())),
            2 => Some(range(0, middle)),
            3 => Some(range(middle, self.0.end)),
            _ => None,
        })
    }
}

/// The way from a client to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Tcp,
    Tls,
    Unix,
}

impl Transport {
    pub(crate) const ALL: [Transport; 3] = [Transport::Tcp, Transport::Tls, Transport::Unix];
}

/// A running server. It stops when it is dropped.
pub(crate) struct Running {
    /// The address of its TCP socket.
    pub(crate) address: SocketAddr,
    pub(crate) tree: TempTree,
    transport: Transport,
    stopper: Stopper,
    monitor: Monitor,
    thread: Option<JoinHandle<()>>,
}

impl Running {
    pub(crate) fn start() -> Running {
        Running::with(Rates::default(), 1000)
    }

    pub(crate) fn with(rates: Rates, connections: usize) -> Running {
        Running::over(Transport::Tcp, rates, connections)
    }

    pub(crate) fn over(transport: Transport, rates: Rates, connections: usize) -> Running {
        let tree = TempTree::new();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let listener = match transport {
            Transport::Unix => {
                let path = tree.path().join(SOCKET);
                Listener::bind(&Address::Unix(path)).expect("bound")
            }
            _ => Listener::Tcp(listener),
        };
        let certificate = (transport == Transport::Tls)
            .then(|| Certificate::open(&tree.path().join(CERTIFICATE), address, &[]));
        let tls = certificate.map(|certificate| certificate.expect("made").config);
        let settings = Settings { listener, tls, rates, threads: 2, connections };
        let server = Server::<Files>::new(settings).expect("a server");
        let is_unix = transport == Transport::Unix;
        assert_eq!(server.tcp_address(), (!is_unix).then_some(address));
        let (stopper, monitor) = (server.stopper(), server.monitor());
        let dir = Arc::new(Dir::open(tree.path()).expect("opened"));
        let run = move || server.run(|_| Files(Arc::clone(&dir))).expect("served");
        let thread = Some(std::thread::spawn(run));
        Running { address, tree, transport, stopper, monitor, thread }
    }

    pub(crate) fn connect(&self) -> Client {
        match self.transport {
            Transport::Tcp => Client::connect(self.address),
            Transport::Unix => Client::over(client::unix(&self.path().join(SOCKET))),
            Transport::Tls => {
                let connection = client::tls(&self.path().join(CERTIFICATE));
                Client::over(StreamOwned::new(connection, client::tcp(self.address)))
            }
        }
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.tree.path().join(name), bytes).expect("written");
    }

    pub(crate) fn path(&self) -> &Path {
        self.tree.path()
    }

    pub(crate) fn activity(&self) -> Activity {
        self.monitor.activity()
    }

    /// Waits until the server sends nothing more, because clients do not read.
    pub(crate) fn wait_for_full_buffers(&self) {
        let mut before = None;
        while before != Some(self.activity().bytes) {
            before = Some(self.activity().bytes);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until there are this many connections.
    pub(crate) fn wait_for_open(&self, connections: u64) {
        let end = Instant::now() + client::PATIENCE;
        while self.activity().open != connections {
            assert!(Instant::now() < end, "{:?}", self.activity());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn stop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ended");
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns the identity of a file.
pub(crate) fn key(path: &Path) -> FileKey {
    fsops::Stat::of_path(path).expect("stat").key()
}
