//! A client that sees the bytes of a connection.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Time after which a test fails instead of waiting forever.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A connection to a server.
pub(crate) trait Socket: Read + Write + Send {
    /// Tells the server that no more bytes follow.
    fn finish(&mut self);
}

pub(crate) struct Client {
    socket: Box<dyn Socket>,
    held: Vec<u8>,
}

/// A response.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// True if the body has the length that the head announces.
    pub(crate) is_complete: bool,
}

impl Client {
    pub(crate) fn connect(address: SocketAddr) -> Client {
        Client::over(tcp(address))
    }

    pub(crate) fn over(socket: impl Socket + 'static) -> Client {
        Client { socket: Box::new(socket), held: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).expect("sent");
    }

    /// Sends bytes that the server may not want any more.
    pub(crate) fn try_send(&mut self, bytes: impl AsRef<[u8]>) {
        let _refused = self.socket.write_all(bytes.as_ref());
    }

    pub(crate) fn get(&mut self, path: &str) -> Answer {
        self.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        self.answer()
    }

    pub(crate) fn finish(&mut self) {
        self.socket.finish();
    }

    /// Reads a response to a GET request.
    pub(crate) fn answer(&mut self) -> Answer {
        let head = self.head();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.parse().expect("a number"));
        while self.held.len() < length && self.receive() {}
        let length = length.min(self.held.len());
        let body = self.held.drain(..length).collect();
        let is_complete = head.contains(&format!("content-length: {length}\r\n"));
        Answer { status: head[9..12].parse().expect("a status"), head, body, is_complete }
    }

    /// Reads the head of a response.
    pub(crate) fn head(&mut self) -> String {
        loop {
            let end = self.held.windows(4).position(|four| four == b"\r\n\r\n");
            if let Some(end) = end {
                let head = self.held.drain(..end + 4).collect();
                return String::from_utf8(head).expect("ASCII");
            }
            let text = String::from_utf8_lossy(&self.held).into_owned();
            assert!(self.receive(), "the connection ended after {text:?}");
        }
    }

    /// Returns all bytes until the server ends the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.receive() {}
        std::mem::take(&mut self.held)
    }

    fn receive(&mut self) -> bool {
        let mut buffer = vec![0; 1 << 16];
        match self.socket.read(&mut buffer) {
            Ok(0) => false,
            Ok(received) => {
                self.held.extend_from_slice(&buffer[..received]);
                true
            }
            // TLS reports an end without notice as an error.
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof
                ) =>
            {
                false
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Connects to a TCP socket.
pub(crate) fn tcp(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("connected");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket
}

/// Connects to a Unix socket.
pub(crate) fn unix(path: &Path) -> UnixStream {
    let socket = UnixStream::connect(path).expect("connected");
    socket.set_read_timeout(Some(PATIENCE)).expect("set");
    socket
}

/// Returns the client's end of a TLS connection to the owner of a certificate, which trusts no other.
pub(crate) fn tls(certificate: &Path) -> ClientConnection {
    let pem = std::fs::read(certificate).expect("read");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(&pem).expect("a certificate")).expect("added");
    let provider = rustls::crypto::ring::default_provider();
    let config = ClientConfig::builder_with_provider(provider.into())
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    ClientConnection::new(Arc::new(config), name).expect("a connection")
}

impl Socket for TcpStream {
    fn finish(&mut self) {
        self.shutdown(Shutdown::Write).expect("shut down");
    }
}

impl Socket for UnixStream {
    fn finish(&mut self) {
        self.shutdown(Shutdown::Write).expect("shut down");
    }
}

impl Socket for StreamOwned<ClientConnection, TcpStream> {
    fn finish(&mut self) {
        self.conn.send_close_notify();
        self.flush().expect("sent");
        self.sock.finish();
    }
}
