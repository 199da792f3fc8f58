//! Tells the service manager that the watcher has started (`sd_notify(3)`).

use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::settings::notify_socket;

/// Sends the message if a service manager waits for it. Ignores a failure, because the service manager reports a
/// missing message.
pub(super) fn notify() {
    if let Some(socket) = notify_socket() {
        let _unheard = send(&socket);
    }
}

/// Sends the message to a socket. A name that starts with `@` belongs to an abstract socket (unix(7)).
fn send(socket: &OsStr) -> io::Result<usize> {
    let address = match socket.as_bytes().strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    UnixDatagram::unbound()?.send_to_addr(b"READY=1", &address)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::send;

    #[test]
    fn message_arrives() {
        let tree = testkit::TempTree::new();
        let path = tree.path().join("notify");
        let socket = UnixDatagram::bind(&path).expect("bound");
        send(path.as_os_str()).expect("sent");
        let mut buffer = [0; 16];
        let length = socket.recv(&mut buffer).expect("received");
        assert_eq!(&buffer[..length], b"READY=1");
    }
}
