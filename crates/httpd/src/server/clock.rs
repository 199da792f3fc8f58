//! The time, read once for all events that a thread handles together.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum length of a [`Tail`] in bytes.
const TAIL: usize = 80;

/// The last fields of a head, `Date` and `Connection`, and the empty line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tail {
    bytes: [u8; TAIL],
    length: usize,
}

/// How the connection goes on after a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connection {
    /// It stays open, as HTTP/1.1 expects.
    Stays,
    /// It stays open although the client speaks HTTP/1.0.
    KeepAlive,
    /// It ends.
    Close,
}

/// The clock of a thread.
#[derive(Debug)]
pub(super) struct Clock {
    start: Instant,
    now: Instant,
    second: u64,
    tails: [Tail; 3],
}

impl Tail {
    fn new(date: &str, connection: &str) -> Tail {
        let text = format!("date: {date}\r\n{connection}\r\n");
        let mut bytes = [0; TAIL];
        let length = text.len().min(TAIL);
        bytes[..length].copy_from_slice(&text.as_bytes()[..length]);
        Tail { bytes, length }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Clock {
    pub(super) fn new() -> Clock {
        let now = Instant::now();
        Clock { start: now, now, second: u64::MAX, tails: tails(SystemTime::now()) }
    }

    /// Reads the time.
    pub(super) fn update(&mut self) {
        self.now = Instant::now();
        let time = SystemTime::now();
        let second = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        if second != self.second {
            self.second = second;
            self.tails = tails(time);
        }
    }

    /// Returns the time of the last update.
    pub(super) fn now(&self) -> Instant {
        self.now
    }

    /// Returns the seconds since the start of the thread, at the last update.
    pub(super) fn ticks(&self) -> u32 {
        u32::try_from((self.now - self.start).as_secs()).unwrap_or(u32::MAX)
    }

    /// Returns the second that is `time` from now, rounded up.
    pub(super) fn ticks_after(&self, time: Duration) -> u32 {
        let seconds = u32::try_from(time.as_secs()).unwrap_or(u32::MAX);
        self.ticks().saturating_add(seconds).saturating_add(1)
    }

    /// Returns the end of a head.
    pub(super) fn tail(&self, connection: Connection) -> Tail {
        self.tails[connection as usize]
    }
}

fn tails(now: SystemTime) -> [Tail; 3] {
    let date = httpdate::fmt_http_date(now);
    ["", "connection: keep-alive\r\n", "connection: close\r\n"].map(|field| Tail::new(&date, field))
}

#[cfg(test)]
mod tests {
    use super::{Clock, Connection};

    #[test]
    fn a_head_ends_with_the_date_and_an_empty_line() {
        let mut clock = Clock::new();
        clock.update();
        let text = |connection| String::from_utf8(clock.tail(connection).bytes().to_vec());
        let plain = text(Connection::Stays).expect("ASCII");
        assert!(plain.starts_with("date: ") && plain.ends_with(" GMT\r\n\r\n"), "{plain}");
        let close = text(Connection::Close).expect("ASCII");
        assert!(close.ends_with(" GMT\r\nconnection: close\r\n\r\n"), "{close}");
        let keep = text(Connection::KeepAlive).expect("ASCII");
        assert!(keep.ends_with(" GMT\r\nconnection: keep-alive\r\n\r\n"), "{keep}");
    }
}
