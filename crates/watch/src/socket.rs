//! The socket of a watcher, beside the catalog.
//!
//! Only root and the user of the watcher can connect to the socket (mode 0600), and each side checks
//! the user of the other side. The address of a Unix socket has at most 108 bytes (unix(7)), so both
//! sides use a short path through the descriptor of its directory.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fsops::{Dir, Error, Lock, Op};
use rustix::fs::Mode;
use rustix::io::retry_on_intr;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::protocol::timed_out;

/// Suffix of the socket.
const SOCKET_SUFFIX: &str = ".lop-watch";

/// Suffix of the file that the watcher keeps locked.
const LOCK_SUFFIX: &str = ".lop-watch-lock";

/// Maximum number of clients that wait for the watcher. A catalog hardly ever has more than a few scans at once.
const BACKLOG: i32 = 16;

/// Returns the paths of the socket and of the lock of the watcher of a catalog.
pub fn watcher_paths(catalog: &Path) -> [PathBuf; 2] {
    let catalog = resolved(catalog);
    [SOCKET_SUFFIX, LOCK_SUFFIX].map(|suffix| {
        let mut path = OsString::from(&catalog);
        path.push(suffix);
        PathBuf::from(path)
    })
}

/// Returns the path of a catalog without links. The catalog itself may be missing.
fn resolved(catalog: &Path) -> PathBuf {
    catalog.canonicalize().unwrap_or_else(|_| {
        let parent = catalog.parent().and_then(|parent| parent.canonicalize().ok());
        match (parent, catalog.file_name()) {
            (Some(parent), Some(name)) => parent.join(name),
            _ => catalog.to_path_buf(),
        }
    })
}

/// A listening socket. Dropping it removes its name and the lock.
#[derive(Debug)]
pub(crate) struct Socket {
    pub(crate) listener: UnixListener,
    path: PathBuf,
    lock_path: PathBuf,
    /// The lock. Dropping the socket removes the files first, and releases the lock afterwards.
    _lock: Lock,
}

/// Another watcher of the same catalog. Contains its process id, if known.
pub(crate) struct Taken(pub(crate) Option<u32>);

impl Socket {
    /// Listens for questions about a catalog. Replaces a socket that a killed watcher has left behind.
    pub(crate) fn listen(catalog: &Path) -> Result<Result<Socket, Taken>, Error> {
        let [path, lock_path] = watcher_paths(catalog);
        let lock = match Lock::try_take(&lock_path)? {
            Ok(lock) => lock,
            Err(holder) => return Ok(Err(Taken(holder))),
        };
        // A running watcher holds the lock, so an existing socket belongs to a watcher that has ended.
        fsops::remove_file(&path)?;
        let bound = bind(&path).map_err(|source| {
            drop(fsops::remove_file(&lock_path));
            Error { op: Op::Create, path: path.clone(), source }
        })?;
        Ok(Ok(Socket { listener: bound, path, lock_path, _lock: lock }))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // If removing a file fails, the next watcher replaces the socket and uses the lock file again.
        drop(fsops::remove_file(&self.path));
        drop(fsops::remove_file(&self.lock_path));
    }
}

/// Creates a listening socket with mode 0600.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // The name in the file system inherits the mode (unix_bind in net/unix/af_unix.c).
    rustix::fs::fchmod(&socket, Mode::from_raw_mode(0o600))?;
    through_dir(path, |path| {
        Ok(rustix::net::bind(&socket, &SocketAddrUnix::new(path.as_os_str().as_bytes())?)?)
    })?;
    rustix::net::listen(&socket, BACKLOG)?;
    Ok(UnixListener::from(socket))
}

/// Connects to the socket of a watcher. Waits for at most `timeout`, even if the watcher accepts no
/// connections and many clients wait for it.
pub(crate) fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let kind = SocketType::STREAM;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    // This timeout also limits the wait for a place in the queue (unix_stream_connect in net/unix/af_unix.c).
    set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
    through_dir(path, |path| {
        let address = SocketAddrUnix::new(path.as_os_str().as_bytes())?;
        Ok(retry_on_intr(|| rustix::net::connect(&socket, &address))?)
    })
    .map_err(timed_out)?;
    Ok(UnixStream::from(socket))
}

/// Calls `act` with a short path that leads to the same file as `path`.
fn through_dir<T>(path: &Path, act: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let dir = Dir::open(parent)?;
    let fd = dir.as_fd().as_raw_fd();
    act(&Path::new("/proc/self/fd").join(fd.to_string()).join(name))
}

/// Returns the user of the peer of a connection.
pub(crate) fn peer_user(stream: &UnixStream) -> io::Result<u32> {
    Ok(socket_peercred(stream)?.uid.as_raw())
}

/// Returns whether this process trusts a peer with the given user id. The peer must have the same user
/// as this process, or be root, who can read and change everything anyway.
pub(crate) fn is_trusted(peer: u32) -> bool {
    peer == 0 || peer == fsops::effective_user()
}
