//! Waits for events. Polls for some microseconds before the thread goes to sleep.
//!
//! Going to sleep and being woken by another processor costs more processor time than answering a
//! request from memory: about 45 against 9 microseconds on the virtual machine of our measurements
//! (docs/design/sharing.md). A client on a fast network sends its next request within that time, so the
//! thread polls before it sleeps. If it finds no event, it sleeps once without polling. After each
//! further poll without an event, it skips twice as many polls, up to 255. An idle server and a server
//! with distant clients therefore sleep at once.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

/// Time for which the thread polls before it sleeps. The cost of a sleep limits what polling for longer
/// can save.
const POLL_TIME: Duration = Duration::from_micros(50);

/// Maximum number of sleeps between two polls.
const MAX_PAUSE: u32 = 255;

/// Maximum number of events that are returned at a time.
const MAX_EVENTS: usize = 256;

/// A set of descriptors, each with a number, whose events a thread waits for.
pub(super) struct Poll {
    epoll: OwnedFd,
    events: Vec<Event>,
    backoff: Backoff,
}

/// Decides before which sleeps the thread polls.
#[derive(Debug, Default)]
struct Backoff {
    /// Number of sleeps until the next poll.
    pause: u32,
    /// The pause after the next poll without an event.
    next_pause: u32,
}

impl Backoff {
    fn is_due(&mut self) -> bool {
        let is_due = self.pause == 0;
        self.pause = self.pause.saturating_sub(1);
        is_due
    }

    fn ended(&mut self, found: bool) {
        if found {
            self.next_pause /= 2;
        } else {
            self.next_pause = (self.next_pause * 2 + 1).min(MAX_PAUSE);
            self.pause = self.next_pause;
        }
    }
}

impl Poll {
    pub(super) fn new() -> io::Result<Poll> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        Ok(Poll { epoll, events: Vec::with_capacity(MAX_EVENTS), backoff: Backoff::default() })
    }

    /// Adds a descriptor.
    pub(super) fn add(&self, fd: impl AsFd, number: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, fd, EventData::new_u64(number), flags)?)
    }

    /// Removes a descriptor.
    pub(super) fn remove(&self, fd: impl AsFd) {
        // A descriptor that is not there needs no removal.
        let _gone = epoll::delete(&self.epoll, fd);
    }

    /// Waits until there are events, at most for `timeout`. `is_busy` says that requests were answered
    /// since the last call, so that more can be expected soon.
    pub(super) fn wait(&mut self, timeout: Option<Duration>, is_busy: bool) {
        let zero = Some(Duration::ZERO);
        if is_busy && timeout != zero && self.backoff.is_due() {
            let start = Instant::now();
            while start.elapsed() < POLL_TIME {
                self.ask(zero);
                if !self.events.is_empty() {
                    return self.backoff.ended(true);
                }
            }
            self.backoff.ended(false);
        }
        self.ask(timeout);
    }

    /// Returns the numbers and kinds of the events.
    pub(super) fn events(&self) -> impl Iterator<Item = (u64, EventFlags)> {
        self.events.iter().map(|event| (event.data.u64(), event.flags))
    }

    fn ask(&mut self, timeout: Option<Duration>) {
        self.events.clear();
        let timeout = timeout.map(|timeout| Timespec {
            tv_sec: timeout.as_secs().try_into().unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        });
        let space = rustix::buffer::spare_capacity(&mut self.events);
        match epoll::wait(&self.epoll, space, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            // The descriptor and the buffer are valid, so the kernel has no other reason to fail.
            Err(error) => debug_assert!(false, "{error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, MAX_PAUSE};

    fn polls(backoff: &mut Backoff, sleeps: u32, found: bool) -> u32 {
        let mut count = 0;
        for _ in 0..sleeps {
            if backoff.is_due() {
                count += 1;
                backoff.ended(found);
            }
        }
        count
    }

    #[test]
    fn polls_without_events_become_rare() {
        let mut backoff = Backoff::default();
        assert!(polls(&mut backoff, 10_000, false) < 60);
        assert_eq!(backoff.next_pause, MAX_PAUSE);
    }

    #[test]
    fn polls_that_find_events_go_on() {
        let mut backoff = Backoff::default();
        polls(&mut backoff, 1000, false);
        let count = polls(&mut backoff, 1000, true);
        assert!(count > 700, "{count}");
    }
}
