//! Limits of time, of the number of connections, and of rates.

use std::num::NonZeroU64;
use std::time::Duration;

use runtime::Throttle;

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

/// Bytes that a connection reserves at a time if all connections together have a limit.
const SHARE: usize = 32 << 10;

/// Maximum number of unsent bytes in the socket of a connection with a limited rate. The default of
/// the kernel would let each slow client hold megabytes.
pub const UNSENT: u32 = 128 << 10;

/// The rates at which a server sends.
#[derive(Debug, Default)]
pub struct Rates {
    /// Maximum rate of each connection in bytes per second, kept by the kernel.
    pub connection: Option<NonZeroU64>,
    /// Bytes of each response that are sent before the rate of the connection applies.
    pub after: u64,
    /// Maximum rate of all connections together.
    pub total: Throttle,
}

/// The bytes that a response may send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowance {
    /// This many bytes.
    Bytes(usize),
    /// Nothing before this time has passed.
    Wait(Duration),
}

/// The bytes that a connection has reserved of the total rate and not sent yet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reserved(usize);

impl Reserved {
    /// Returns what may be sent now of `wanted` bytes.
    pub(super) fn allow(&mut self, wanted: usize, total: &Throttle) -> Allowance {
        if total.rate().is_none() {
            return Allowance::Bytes(wanted.min(CALL));
        }
        if self.0 == 0 {
            self.0 = wanted.min(SHARE);
            let wait = total.reserve(self.0 as u64);
            if !wait.is_zero() {
                return Allowance::Wait(wait);
            }
        }
        Allowance::Bytes(wanted.min(self.0))
    }

    /// Notes that bytes were sent.
    pub(super) fn spend(&mut self, bytes: usize) {
        self.0 = self.0.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use runtime::Throttle;

    use super::{Allowance, CALL, Reserved, SHARE};

    #[test]
    fn without_a_limit_a_call_is_as_long_as_it_may_be() {
        let mut reserved = Reserved::default();
        let none = Throttle::default();
        assert_eq!(reserved.allow(10, &none), Allowance::Bytes(10));
        assert_eq!(reserved.allow(CALL + 1, &none), Allowance::Bytes(CALL));
    }

    #[test]
    fn connections_wait_for_their_share_once() {
        let total = Throttle::new(NonZeroU64::new(SHARE as u64));
        let (mut first, mut second) = (Reserved::default(), Reserved::default());
        assert_eq!(first.allow(SHARE * 2, &total), Allowance::Bytes(SHARE));
        assert!(matches!(second.allow(SHARE, &total), Allowance::Wait(_)));
        assert_eq!(second.allow(SHARE, &total), Allowance::Bytes(SHARE), "after the wait");
        second.spend(SHARE - 1);
        assert_eq!(second.allow(SHARE, &total), Allowance::Bytes(1));
    }
}
