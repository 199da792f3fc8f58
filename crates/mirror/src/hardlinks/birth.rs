//! lop distinguishes a file from a later one with the same inode number by its birth time, or by its size and
//! modification time if the file system records no birth times.
//!
//! Before Linux 6.13, file systems take times from a clock that ticks every 1 to 10 ms. A file that is removed in the
//! tick of its creation can therefore have the same inode number and times as a file that is created in its place.
//! [`BirthClock`] waits until the tick in which a file was created has passed.

use std::ffi::CStr;
use std::io;
use std::thread;
use std::time::Duration;

use fsops::{Dir, Kind, LONGEST_TICK, Stat};
use runtime::epoch::now_ns;

/// Maximum number of times to read the metadata of one name, because other programs may keep replacing the file.
const MAX_CHECKS: usize = 3;

/// Reads metadata of source entries.
#[derive(Debug)]
pub(crate) struct BirthClock {
    /// Nanoseconds since 1970 before the run read any metadata.
    started_ns: i64,
}

impl BirthClock {
    pub(crate) fn start() -> BirthClock {
        BirthClock { started_ns: now_ns() }
    }

    /// Returns the metadata of an entry. A file that is created later with the same inode number has a different birth
    /// time, if the file system records birth times.
    ///
    /// # Errors
    ///
    /// Returns the error of `statx(2)`.
    pub(crate) fn stat_child(&self, dir: &Dir, name: &CStr) -> io::Result<Stat> {
        let mut stat = dir.stat_child(name)?;
        let mut before_stat_ns = self.started_ns;
        for _ in 0..MAX_CHECKS {
            let has_links = stat.links > 1 && stat.kind != Kind::Dir;
            let tick = tick_of(&stat);
            let tick_ended_ns = created_ns(&stat).saturating_add(ns(tick));
            if !has_links || tick_ended_ns < before_stat_ns {
                break;
            }
            let left_ns = tick_ended_ns.saturating_sub(now_ns()).max(0);
            // A time in the future comes from another clock or was set.
            if left_ns > 2 * ns(tick) {
                break;
            }
            thread::sleep(Duration::from_nanos(left_ns.unsigned_abs()));
            before_stat_ns = now_ns();
            stat = dir.stat_child(name)?;
        }
        Ok(stat)
    }
}

/// Distinguishes a file from a later one with the same inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity(pub(crate) i64);

impl Identity {
    /// Returns the identity of the file with this metadata.
    pub(crate) fn of(stat: &Stat) -> Identity {
        let mixed = stat.size.wrapping_mul(0x9e37_79b9_7f4a_7c15).cast_signed();
        Identity(if stat.born_ns == 0 { mixed ^ stat.mtime_ns() } else { stat.born_ns })
    }
}

/// Returns the birth time of a file, or its modification time if the file system records no birth times.
fn created_ns(stat: &Stat) -> i64 {
    if stat.born_ns == 0 { stat.mtime_ns() } else { stat.born_ns }
}

/// Returns the resolution of the times of a file: ext4 with small inodes stores whole seconds.
fn tick_of(stat: &Stat) -> Duration {
    let is_whole = |ns: i64| ns % 1_000_000_000 == 0;
    let is_coarse = stat.born_ns == 0 && is_whole(stat.mtime_ns()) && is_whole(stat.ctime_ns);
    if is_coarse { Duration::from_secs(1) } else { LONGEST_TICK }
}

fn ns(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{BirthClock, Identity, now_ns, ns};
    use crate::engine::fixture::{Fixture, entry, plain};
    use fsops::{Dir, LONGEST_TICK};
    use testkit::TreeBuilder;

    #[test]
    fn a_file_is_older_than_a_tick_when_its_links_are_recognised() {
        let clock = BirthClock::start();
        let tree = TreeBuilder::new().hard_links("x", &["a", "b"]).file("c", "x").make_temp();
        let dir = Dir::open(tree.path()).expect("opened");
        let stat = clock.stat_child(&dir, c"a").expect("exists");
        assert_eq!((stat.links, stat.size), (2, 1));
        assert!(now_ns() - stat.born_ns > ns(LONGEST_TICK));
        assert_eq!(clock.stat_child(&dir, c"c").expect("exists").links, 1);
        assert!(clock.stat_child(&dir, c"d").is_err());
    }

    #[test]
    fn without_birth_times_size_and_modification_time_count() {
        let tree = TreeBuilder::new().file("a", "x").file("b", "xy").file("c", "x");
        let tree = tree.mtime("a", 7, 7).mtime("b", 7, 7).mtime("c", 7, 8).make_temp();
        let dir = Dir::open(tree.path()).expect("opened");
        let identity = |name, born_ns| {
            let stat = dir.stat_child(name).expect("exists");
            Identity::of(&fsops::Stat { born_ns, ..stat })
        };
        assert_eq!(identity(c"a", 0), identity(c"a", 0));
        assert!(identity(c"a", 0) != identity(c"b", 0) && identity(c"a", 0) != identity(c"c", 0));
        assert_eq!(identity(c"a", 5), identity(c"b", 5));
    }

    /// On ext4, the file that is made last has the inode number of the first one, and before Linux 6.13 its birth time.
    #[test]
    fn a_file_made_in_the_tick_of_another_is_not_linked_to_it() {
        let tree = TreeBuilder::new().hard_links("old", &["from/a", "from/b"]).file("from/c", "");
        for _ in 0..30 {
            let fixture = Fixture::new(&tree.clone().dir("to"));
            let from = fixture.tree.join("from");
            let dir = Dir::open(&from).expect("opened");
            fixture.with_top(&plain(), |worker, shared| {
                worker.reconcile(entry(shared, c"a"), None);
                for name in ["c", "a", "b"] {
                    fsops::remove_file(&from.join(name)).expect("removed");
                }
                let new = dir.create_file(c"c", 0o600).expect("made");
                new.write_at(b"new", 0).expect("written");
                dir.link_name(&dir, c"c", c"d").expect("linked");
                worker.reconcile(entry(shared, c"c"), None);
            });
            assert_eq!(fs::read(fixture.tree.join("to/c")).expect("read"), b"new");
        }
    }
}
