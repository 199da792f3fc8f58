//! Removes the targets, one after the other.

use std::io::{Error, ErrorKind};
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Kind, Op};
use runtime::{Interrupted, Progress, Stage};

use crate::Operation;
use crate::Options;
use crate::Tell;
use crate::engine::job::{Job, Tally, Top};
use crate::engine::removal::opens_up_child;
use crate::engine::subvolume;
use crate::guard::Target;
use crate::outcome::{Outcome, Reason};

/// Maximum number of attempts to empty a top directory while other processes add entries to it.
const MAX_ATTEMPTS: usize = 16;

/// Removes `targets`, or determines the result of their removal. Returns the outcome, and
/// [`Interrupted`] if a stop was requested.
///
/// `progress.removed_done` counts the removed entries. If `tell` is given, subvolumes are emptied
/// like directories, so that each entry is reported.
pub fn purge(
    targets: &[Target],
    options: &Options,
    progress: &Progress,
    tell: Option<Tell<'_>>,
) -> (Outcome, Result<(), Interrupted>) {
    progress.enter(if options.operation == Operation::Remove {
        Stage::Purge
    } else {
        Stage::Count
    });
    let mut tally = Tally::default();
    for target in targets {
        if progress.poll_stop() {
            break;
        }
        let narrowed = options.selection.of_target(&target.given);
        let narrowed = narrowed.map(|selection| Options { selection, ..options.clone() });
        let options = narrowed.as_ref().unwrap_or(options);
        let mut removal = Removal { target, options, progress, tell, tally: &mut tally };
        if let Err(reason) = removal.run() {
            tally.outcome.fail(|| target.given.clone(), reason);
        }
    }
    let Tally { mut outcome, linked, .. } = tally;
    linked.settle(&mut outcome);
    (outcome, progress.check())
}

/// The removal of one target.
struct Removal<'r> {
    target: &'r Target,
    options: &'r Options,
    progress: &'r Progress,
    tell: Option<Tell<'r>>,
    tally: &'r mut Tally,
}

impl Removal<'_> {
    fn run(&mut self) -> Result<(), Reason> {
        let Removal { target, options, .. } = *self;
        let is_dir = target.stat.kind == Kind::Dir;
        if is_dir && options.selection.spares_target(target.name.to_bytes(), true) {
            self.tally.outcome.unselected += 1;
            return Ok(());
        }
        if is_dir { self.dir() } else { self.file() }
    }

    fn dir(&mut self) -> Result<(), Reason> {
        let Removal { target, options, progress, tell, .. } = *self;
        for _ in 0..MAX_ATTEMPTS {
            let open = || target.parent.open_child_same_mount(&target.name);
            let opened = match open() {
                Err(e) if opens_up_child(options, &target.parent, &target.name, &e) => open(),
                opened => opened,
            };
            let dir = match opened {
                Ok(dir) => dir,
                // Another process removed the target.
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
                Err(source) => return self.unopened(source),
            };
            let stat = dir.stat().map_err(failed(Op::Stat))?;
            if !stat.same_file(&target.stat) {
                return Err(Reason::Moved);
            }
            let mounts_below = target.mounts_below;
            let top = Top { dir, stat, given: &target.given, mounts_below, tell };
            let job = Job::new(top, options, progress).map_err(failed(Op::Stat))?;
            let at = (&*target.parent, target.name.as_c_str());
            let is_whole = !options.keep_root && subvolume::is_whole(&job, &job.top, &stat);
            if is_whole && subvolume::remove(&job, at, &stat, &mut self.tally.outcome) {
                return Ok(());
            }
            let goes = job.run(self.tally);
            if !goes || progress.poll_stop() {
                return Ok(());
            }
            if options.operation != Operation::Remove {
                self.took(true);
                return Ok(());
            }
            if !options.throttle.pass(progress) {
                return Ok(());
            }
            match target.parent.remove_empty_dir(&target.name) {
                Ok(()) => {
                    self.took(true);
                    return Ok(());
                }
                Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
                Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {}
                Err(source) => return Err(Reason::Failed { op: Op::Remove, source }),
            }
        }
        Err(Reason::Growing)
    }

    /// Handles a top directory that cannot be opened. The directory can still be removed if it is
    /// empty.
    fn unopened(&mut self, source: Error) -> Result<(), Reason> {
        let Removal { target, options, .. } = *self;
        let is_all = !options.keep_root && options.selection.is_all();
        let may_go = options.operation == Operation::Remove && is_all;
        if may_go && target.parent.remove_empty_dir(&target.name).is_ok() {
            self.took(true);
            return Ok(());
        }
        Err(Reason::Failed { op: Op::Open, source })
    }

    fn file(&mut self) -> Result<(), Reason> {
        let Removal { target, options, progress, .. } = *self;
        let stat = match target.parent.stat_child(&target.name) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            stat => stat.map_err(failed(Op::Stat))?,
        };
        if !stat.same_file(&target.stat) {
            return Err(Reason::Moved);
        }
        if !options.selection.choose_file(target.name.to_bytes(), &stat) {
            self.tally.outcome.unselected += 1;
            return Ok(());
        }
        if options.operation != Operation::Remove {
            self.took(false);
            self.tally.linked.note(&stat, &mut self.tally.outcome);
            return Ok(());
        }
        if !options.throttle.pass(progress) {
            return Ok(());
        }
        match target.parent.remove_name(&target.name) {
            Ok(()) => {
                self.took(false);
                progress.removed_done.fetch_add(1, Relaxed);
                Ok(())
            }
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Err(source) => Err(Reason::Failed { op: Op::Remove, source }),
        }
    }

    /// Counts a target that was or would be removed.
    fn took(&mut self, is_dir: bool) {
        let Outcome { files, dirs, .. } = &mut self.tally.outcome;
        *(if is_dir { dirs } else { files }) += 1;
        if let Some(tell) = self.tell {
            tell(&self.target.given, is_dir);
        }
    }
}

fn failed(op: Op) -> impl Fn(Error) -> Reason {
    move |source| Reason::Failed { op, source }
}
