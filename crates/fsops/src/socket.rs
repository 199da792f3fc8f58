//! Options of TCP sockets that need `unsafe` code: the pacing rate, the bytes not yet sent, and the
//! bytes not yet acknowledged.
//!
//! The functions take any descriptor of a socket, and say what the kernel does if it is not a TCP
//! socket. They set options of one connection only. Options that `std` or `rustix` can set are not
//! here.

use std::ffi::{c_int, c_ulong, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Limits the rate at which the kernel sends the data of one TCP connection, in bytes per second.
/// `u64::MAX` removes the limit. The kernel counts what the program writes, which includes TLS
/// records. An interface with the `fq` queueing discipline counts the headers of packets, too.
///
/// A later call changes the rate of data that the kernel has not sent yet. Sockets that a listening
/// socket accepts inherit its rate. TCP does not pace the first ten segments of a connection. It does
/// not pace at all if the rate is 0, so callers MUST NOT pass 0.
///
/// # Platform behavior
///
/// `SO_MAX_PACING_RATE` (Linux 3.13; `sk_setsockopt` in `net/core/sock.c`; tc-fq(8)). The kernel
/// takes an `unsigned long`. Linux before 4.20 takes the lower 32 bits only. Since Linux 4.13, TCP
/// paces itself if the interface does not have the `fq` discipline (`net/ipv4/tcp_output.c`).
///
/// The kernel stores the rate for sockets of every family, but only TCP obeys it. On a Unix socket,
/// the call succeeds and has no effect.
///
/// # Errors
///
/// Fails with `ENOTSOCK` if the descriptor is not a socket.
pub fn set_max_pacing_rate(socket: BorrowedFd<'_>, bytes_per_second: u64) -> io::Result<()> {
    // On a 32-bit system, a rate of 4 GiB/s and more is no limit.
    let rate = c_ulong::try_from(bytes_per_second).unwrap_or(c_ulong::MAX);
    set_option(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate)
}

/// Returns the rate that [`set_max_pacing_rate`] set, in bytes per second. `u64::MAX` means no limit.
///
/// # Errors
///
/// Fails with `ENOTSOCK` if the descriptor is not a socket.
pub fn max_pacing_rate(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut bytes = [0; size_of::<u64>()];
    let mut length = libc::socklen_t::try_from(bytes.len()).map_err(io::Error::other)?;
    let (level, name) = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
    // SAFETY: the kernel writes at most `length` bytes to `bytes`, which is its size, and their number to
    // `length`. The descriptor is open.
    #[expect(unsafe_code, reason = "this option has no safe wrapper")]
    let answer = unsafe {
        let (bytes, length) = (bytes.as_mut_ptr().cast::<c_void>(), &raw mut length);
        libc::getsockopt(socket.as_raw_fd(), level, name, bytes, length)
    };
    if answer != 0 {
        return Err(io::Error::last_os_error());
    }
    // A 32-bit kernel, and Linux before 4.20, return 32 bits.
    let [a, b, c, d, ..] = bytes;
    Ok(match (length, u32::from_ne_bytes([a, b, c, d])) {
        (4, u32::MAX) => u64::MAX,
        (4, rate) => rate.into(),
        _ => u64::from_ne_bytes(bytes),
    })
}

/// Limits the bytes that a TCP socket accepts but has not sent yet. Without this limit, a socket is
/// writable while its send buffer has room, which can be megabytes.
///
/// Above the limit, writes block or fail with `EAGAIN`. `poll(2)` and `epoll(7)` report the socket as
/// writable when fewer than half of the bytes are unsent (since Linux 5.0; before, fewer than all).
/// A small limit keeps little memory per connection, and new data is sent soon. `u32::MAX` removes
/// the limit.
///
/// # Platform behavior
///
/// `TCP_NOTSENT_LOWAT` (Linux 3.12; tcp(7); `tcp_stream_memory_free` in `include/net/tcp.h`). The
/// value 0 means the default of the system, `net.ipv4.tcp_notsent_lowat`.
///
/// # Errors
///
/// Fails with `EOPNOTSUPP` if the socket is a Unix socket, with another error if it is not a TCP
/// socket, and with `ENOTSOCK` if the descriptor is not a socket.
pub fn set_unsent_low_water_mark(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

/// Returns the number of bytes in the send queue of a TCP connection: those that the kernel has not
/// sent yet, and those that it has sent but that the peer has not acknowledged.
///
/// After `shutdown(2)` for writing, the end of the stream counts as one byte until the peer
/// acknowledges it. So 0 means that the peer's kernel has received everything.
///
/// # Platform behavior
///
/// `SIOCOUTQ` (tcp(7); `tcp_ioctl` in `net/ipv4/tcp.c`). For a Unix socket, the kernel returns the
/// memory that unread messages take, which is more than their bytes.
///
/// # Errors
///
/// Fails with `EINVAL` if the socket listens, and with `ENOTTY` if the descriptor is not a socket.
pub fn unsent_or_unacked_bytes(socket: BorrowedFd<'_>) -> io::Result<u64> {
    /// `SIOCOUTQ` of linux/sockios.h, which is defined as `TIOCOUTQ`.
    const SIOCOUTQ: libc::Ioctl = libc::TIOCOUTQ;
    let mut bytes: c_int = 0;
    // SAFETY: the kernel writes one `int` to `bytes`, which outlives the call. The descriptor is open.
    #[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
    let answer = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCOUTQ, &raw mut bytes) };
    if answer == 0 {
        Ok(u64::try_from(bytes).unwrap_or(0))
    } else {
        Err(io::Error::last_os_error())
    }
}

