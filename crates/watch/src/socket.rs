//! The socket of a watcher, beside the catalog.
//!
//! Only the user of the catalog may connect to it (mode 0600), and both sides check the user of the
//! other side. The address of a Unix socket has at most 108 bytes (unix(7)), so it is always bound
//! and connected through the descriptor of its directory.

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

/// Maximum number of questions that wait for the watcher. More than a few scans of one catalog never
/// run at once.
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
    /// Released after the files have been removed.
    _lock: Lock,
}

/// Another watcher of the same catalog. Contains its process id, if known.
pub(crate) struct Taken(pub(crate) Option<u32>);

impl Socket {
    /// Listens for questions about a catalog. A socket that a killed watcher has left is replaced.
    pub(crate) fn listen(catalog: &Path) -> Result<Result<Socket, Taken>, Error> {
        let [path, lock_path] = watcher_paths(catalog);
        let lock = match Lock::try_take(&lock_path)? {
            Ok(lock) => lock,
            Err(holder) => return Ok(Err(Taken(holder))),
        };
        // An old socket belongs to a watcher that has ended: a running one holds the lock.
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
        // The next watcher replaces a socket that stays, and locks a lock file that stays.
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

/// Connects to the socket of a watcher. A watcher that accepts nothing does not hold up the caller for
/// longer than `timeout`, even if many clients wait for it.
pub(crate) fn connect(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let kind = SocketType::STREAM;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
    // Also limits the wait for a place in the queue (unix_stream_connect in net/unix/af_unix.c).
    set_socket_timeout(&socket, Timeout::Send, Some(timeout))?;
    through_dir(path, |path| {
        let address = SocketAddrUnix::new(path.as_os_str().as_bytes())?;
        Ok(retry_on_intr(|| rustix::net::connect(&socket, &address))?)
    })
    .map_err(timed_out)?;
    Ok(UnixStream::from(socket))
}

/// Calls `act` with a short path to the same name.
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

/// Returns whether a watcher and a client with these users trust each other: they have the same
/// user, or the peer is root, who can read and change everything anyway.
pub(crate) fn is_trusted(peer: u32) -> bool {
    peer == 0 || peer == fsops::effective_user()
}
