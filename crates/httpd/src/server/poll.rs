//! Waits for events. Polls for some microseconds before the thread goes to sleep.
//!
//! Going to sleep and being woken by another processor costs more processor time than answering a
//! request from memory: about 45 against 9 microseconds on the virtual machine of our measurements
//! (docs/design/sharing.md). A client on a fast network sends its next request within that time, so the
//! thread polls before it sleeps. If it finds no event, it sleeps once without polling. After each
//! further poll without an event, it skips twice as many polls, up to 255. An idle server and a server
//! with distant clients therefore sleep at once.
//!
//! The thread pauses between the system calls of a poll. Before the first call, it waits for about the
//! median time that recent events took to arrive. About half of the polls that find an event therefore
//! need only one call.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;

/// Time for which the thread polls before it sleeps. The cost of a sleep limits what polling for longer
/// can save.
const POLL_TIME: Duration = Duration::from_micros(50);

/// Pause between two system calls of a poll.
const POLL_PAUSE: Duration = Duration::from_micros(5);

/// Maximum delay before the first system call of a poll.
const MAX_DELAY: Duration = Duration::from_micros(45);

/// Amount by which a poll that finds events lengthens or shortens the delay before the first system call.
const DELAY_STEP: Duration = Duration::from_nanos(500);

/// Maximum number of sleeps between two polls.
const MAX_PAUSE: u32 = 255;

/// Maximum number of events that are returned at a time.
const MAX_EVENTS: usize = 256;

/// A set of descriptors, each with a number, whose events a thread waits for.
pub(super) struct Poll {
    epoll: OwnedFd,
    events: Vec<Event>,
    backoff: Backoff,
    delay: Delay,
}

/// The time from the start of a poll to its first system call. It follows the median of the times that
/// recent events took to arrive.
#[derive(Debug, Default)]
struct Delay(Duration);

impl Delay {
    /// Adjusts the delay after a poll that found events. `at_once` says whether its first call found them.
    fn found(&mut self, at_once: bool) {
        self.0 = if at_once {
            self.0.saturating_sub(DELAY_STEP)
        } else {
            (self.0 + DELAY_STEP).min(MAX_DELAY)
        };
    }
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
        let events = Vec::with_capacity(MAX_EVENTS);
        Ok(Poll { epoll, events, backoff: Backoff::default(), delay: Delay::default() })
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
        if is_busy && timeout != Some(Duration::ZERO) && self.backoff.is_due() {
            let found = self.poll();
            self.backoff.ended(found);
            if found {
                return;
            }
        }
        self.ask(timeout);
    }

    /// Polls for up to [`POLL_TIME`]. Returns whether there are events.
    fn poll(&mut self) -> bool {
        let start = Instant::now();
        pause(self.delay.0);
        let mut is_first = true;
        while start.elapsed() < POLL_TIME {
            self.ask(Some(Duration::ZERO));
            if !self.events.is_empty() {
                self.delay.found(is_first);
                return true;
            }
            is_first = false;
            pause(POLL_PAUSE);
        }
        false
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

/// Waits for this time without giving up the processor.
fn pause(time: Duration) {
    let start = Instant::now();
    while start.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::{Backoff, Delay, MAX_PAUSE, POLL_TIME};

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

    #[test]
    fn the_delay_leaves_time_for_a_call() {
        let mut delay = Delay::default();
        for _ in 0..1000 {
            delay.found(false);
        }
        assert!(delay.0 < POLL_TIME, "{delay:?}");
        for _ in 0..1000 {
            delay.found(true);
        }
        assert!(delay.0.is_zero(), "{delay:?}");
    }
}
