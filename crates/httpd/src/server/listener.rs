//! The listening socket.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

use super::limits::{Rates, UNSENT};

/// A listening socket.
#[derive(Debug)]
pub enum Listener {
    /// A TCP socket.
    Tcp(TcpListener),
    /// A Unix socket. The kernel cannot limit the rate of its connections.
    Unix(UnixListener),
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
    /// Sets the options that accepted sockets inherit.
    pub(super) fn prepare(&self, rates: &Rates) -> io::Result<()> {
        match self {
            Listener::Tcp(listener) => {
                listener.set_nonblocking(true)?;
                // The end of a response is sent at once, not when a timer runs out.
                rustix::net::sockopt::set_tcp_nodelay(listener, true)?;
                if let Some(rate) = rates.connection {
                    fsops::socket::set_unsent_low_water_mark(listener.as_fd(), UNSENT)?;
                    if rates.after == 0 {
                        fsops::socket::set_max_pacing_rate(listener.as_fd(), rate.get())?;
                    }
                }
                // `std` has a queue of 128 connections, which a burst of clients fills.
                Ok(rustix::net::listen(listener, i32::from(u16::MAX))?)
            }
            Listener::Unix(listener) if rates.connection.is_none() => {
                listener.set_nonblocking(true)
            }
            Listener::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Listener::Tcp(listener) => listener.as_fd(),
            Listener::Unix(listener) => listener.as_fd(),
        }
    }
}
