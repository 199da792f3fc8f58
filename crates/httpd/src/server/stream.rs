//! The connection to a client, plain or encrypted.

use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::set_tcp_cork;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendFlags, Shutdown};
use rustls::{ServerConfig, ServerConnection};

/// Maximum number of bytes that wait for encryption or for the socket.
const TLS_BUFFER: usize = 64 * 1024;

/// A nonblocking connection. Operations that would have to wait fail with
/// [`io::ErrorKind::WouldBlock`].
pub(super) struct Stream {
    socket: Arc<OwnedFd>,
    tls: Option<Box<ServerConnection>>,
    is_corked: bool,
}

impl Stream {
    /// Returns the stream of an accepted socket, encrypted if there is a configuration.
    pub(super) fn new(socket: OwnedFd, tls: Option<&Arc<ServerConfig>>) -> io::Result<Stream> {
        let tls = tls.map(|config| {
            let mut connection = ServerConnection::new(Arc::clone(config));
            if let Ok(connection) = &mut connection {
                connection.set_buffer_limit(Some(TLS_BUFFER));
            }
            connection.map(Box::new).map_err(io::Error::other)
        });
        Ok(Stream { socket: Arc::new(socket), tls: tls.transpose()?, is_corked: false })
    }

    /// Returns the socket, which stays open as long as the result exists.
    pub(super) fn socket(&self) -> &Arc<OwnedFd> {
        &self.socket
    }

    /// Returns whether bytes can go to the socket as they are.
    pub(super) fn is_plain(&self) -> bool {
        self.tls.is_none()
    }

    /// Receives bytes. Returns 0 when the client sends no more.
    pub(super) fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return Socket(&self.socket).read(buffer) };
        loop {
            // The rest of a handshake or of an alert, if the socket did not take all of it.
            flush(tls, &self.socket)?;
            match tls.reader().read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The client closed the connection without saying so.
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(0),
                read => return read,
            }
            let received = tls.read_tls(&mut Socket(&self.socket))?;
            if let Err(error) = tls.process_new_packets() {
                // The alert that explains the error.
                flush(tls, &self.socket)?;
                return Err(invalid(error));
            }
            if received == 0 && tls.is_handshaking() {
                return Ok(0);
            }
        }
    }

    /// Sends bytes from several slices. `more` says that further bytes follow at once.
    pub(super) fn send(&mut self, slices: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        let Some(tls) = &mut self.tls else { return Socket(&self.socket).send(slices, more) };
        flush(tls, &self.socket)?;
        let taken = tls.writer().write_vectored(slices)?;
        match flush(tls, &self.socket) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => Err(error),
            _ => Ok(taken),
        }
    }

    /// Has the kernel send only full segments until [`flush`](Self::flush). Each call of `sendfile(2)`
    /// otherwise ends with a short segment, which wakes the client. Nothing changes for Unix sockets.
    pub(super) fn cork(&mut self) {
        if !self.is_corked {
            self.is_corked = set_tcp_cork(&*self.socket, true).is_ok();
        }
    }

    /// Sends bytes that were encrypted before, or that wait for a full segment.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.is_corked) {
            set_tcp_cork(&*self.socket, false)?;
        }
        self.tls.as_mut().map_or(Ok(()), |tls| flush(tls, &self.socket))
    }

    /// Has the kernel drop the bytes in the send queue when the socket is closed. It would otherwise keep them
    /// for minutes if the client takes none.
    pub(super) fn forget_unsent(&self) {
        // It fails if the client has gone.
        let _gone = rustix::net::sockopt::set_socket_linger(&*self.socket, Some(Duration::ZERO));
    }

    /// Tells the client that no more bytes follow.
    pub(super) fn finish(&mut self) {
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            // If the socket takes nothing, the client notices the end without the notice.
            let _full = flush(tls, &self.socket);
        }
        // It fails if the client has gone.
        let _gone = rustix::net::shutdown(&*self.socket, Shutdown::Write);
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn flush(tls: &mut ServerConnection, socket: &OwnedFd) -> io::Result<()> {
    while tls.wants_write() {
        tls.write_tls(&mut Socket(socket))?;
    }
    Ok(())
}

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

/// A socket as the standard library's traits see it.
struct Socket<'s>(&'s OwnedFd);

impl Socket<'_> {
    fn send(&self, slices: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
        let more = if more { SendFlags::MORE } else { SendFlags::empty() };
        loop {
            let control = &mut SendAncillaryBuffer::default();
            match rustix::net::sendmsg(self.0, slices, control, SendFlags::NOSIGNAL | more) {
                Err(Errno::INTR) => {}
                sent => return Ok(sent?),
            }
        }
    }
}

impl Read for Socket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match rustix::net::recv(self.0, &mut *buffer, RecvFlags::empty()) {
                Err(Errno::INTR) => {}
                received => return Ok(received?.1),
            }
        }
    }
}

impl Write for Socket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(&[IoSlice::new(bytes)], false)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
