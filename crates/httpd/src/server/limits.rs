//! Timeouts, and limits on the work for one connection before others have their turn.

use std::time::Duration;

/// Maximum time from the first byte of a request head to its last, and for the handshake of an
/// encrypted connection.
pub(super) const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Time that a connection without a request stays open.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Time after which a client that takes no bytes of a response is dropped.
pub(super) const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Time in which bytes after the last request are read and dropped. A client that is still sending
/// would otherwise lose the response, because the kernel answers its bytes with a reset.
pub(super) const LINGER_TIMEOUT: Duration = Duration::from_secs(2);

/// Time that open responses have to finish when the server stops.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// Bytes that a connection may send before others have their turn.
pub(super) const TURN: usize = 4 << 20;

/// Requests that a connection may send together before others have their turn.
pub(super) const TURN_REQUESTS: u64 = 64;

/// Maximum number of bytes that one system call sends. With longer calls, other connections wait longer;
/// with shorter calls, each byte costs more processor time.
pub(super) const CALL: usize = 1 << 20;
