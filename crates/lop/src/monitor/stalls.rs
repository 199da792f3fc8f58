//! Detects files and directories that do not respond, for example on a dead mount or on a disk that keeps retrying a
//! sector.
//!
//! A thread counts as blocked if several consecutive checks find it asleep in the same system call with the same
//! arguments. The blocked threads need not cooperate.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use runtime::BlockedThread;

/// How long a call may block before it is reported. A disk with a bad sector retries for a few seconds. A server that
/// does not answer for longer than this is probably down.
const REPORT_AFTER: Duration = Duration::from_secs(10);

/// Interval between two checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The blocked system calls of all threads.
pub(crate) struct Stalls {
    last: Instant,
    /// The blocked calls, by thread and call.
    known: HashMap<(u32, String), Stall>,
}

struct Stall {
    since: Instant,
    path: Vec<u8>,
    is_reported: bool,
}

impl Stalls {
    /// Starts to watch at `now`. The first check is due after one interval, so a short run makes no check.
    pub(crate) fn since(now: Instant) -> Stalls {
        Stalls { last: now, known: HashMap::new() }
    }

    /// Runs a check if one is due. Returns a message about calls that have been blocked for a long time. Each call is
    /// reported once.
    pub(crate) fn check(&mut self, now: Instant) -> Option<Vec<u8>> {
        if now - self.last < CHECK_INTERVAL {
            return None;
        }
        self.last = now;
        let long = first_and_others(self.update(&runtime::blocked_threads(), now))?;
        Some([&b"still waiting for "[..], &long].concat())
    }

    /// Returns the paths that threads are waiting for as text, or `None` if no thread is blocked.
    pub(crate) fn now(&self) -> Option<Vec<u8>> {
        first_and_others(self.known.values().map(|stall| stall.path.clone()).collect())
    }

    /// Updates the table from the currently blocked threads. Returns the paths that are due to be reported.
    fn update(&mut self, waiting: &[BlockedThread], now: Instant) -> Vec<Vec<u8>> {
        let mut known = HashMap::with_capacity(waiting.len());
        let mut long = Vec::new();
        for found in waiting {
            let key = (found.thread, found.call.clone());
            let path = found.path_bytes().to_vec();
            let new = || Stall { since: now, path, is_reported: false };
            let mut stall = self.known.remove(&key).unwrap_or_else(new);
            if !stall.is_reported && now - stall.since >= REPORT_AFTER {
                stall.is_reported = true;
                long.push(stall.path.clone());
            }
            known.insert(key, stall);
        }
        self.known = known;
        long
    }
}

/// Returns the first path and the number of other paths as text, or `None` if there are no paths.
fn first_and_others(mut paths: Vec<Vec<u8>>) -> Option<Vec<u8>> {
    paths.sort_unstable();
    paths.dedup();
    let others = paths.len().checked_sub(1)?;
    let mut text = paths.swap_remove(0);
    match others {
        0 => {}
        1 => text.extend_from_slice(b" and another"),
        _ => text.extend_from_slice(format!(" and {others} others").as_bytes()),
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use runtime::BlockedThread;

    use super::Stalls;

    fn waiting(thread: u32, call: &str) -> BlockedThread {
        BlockedThread { thread, call: call.into(), path: format!("/mnt/{call}").into() }
    }

    #[test]
    fn a_stall_is_reported_once_and_again_only_after_it_ended() {
        let start = Instant::now();
        let mut stalls = Stalls::since(start);
        let at = |seconds| start + Duration::from_secs(seconds);
        let (a, b) = (waiting(1, "a"), waiting(2, "b"));
        assert!(stalls.update(&[a.clone(), b.clone()], at(0)).is_empty());
        assert!(stalls.update(&[a.clone(), b.clone()], at(9)).is_empty());
        // The second thread is in a different call now.
        let other = waiting(2, "c");
        assert_eq!(stalls.update(&[a.clone(), other.clone()], at(11)), [b"/mnt/a"]);
        assert!(stalls.update(&[a.clone(), other.clone()], at(12)).is_empty());
        assert!(stalls.update(&[other], at(13)).is_empty());
        assert!(stalls.update(std::slice::from_ref(&a), at(14)).is_empty());
        assert_eq!(stalls.update(&[a], at(24)), [b"/mnt/a"]);
    }

    #[test]
    fn threads_blocked_on_one_path_are_one_stall() {
        let now = Instant::now();
        let mut stalls = Stalls::since(now);
        let two = [waiting(1, "a"), waiting(2, "a")];
        assert_eq!(stalls.now(), None);
        stalls.update(&two, now);
        assert_eq!(stalls.now().as_deref(), Some(&b"/mnt/a"[..]));
        let three = [&two[..], &[waiting(3, "b")]].concat();
        stalls.update(&three, now + Duration::from_secs(10));
        assert_eq!(stalls.now().as_deref(), Some(&b"/mnt/a and another"[..]));
    }
}
