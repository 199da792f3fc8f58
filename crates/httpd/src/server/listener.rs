//! The listening socket.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use fsops::{Kind, Stat};

/// A listening socket.
#[derive(Debug)]
pub enum Listener {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A Unix socket.
    Unix(UnixSocket),
}

/// A listening Unix socket with its name in the file system. The name is removed on drop, unless it
/// belongs to another file by then. The umask decides which users may connect.
#[derive(Debug)]
pub struct UnixSocket {
    listener: UnixListener,
    path: PathBuf,
    stat: Stat,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address and port.
    Tcp(SocketAddr),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => path.display().fmt(f),
        }
    }
}

impl Listener {
    /// Starts to listen. A Unix socket that a killed server has left is replaced.
    ///
    /// # Errors
    ///
    /// Fails if the address cannot be used, with [`io::ErrorKind::AddrInUse`] if another server uses it, or if a
    /// file that is no socket has the path.
    pub fn bind(address: &Address) -> io::Result<Listener> {
        match address {
            Address::Tcp(address) => TcpListener::bind(address).map(Listener::Tcp),
            Address::Unix(path) => UnixSocket::bind(path).map(Listener::Unix),
        }
    }

    /// Sets the options that accepted sockets inherit.
    pub(super) fn prepare(&self) -> io::Result<()> {
        // `std` has a queue of 128 connections, which a burst of clients fills.
        let queue = i32::from(u16::MAX);
        match self {
            Listener::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                // The end of a response is sent at once, not when a timer runs out.
                rustix::net::sockopt::set_tcp_nodelay(listener, true)?;
                Ok(rustix::net::listen(listener, queue)?)
            }
            Listener::Unix(socket) => {
                socket.listener.set_nonblocking(true)?;
                Ok(rustix::net::listen(&socket.listener, queue)?)
            }
        }
    }
}

impl UnixSocket {
    fn bind(path: &Path) -> io::Result<UnixSocket> {
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_left_over(path) => {
                fsops::remove_file(path).map_err(|error| error.source)?;
                UnixListener::bind(path)?
            }
            bound => bound?,
        };
        let stat = Stat::of_path(path)?;
        Ok(UnixSocket { listener, path: path.into(), stat })
    }
}

impl Drop for UnixSocket {
    fn drop(&mut self) {
        if Stat::of_path(&self.path).is_ok_and(|stat| stat.key() == self.stat.key()) {
            // A name that stays is replaced at the next start.
            let _left = fsops::remove_file(&self.path);
        }
    }
}

/// Returns whether a path is that of a socket on which nobody listens.
fn is_left_over(path: &Path) -> bool {
    let is_socket = Stat::of_path(path).is_ok_and(|stat| stat.kind == Kind::Socket);
    let refused = |error: io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    is_socket && UnixStream::connect(path).is_err_and(refused)
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(socket) => socket.listener.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::os::unix::net::UnixListener;

    use super::{Address, Listener};

    #[test]
    fn only_a_socket_without_a_server_is_replaced() {
        let tree = testkit::TempTree::new();
        let address = |name: &str| Address::Unix(tree.path().join(name));
        drop(UnixListener::bind(tree.path().join("old")).expect("bound"));
        let first = Listener::bind(&address("old")).expect("replaced");
        let second = Listener::bind(&address("old")).expect_err("in use");
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop(first);
        assert!(!tree.path().join("old").exists(), "removed at the end");
        let _file = std::fs::File::create(tree.path().join("file")).expect("created");
        Listener::bind(&address("file")).expect_err("a file");
        assert!(tree.path().join("file").exists());
    }
}
