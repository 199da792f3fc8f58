//! Work on other threads: they read the catalog, and run lop processes.
//!
//! [`Work`] runs at most one thread for each [`Slot`]. Newer work replaces older work: [`Work`] starts it as soon as
//! the older work ends, and drops the result of the older work. A thread wakes the event loop with a byte in a socket,
//! so the loop does not have to poll for results.
//!
//! Each lop process has its own process group, so a process that changes files survives this program and the signals of
//! its terminal.

mod child;
mod documents;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use action::plan::Kind;
use action::run::{RunSummary, Runs};
use catalog::Catalog;
use review::Review;
use runtime::epoch::now_ns;
use space::{Comparisons, Space};

use self::child::{Lop, Stop};
pub(crate) use self::documents::{FolderKind, PlanFile, Related, Relation, Unique, Uniques};
use crate::error::with_causes;

/// Work for another thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// Computes the sizes of all directories.
    Space,
    /// Loads the groups and the decisions.
    Groups,
    /// Compares the folders below a path.
    Folders(Vec<u8>),
    /// Finds the files below a path that have no copy outside.
    Uniques(Vec<u8>),
    /// Lists the runs.
    Runs,
    /// Makes a plan from the decisions.
    Plan(Kind),
    /// Carries out the last plan, which has this action.
    Apply(Kind),
    /// Restores the files that a run with this action changed.
    Undo { run: u64, kind: Kind },
}

/// Kinds of work that replace each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    Space,
    Groups,
    Folders,
    Uniques,
    Runs,
    Plan,
    /// Work that changes files.
    Act,
}

impl Load {
    pub(crate) fn slot(&self) -> Slot {
        match self {
            Load::Space => Slot::Space,
            Load::Groups => Slot::Groups,
            Load::Folders(_) => Slot::Folders,
            Load::Uniques(_) => Slot::Uniques,
            Load::Runs => Slot::Runs,
            Load::Plan(_) => Slot::Plan,
            Load::Apply(_) | Load::Undo { .. } => Slot::Act,
        }
    }
}

/// The result of some work, or the reason why there is none.
#[derive(Debug)]
pub(crate) enum Loaded {
    Space(Result<Sizes, String>),
    Groups(Result<Box<Review>, String>),
    Folders(Result<Related, String>),
    Uniques(Result<Uniques, String>),
    Runs(Result<RunList, String>),
    Plan(Result<PlanFile, String>),
    Acted(Result<Acted, String>),
}

impl Loaded {
    /// Returns the result of work that failed for the reason `why`.
    pub(crate) fn failed(slot: Slot, why: String) -> Loaded {
        match slot {
            Slot::Space => Loaded::Space(Err(why)),
            Slot::Groups => Loaded::Groups(Err(why)),
            Slot::Folders => Loaded::Folders(Err(why)),
            Slot::Uniques => Loaded::Uniques(Err(why)),
            Slot::Runs => Loaded::Runs(Err(why)),
            Slot::Plan => Loaded::Plan(Err(why)),
            Slot::Act => Loaded::Acted(Err(why)),
        }
    }
}

/// The sizes of all directories in the catalog.
#[derive(Debug)]
pub(crate) struct Sizes {
    pub(crate) space: Space,
    /// The scans that the growth of directories refers to.
    pub(crate) comparisons: Comparisons,
}

/// The runs that changed files.
#[derive(Debug, Default)]
pub(crate) struct RunList {
    /// The runs, newest first.
    pub(crate) runs: Vec<RunSummary>,
    /// Number of runs that are missing because their journals are unreadable. `lop history` names them.
    pub(crate) unreadable: u64,
    /// The number of the first run that another process may still be carrying out.
    pub(crate) first_that_may_run: u64,
}

/// The result of a run or an undo.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Acted {
    pub(crate) text: String,
    /// The number of the run, if the user can undo it.
    pub(crate) run: Option<u64>,
    /// Number of files that the run changed.
    pub(crate) done: u64,
    /// Messages about the files that lop left alone, and other messages.
    pub(crate) messages: Vec<String>,
}

/// A report of a thread to the event loop.
#[derive(Debug)]
pub(crate) enum News {
    Progress(Slot, String),
    Loaded(Loaded),
}

enum Report {
    Progress(String),
    Loaded(Loaded),
    Panicked(Box<dyn Any + Send>),
}

/// A thread that is working.
#[derive(Debug)]
struct Running {
    slot: Slot,
    number: u64,
    stop: Stop,
    /// Whether the event loop waits for the result.
    is_wanted: bool,
    /// The work to start when the thread ends.
    next: Option<Load>,
}

