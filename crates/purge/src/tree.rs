//! Removes the targets, one after the other.

use std::io::{Error, ErrorKind};
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Interrupted, Kind, Op, Stage, Watch};

use crate::guard::Target;
use crate::job::{Job, Tally, Top};
use crate::outcome::{Outcome, Reason};
use crate::{Deed, Options, subvolume};

/// How often a top directory is emptied again that has something in it afterwards.
const AGAIN: usize = 16;

/// Removes `targets`, or finds out what that would do. Returns what came of it, and whether it went to its
/// end: `watch` may have asked to stop.
///
/// `watch.files_done` counts the entries removed.
pub fn purge(
    targets: &[Target],
    options: &Options,
    watch: &Watch,
) -> (Outcome, Result<(), Interrupted>) {
    watch.enter(if options.deed == Deed::Remove { Stage::Purge } else { Stage::Count });
    let mut tally = Tally::default();
    for target in targets {
        if watch.stopped() {
            break;
        }
        if let Err(reason) = remove(target, options, watch, &mut tally) {
            tally.outcome.fail(|| target.given.clone(), reason);
        }
    }
    let Tally { mut outcome, linked, .. } = tally;
    linked.settle(&mut outcome);
    (outcome, watch.check())
}

fn remove(
    target: &Target,
    options: &Options,
    watch: &Watch,
    tally: &mut Tally,
) -> Result<(), Reason> {
    if target.stat.kind != Kind::Dir {
        return remove_file(target, options, watch, tally);
    }
    for _ in 0..AGAIN {
        let dir = match target.parent.open_child_within(&target.name) {
            Ok(dir) => dir,
            // Somebody else removed it.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(source) => return unopened(target, options, tally, source),
        };
        let stat = dir.stat().map_err(failed(Op::Stat))?;
        if stat.key() != target.stat.key() {
            return Err(Reason::Moved);
        }
        let top = Top { dir, stat, given: &target.given, mounts_below: target.mounts_below };
        let job = Job::new(top, options, watch).map_err(failed(Op::Stat))?;
        let at = (&*target.parent, target.name.as_c_str());
        let is_whole = !options.keep_root && subvolume::is_whole(&job, &job.top, &stat);
        if is_whole && subvolume::remove(&job, at, &stat, &mut tally.outcome) {
            return Ok(());
        }
        let goes = job.run(tally);
        if !goes || watch.stopped() {
            return Ok(());
        }
        if options.deed != Deed::Remove {
            tally.outcome.dirs += 1;
            return Ok(());
        }
        if !options.throttle.pass(watch) {
            return Ok(());
        }
        match target.parent.remove_empty_dir(&target.name) {
            Ok(()) => {
                tally.outcome.dirs += 1;
                return Ok(());
            }
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) if e.kind() == ErrorKind::DirectoryNotEmpty => {}
            Err(source) => return Err(Reason::Failed { op: Op::Remove, source }),
        }
    }
    Err(Reason::Growing)
}

/// Deals with a top directory that cannot be opened: it may be empty.
fn unopened(
    target: &Target,
    options: &Options,
    tally: &mut Tally,
    source: Error,
) -> Result<(), Reason> {
    let may_go = options.deed == Deed::Remove && !options.keep_root && options.selection.is_all();
    if may_go && target.parent.remove_empty_dir(&target.name).is_ok() {
        tally.outcome.dirs += 1;
        return Ok(());
    }
    Err(Reason::Failed { op: Op::Open, source })
}

fn remove_file(
    target: &Target,
    options: &Options,
    watch: &Watch,
    tally: &mut Tally,
) -> Result<(), Reason> {
    let stat = match target.parent.stat_child(&target.name) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        stat => stat.map_err(failed(Op::Stat))?,
    };
    let goes = options.selection.choose_file(target.name.to_bytes(), &stat);
    if !goes {
        tally.outcome.kept += 1;
        return Ok(());
    }
    if options.deed != Deed::Remove {
        tally.outcome.files += 1;
        tally.linked.note(&stat, &mut tally.outcome);
        return Ok(());
    }
    if !options.throttle.pass(watch) {
        return Ok(());
    }
    match target.parent.remove_name(&target.name) {
        Ok(()) => {
            tally.outcome.files += 1;
            watch.files_done.fetch_add(1, Relaxed);
            Ok(())
        }
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Reason::Failed { op: Op::Remove, source }),
    }
}

fn failed(op: Op) -> impl Fn(Error) -> Reason {
    move |source| Reason::Failed { op, source }
}
