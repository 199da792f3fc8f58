//! The archives that are being sent, and limits for them.

use std::io;
use std::sync::{Arc, MutexGuard, Weak};
use std::time::{Duration, Instant};

use runtime::{Condvar, Mutex};

use super::{Archive, MAX_ENTRIES};

/// Time for which further requests get the same plan, such as those for other parts of the archive. If the directory
/// has changed meanwhile, the archive is the one of a few seconds ago.
const REUSED: Duration = Duration::from_secs(5);

/// Maximum number of directories that are examined at the same time.
const MAX_PLANNING: usize = 4;

/// Maximum number of requests that wait for the plan of another request. Each of them holds a thread.
const MAX_WAITING: usize = 32;

/// Maximum number of entries of all archives that are being sent, which bounds their memory to about 400 MiB.
const MAX_LIVE: usize = 2 * MAX_ENTRIES;

/// The archives of a server.
#[derive(Debug, Default)]
pub(crate) struct Plans {
    state: Mutex<State>,
    /// Notified when a plan ends.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The paths of the directories that are being examined.
    planning: Vec<Box<[u8]>>,
    /// The number of requests that wait for such a directory.
    waiting: usize,
    /// Archives that further requests get, each with the path of its directory.
    recent: Vec<(Instant, Box<[u8]>, Arc<Archive>)>,
    /// All archives, as long as they are being sent.
    live: Vec<Weak<Archive>>,
}

/// The reason why there is no archive.
#[derive(Debug)]
pub(crate) enum Unplanned {
    /// Too many archives are being made or sent.
    Busy,
    /// The directory cannot be examined.
    Failed(io::Error),
}

impl Plans {
    /// Returns the archive of the directory at a path, from `plan` unless there is a recent one. Waits if another
    /// request is making the same plan.
    pub(crate) fn get(
        &self,
        path: &[u8],
        plan: impl FnOnce() -> io::Result<Archive>,
    ) -> Result<Arc<Archive>, Unplanned> {
        let mut state = self.state.lock();
        loop {
            state.tidy(Instant::now());
            if let Some((_, _, archive)) = state.recent.iter().find(|(_, of, _)| **of == *path) {
                return Ok(Arc::clone(archive));
            }
            let is_planned = state.planning.iter().any(|planned| **planned == *path);
            if !is_planned || state.waiting >= MAX_WAITING {
                break;
            }
            state.waiting += 1;
            state = self.ended.wait(state);
            state.waiting -= 1;
        }
        if state.planning.len() >= MAX_PLANNING || state.live_entries() >= MAX_LIVE {
            return Err(Unplanned::Busy);
        }
        state.planning.push(path.into());
        drop(state);
        let ended = runtime::on_panic(|| drop(self.end(path)));
        let planned = plan().map(Arc::new);
        drop(ended);
        let mut state = self.end(path);
        let archive = planned.map_err(Unplanned::Failed)?;
        state.live.push(Arc::downgrade(&archive));
        state.recent.push((Instant::now(), path.into(), Arc::clone(&archive)));
        Ok(archive)
    }

    /// Forgets archives that no request has asked for recently.
    pub(crate) fn tidy(&self, now: Instant) {
        self.state.lock().tidy(now);
    }

    /// Ends the plan of a path. Requests that wait for it go on when the returned guard is dropped.
    fn end(&self, path: &[u8]) -> MutexGuard<'_, State> {
        let mut state = self.state.lock();
        if let Some(at) = state.planning.iter().position(|planned| **planned == *path) {
            state.planning.swap_remove(at);
        }
        self.ended.notify_all();
        state
    }
}

impl State {
    fn tidy(&mut self, now: Instant) {
        self.recent.retain(|(planned, ..)| now.saturating_duration_since(*planned) < REUSED);
        self.live.retain(|archive| archive.strong_count() > 0);
    }

    fn live_entries(&self) -> usize {
        self.live.iter().filter_map(Weak::upgrade).map(|archive| archive.entries()).sum()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::time::Instant;

    use fsops::Dir;
    use testkit::TreeBuilder;
    use walk::OwnFiles;

    use super::{Plans, REUSED, Unplanned};
    use crate::archive::Archive;

    #[test]
    fn requests_for_the_same_archive_share_a_plan_for_some_seconds() {
        let tree = TreeBuilder::new().file("a", "1").make_temp();
        let plan = || Archive::plan(Dir::open(tree.path())?, b"t", &OwnFiles::default());
        let plans = Plans::default();
        let first = plans.get(b"t", plan).expect("planned");
        let second = plans.get(b"t", || panic!("planned twice")).expect("the same");
        assert!(Arc::ptr_eq(&first, &second));
        plans.tidy(Instant::now() + REUSED);
        assert!(!Arc::ptr_eq(&first, &plans.get(b"t", plan).expect("planned again")));
        assert!(!Arc::ptr_eq(&first, &plans.get(b"u", plan).expect("another")));
    }

    #[test]
    fn requests_wait_for_the_plan_of_another_one() {
        let tree = &TreeBuilder::new().file("a", "1").make_temp();
        let (plans, (begun, other)) = (&Plans::default(), channel());
        std::thread::scope(|scope| {
            let plan = move || {
                begun.send(()).expect("the test waits");
                while plans.state.lock().waiting < 3 {
                    std::thread::yield_now();
                }
                Archive::plan(Dir::open(tree.path())?, b"t", &OwnFiles::default())
            };
            let first = move || plans.get(b"t", plan).expect("planned");
            let first = scope.spawn(first);
            other.recv().expect("it begins");
            let get = || plans.get(b"t", || panic!("planned twice")).expect("the same");
            let others: Vec<_> = (0..3).map(|_| scope.spawn(get)).collect();
            let first = first.join().expect("no panic");
            for other in others {
                assert!(Arc::ptr_eq(&first, &other.join().expect("no panic")));
            }
        });
    }

    #[test]
    fn too_many_plans_at_a_time_are_refused() {
        let plans = Plans::default();
        let fail = || Err(std::io::ErrorKind::Other.into());
        let nested = plans.get(b"1", || {
            let _failed = plans.get(b"2", || {
                let _failed = plans.get(b"3", || {
                    let _failed = plans.get(b"4", || {
                        assert!(matches!(plans.get(b"5", fail), Err(Unplanned::Busy)));
                        fail()
                    });
                    fail()
                });
                fail()
            });
            fail()
        });
        assert!(matches!(nested, Err(Unplanned::Failed(_))));
        assert!(matches!(plans.get(b"5", fail), Err(Unplanned::Failed(_))), "all have ended");
    }
}