/// Starts threads, and receives their results.
pub(crate) struct Work {
    program: PathBuf,
    catalog: PathBuf,
    /// Opens the catalog again. Each thread opens it itself, because it may have to wait for another process.
    reopen: Arc<dyn Fn() -> Result<Catalog, catalog::Error> + Send + Sync>,
    temp_dir: PathBuf,
    running: Vec<Running>,
    /// The file of the last plan.
    plan: Option<File>,
    last: u64,
    sender: Sender<(u64, Report)>,
    receiver: Receiver<(u64, Report)>,
    /// Both ends of a socket: the event loop reads from the first, and threads write to the second.
    wake: (UnixStream, UnixStream),
}

impl Work {
    /// Prepares to work on a catalog. `program` is the path of lop.
    ///
    /// # Errors
    ///
    /// Fails if the system refuses a socket.
    pub(crate) fn new(program: PathBuf, catalog: &Catalog, temp_dir: PathBuf) -> io::Result<Work> {
        let (reopen, catalog) = (Arc::new(catalog.reopener()), catalog.path().to_path_buf());
        let (sender, receiver) = channel();
        let wake = UnixStream::pair()?;
        wake.0.set_nonblocking(true)?;
        wake.1.set_nonblocking(true)?;
        let (running, plan, last) = (Vec::new(), None, 0);
        Ok(Work { program, catalog, reopen, temp_dir, running, plan, last, sender, receiver, wake })
    }

    /// Returns a descriptor that becomes readable when a thread has sent a report.
    pub(crate) fn wakes(&self) -> BorrowedFd<'_> {
        self.wake.0.as_fd()
    }

    /// Stops the work of a slot, and drops its result. Work that changes files still delivers its result.
    pub(crate) fn cancel(&mut self, slot: Slot) {
        if let Some(running) = self.running.iter_mut().find(|one| one.slot == slot) {
            running.stop.stop();
            (running.is_wanted, running.next) = (slot == Slot::Act, None);
        }
    }

    /// Stops all work except work that changes files.
    pub(crate) fn cancel_all(&mut self) {
        let slots: Vec<Slot> = self.running.iter().map(|running| running.slot).collect();
        slots.into_iter().filter(|slot| *slot != Slot::Act).for_each(|slot| self.cancel(slot));
    }

    /// Starts work, as soon as the older work of its slot has ended.
    ///
    /// # Errors
    ///
    /// Fails if another run is still changing files, if the plan to carry out is missing, or if the system refuses a
    /// resource.
    pub(crate) fn start(&mut self, load: Load) -> Result<(), String> {
        let slot = load.slot();
        let Some(older) = self.running.iter().position(|running| running.slot == slot) else {
            return self.spawn(load);
        };
        if slot == Slot::Act {
            return Err("another run must end first".into());
        }
        self.cancel(slot);
        self.running[older].next = Some(load);
        Ok(())
    }

    fn spawn(&mut self, load: Load) -> Result<(), String> {
        let slot = load.slot();
        let job = self.job(load)?;
        self.last += 1;
        let (number, stop) = (self.last, Stop::default());
        let (mut feedback, theirs) = (self.feedback(number)?, stop.clone());
        let work = move || {
            let mut tell = feedback.clone_for_progress();
            let done = catch_unwind(AssertUnwindSafe(|| job(&theirs, &mut tell)));
            feedback.send(done.map_or_else(Report::Panicked, Report::Loaded));
        };
        let thread = std::thread::Builder::new().name(format!("{slot:?}").to_lowercase());
        thread.spawn(work).map_err(|error| format!("cannot start a thread: {error}"))?;
        self.running.push(Running { slot, number, stop, is_wanted: true, next: None });
        Ok(())
    }

    /// Returns the next report that has arrived and is wanted. If a thread has panicked, continues its panic.
    ///
    /// The caller MUST carry out the effects of a report before it asks for the next one, because they may cancel the
    /// work that the next one is about.
    pub(crate) fn news(&mut self) -> Option<News> {
        // The bytes only wake the loop. Their number does not matter.
        let _drained = (&self.wake.0).read(&mut [0; 64]);
        while let Ok((number, report)) = self.receiver.try_recv() {
            let Some(at) = self.running.iter().position(|one| one.number == number) else {
                continue;
            };
            let Running { slot, is_wanted, .. } = self.running[at];
            match report {
                Report::Panicked(panic) => std::panic::resume_unwind(panic),
                Report::Progress(text) if is_wanted => return Some(News::Progress(slot, text)),
                Report::Progress(_) => {}
                Report::Loaded(loaded) => {
                    let next = self.running.remove(at).next.map(|next| self.spawn(next));
                    if let Some(Err(why)) = next {
                        return Some(News::Loaded(Loaded::failed(slot, why)));
                    }
                    if is_wanted {
                        return Some(News::Loaded(loaded));
                    }
                }
            }
        }
        None
    }

    fn feedback(&self, number: u64) -> Result<Feedback, String> {
        let wake = self.wake.1.try_clone();
        let wake = wake.map_err(|error| format!("cannot start work: {error}"))?;
        Ok(Feedback { number, sender: self.sender.clone(), wake: wake.into() })
    }

    fn job(&mut self, load: Load) -> Result<Job, String> {
        let lop = Lop::new(&self.program, &self.catalog);
        let reopen = Arc::clone(&self.reopen);
        let reopen = move || reopen().map_err(|error| with_causes(&error));
        let runs = Catalog::runs_dir(&self.catalog);
        Ok(match load {
            Load::Space => {
                let load = move |catalog| load_sizes(&catalog, &runs);
                Box::new(move |_, _| Loaded::Space(reopen().and_then(load)))
            }
            Load::Groups => Box::new(move |_, _| {
                Loaded::Groups(reopen().and_then(|catalog| load_review(&catalog)))
            }),
            Load::Runs => Box::new(move |_, _| Loaded::Runs(list_runs(&runs))),
            Load::Folders(dir) => {
                Box::new(move |stop, tell| Loaded::Folders(lop.folders(&dir, stop, tell)))
            }
            Load::Uniques(dir) => {
                Box::new(move |stop, tell| Loaded::Uniques(lop.uniques(&dir, stop, tell)))
            }
            Load::Plan(kind) => {
                let file = runtime::unnamed_file(&self.temp_dir)
                    .map_err(|error| format!("cannot create a file for the plan: {error}"))?;
                self.plan = file.try_clone().ok();
                Box::new(move |stop, tell| Loaded::Plan(lop.plan(kind, file, stop, tell)))
            }
            Load::Apply(kind) => {
                let file = self.plan.as_ref().and_then(|file| file.try_clone().ok());
                let file = file.ok_or("there is no plan")?;
                Box::new(move |stop, tell| Loaded::Acted(lop.apply(kind, file, stop, tell)))
            }
            Load::Undo { run, kind } => {
                Box::new(move |stop, tell| Loaded::Acted(lop.undo(run, kind, stop, tell)))
            }
        })
    }
}

