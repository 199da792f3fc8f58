//! The loads of the race of web servers. Each is a scenario of its own in the record.

use crate::scenario::Work;

/// The files that a load requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    /// 1,000 files of 8 KiB.
    Small,
    /// 100,000 files of 8 KiB.
    Many,
    /// 64 files of 1 MiB.
    Mib,
    /// One file of 4 GiB.
    Big,
    /// Ranges of the file of 4 GiB.
    Ranges,
    /// Names that do not exist.
    Missing,
    /// The 1,000 files, on condition that they changed.
    Unchanged,
}

/// How the requests are sent and what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// A closed loop.
    Closed,
    /// A closed loop of wrk, a program that others wrote.
    Wrk,
    /// An open loop, at half the rate that the tuned nginx reaches.
    Open,
    /// A closed loop under strace, which counts system calls. Nothing is timed.
    Calls,
    /// One throttled response for each client.
    Throttled,
    /// Connections that wait.
    Idle,
}

/// A load.
#[derive(Debug)]
pub(crate) struct Load {
    /// The id of the scenario.
    pub(crate) id: &'static str,
    /// The heading of its table.
    pub(crate) title: &'static str,
    pub(crate) target: Target,
    pub(crate) how: How,
    pub(crate) clients: usize,
    /// True if all servers take part. Otherwise, only lop and those that it must be compared with.
    pub(crate) for_all: bool,
}

impl Load {
    /// Returns the work of the servers under this load.
    pub(crate) fn work(&self) -> Work {
        if self.how == How::Throttled { Work::Throttle } else { Work::Serve }
    }
}

/// The rate of a throttled client in bytes per second. The command lines contain it as well.
pub(crate) const RATE: u32 = 1_000_000;

const fn load(
    id: &'static str,
    title: &'static str,
    target: Target,
    how: How,
    clients: usize,
    for_all: bool,
) -> Load {
    Load { id, title, target, how, clients, for_all }
}

use How::{Calls, Closed, Idle, Open, Throttled, Wrk};
use Target::{Big, Many, Mib, Missing, Ranges, Small, Unchanged};

/// All loads, in the order of the page and of a round.
pub(crate) const LOADS: [Load; 19] = [
    load("small-1", "1,000 files of 8 KiB, 1 client", Small, Closed, 1, true),
    load("small-2", "1,000 files of 8 KiB, 2 clients", Small, Closed, 2, true),
    load("small-4", "1,000 files of 8 KiB, 4 clients", Small, Closed, 4, true),
    load("small-10", "1,000 files of 8 KiB, 10 clients", Small, Closed, 10, true),
    load("small-1-wrk", "1,000 files of 8 KiB, 1 client of wrk", Small, Wrk, 1, false),
    load("small-2-wrk", "1,000 files of 8 KiB, 2 clients of wrk", Small, Wrk, 2, false),
    load("small-4-wrk", "1,000 files of 8 KiB, 4 clients of wrk", Small, Wrk, 4, false),
    load("small-10-wrk", "1,000 files of 8 KiB, 10 clients of wrk", Small, Wrk, 10, false),
    load("small-open", "1,000 files of 8 KiB, at a fixed rate", Small, Open, 32, false),
    load("mib-4", "64 files of 1 MiB, 4 clients", Mib, Closed, 4, true),
    load("big-1", "one file of 4 GiB, 1 client", Big, Closed, 1, true),
    load("ranges-10", "64 KiB at random offsets of 4 GiB, 10 clients", Ranges, Closed, 10, true),
    load("missing-10", "names that do not exist (404), 10 clients", Missing, Closed, 10, true),
    load(
        "unchanged-10",
        "files that did not change (304), 10 clients",
        Unchanged,
        Closed,
        10,
        true,
    ),
    load("calls-1", "system calls, 1 client", Small, Calls, 1, false),
    load("calls-10", "system calls, 10 clients", Small, Calls, 10, false),
    // The last one before a new start, because some servers keep the files open.
    load("many-10", "100,000 files of 8 KiB, 10 clients", Many, Closed, 10, true),
    load(
        "throttled-100",
        "100 clients, 1,000,000 bytes per second each",
        Big,
        Throttled,
        100,
        true,
    ),
    load("idle-10000", "10,000 connections that wait", Small, Idle, 10_000, false),
];

/// Returns the load of a scenario.
pub(crate) fn by_id(id: &str) -> Option<&'static Load> {
    LOADS.iter().find(|load| load.id == id)
}

#[cfg(test)]
mod tests {
    use super::{How, LOADS, RATE};
    use crate::scenario::Work;
    use crate::tools::ENTRANTS;

    #[test]
    fn every_load_has_its_own_id_and_its_number_of_clients() {
        for (at, load) in LOADS.iter().enumerate() {
            assert!(LOADS[..at].iter().all(|other| other.id != load.id), "{}", load.id);
            let clients = load.clients.to_string();
            assert!(load.how == How::Open || load.id.contains(&clients), "{}", load.id);
        }
    }

    #[test]
    fn the_command_line_of_lop_has_the_rate() {
        let mut throttled = ENTRANTS.iter().filter(|entrant| entrant.work == Work::Throttle);
        let lop = throttled.find(|entrant| entrant.name.starts_with("lop")).expect("lop");
        assert!(format!("{lop:?}").contains(&format!("--limit-rate {RATE} ")), "{lop:?}");
    }
}