/// An option's value: an integer that the kernel only reads.
trait OptionValue: Copy {}

impl OptionValue for u32 {}
impl OptionValue for c_ulong {}

#[expect(unsafe_code, reason = "these options have no safe wrapper")]
fn set_option<T: OptionValue>(
    socket: BorrowedFd<'_>,
    level: c_int,
    name: c_int,
    value: T,
) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    let start = (&raw const value).cast::<c_void>();
    // SAFETY: the kernel reads `length` bytes, which is the size of `value`, and keeps no pointer.
    // The descriptor is open.
    let answer = unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, start, length) };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_int;
    use std::io::{Read, Write};
    use std::net::{Shutdown, TcpListener, TcpStream};
    use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
    use std::os::unix::net::UnixStream;

    use rustix::io::Errno;

    use super::{
        max_pacing_rate, set_max_pacing_rate, set_unsent_low_water_mark, unsent_or_unacked_bytes,
    };

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        let address = listener.local_addr().expect("its address");
        let client = TcpStream::connect(address).expect("connected");
        let (server, _) = listener.accept().expect("accepted");
        (client, server)
    }

    fn unsent_low_water_mark(socket: BorrowedFd<'_>) -> c_int {
        let mut value: c_int = 0;
        let mut length = libc::socklen_t::try_from(size_of::<c_int>()).expect("small");
        let (level, name) = (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT);
        // SAFETY: the kernel writes at most `length` bytes to `value`, and the new length.
        #[expect(unsafe_code, reason = "this option has no safe wrapper")]
        let answer = unsafe {
            let (value, length) = ((&raw mut value).cast(), &raw mut length);
            libc::getsockopt(socket.as_raw_fd(), level, name, value, length)
        };
        assert_eq!(answer, 0);
        value
    }

    fn errno<T: std::fmt::Debug>(result: std::io::Result<T>) -> Option<Errno> {
        Errno::from_io_error(&result.expect_err("fails"))
    }

    #[test]
    fn the_pacing_rate_of_a_connection_is_set_and_removed() {
        let (client, _server) = pair();
        let pacing = || max_pacing_rate(client.as_fd()).expect("read");
        assert_eq!(pacing(), u64::MAX);
        for rate in [1, 125_000, u64::from(u32::MAX) - 1, u64::MAX] {
            set_max_pacing_rate(client.as_fd(), rate).expect("set");
            assert_eq!(pacing(), rate);
        }
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    fn a_pacing_rate_can_be_higher_than_32_bits() {
        let (client, _server) = pair();
        set_max_pacing_rate(client.as_fd(), 5 << 30).expect("set");
        assert_eq!(max_pacing_rate(client.as_fd()).expect("read"), 5 << 30);
    }

    #[test]
    fn an_accepted_socket_has_the_options_of_its_listener() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        set_max_pacing_rate(listener.as_fd(), 125_000).expect("set");
        set_unsent_low_water_mark(listener.as_fd(), 128 << 10).expect("set");
        let _client = TcpStream::connect(listener.local_addr().expect("its address"));
        let (server, _) = listener.accept().expect("accepted");
        assert_eq!(max_pacing_rate(server.as_fd()).expect("read"), 125_000);
        assert_eq!(unsent_low_water_mark(server.as_fd()), 128 << 10);
    }

    #[test]
    fn a_unix_socket_takes_a_pacing_rate_without_an_error() {
        let (socket, _peer) = UnixStream::pair().expect("a pair");
        set_max_pacing_rate(socket.as_fd(), 125_000).expect("taken, but without effect");
    }

    #[test]
    fn the_unsent_low_water_mark_is_for_tcp_only() {
        let (client, _server) = pair();
        set_unsent_low_water_mark(client.as_fd(), 128 << 10).expect("set");
        assert_eq!(unsent_low_water_mark(client.as_fd()), 128 << 10);
        let (socket, _peer) = UnixStream::pair().expect("a pair");
        assert_eq!(errno(set_unsent_low_water_mark(socket.as_fd(), 1)), Some(Errno::OPNOTSUPP));
    }

    #[test]
    fn bytes_that_the_peer_has_not_acknowledged_are_counted() {
        let (mut client, mut server) = pair();
        assert_eq!(unsent_or_unacked_bytes(client.as_fd()).expect("counted"), 0);
        client.set_nonblocking(true).expect("nonblocking");
        let (mut sent, piece) = (0, vec![0; 65536]);
        while let Ok(written) = client.write(&piece) {
            sent += written as u64;
        }
        // The receive buffer of the peer is full, so some bytes have not been acknowledged.
        let queued = unsent_or_unacked_bytes(client.as_fd()).expect("counted");
        assert!((1..=sent).contains(&queued), "{queued} of {sent}");
        client.shutdown(Shutdown::Write).expect("shut down");
        let received = server.read_to_end(&mut Vec::new()).expect("read") as u64;
        assert_eq!(received, sent);
        drop(server);
    }

    #[test]
    fn other_descriptors_are_refused() {
        let file = tempfile::tempfile().expect("a file");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a listener");
        assert_eq!(errno(set_max_pacing_rate(file.as_fd(), 1)), Some(Errno::NOTSOCK));
        assert_eq!(errno(max_pacing_rate(file.as_fd())), Some(Errno::NOTSOCK));
        assert_eq!(errno(set_unsent_low_water_mark(file.as_fd(), 1)), Some(Errno::NOTSOCK));
        assert_eq!(errno(unsent_or_unacked_bytes(file.as_fd())), Some(Errno::NOTTY));
        assert_eq!(errno(unsent_or_unacked_bytes(listener.as_fd())), Some(Errno::INVAL));
    }
}