type Job = Box<dyn FnOnce(&Stop, &mut dyn FnMut(String)) -> Loaded + Send>;

/// Sends reports to the event loop, and wakes it.
#[derive(Clone)]
struct Feedback {
    number: u64,
    sender: Sender<(u64, Report)>,
    wake: Arc<UnixStream>,
}

impl Feedback {
    /// Sends a report. While the program ends, the report may get lost.
    fn send(&mut self, report: Report) {
        if self.sender.send((self.number, report)).is_ok() {
            // If the socket is full, the loop is about to wake up.
            let _full = (&*self.wake).write(&[0]);
        }
    }

    fn clone_for_progress(&self) -> impl FnMut(String) + use<> {
        let mut feedback = self.clone();
        move |text| feedback.send(Report::Progress(text))
    }
}

fn load_sizes(catalog: &Catalog, runs: &Path) -> Result<Sizes, String> {
    let load = || {
        let mut space = Space::load(catalog)?;
        // The growth does not depend on the journals, so unreadable journals are no error here.
        let changed_ms = Runs::last_change_ms(runs).unwrap_or(None);
        let comparisons = space.compare_scans(catalog, None, changed_ms)?;
        Ok(Sizes { space, comparisons })
    };
    load().map_err(|error: catalog::Error| with_causes(&error))
}

fn load_review(catalog: &Catalog) -> Result<Box<Review>, String> {
    let review = Review::load(catalog, now_ns()).map(Box::new);
    review.map_err(|error| with_causes(&error))
}

/// Lists the runs, and counts the journals that are unreadable.
fn list_runs(folder: &Path) -> Result<RunList, String> {
    let read = || Ok((Runs::first_that_may_run(folder)?, Runs::list(folder)?));
    let (first_that_may_run, all) = read().map_err(|error: action::Error| with_causes(&error))?;
    let of = all.len();
    let runs: Vec<RunSummary> = all.into_iter().rev().filter_map(Result::ok).collect();
    let unreadable = (of - runs.len()) as u64;
    Ok(RunList { runs, unreadable, first_that_may_run })
}
