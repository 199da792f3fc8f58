//! Removes btrfs subvolumes as a whole, with a single system call.

use std::ffi::CStr;

use fsops::{Dir, Stat};

use crate::engine::job::Job;
use crate::outcome::Outcome;
use crate::quarantine::holds_store;

/// Returns whether a directory is a subvolume that may be removed as a whole.
pub(crate) fn is_whole(job: &Job<'_>, dir: &Dir, stat: &Stat) -> bool {
    job.btrfs && job.whole_subvolumes && stat.is_subvolume_root() && !holds_store(dir)
}

/// Removes a subvolume. Returns false if the removal fails, for example because the subvolume
/// contains other subvolumes or the process lacks privileges. The subvolume must then be emptied.
///
/// The system call takes a name. The entry with this name is checked again just before the call,
/// because it may have been replaced since it was selected.
pub(crate) fn remove(
    job: &Job<'_>,
    (above, name): (&Dir, &CStr),
    stat: &Stat,
    outcome: &mut Outcome,
) -> bool {
    let is_it = job.options.throttle.pass(job.progress)
        && above.stat_child(name).is_ok_and(|now| now.key() == stat.key());
    let is_gone = is_it && above.remove_subvolume(name).is_ok();
    outcome.dirs += u64::from(is_gone);
    outcome.subvolumes += u64::from(is_gone);
    is_gone
}
