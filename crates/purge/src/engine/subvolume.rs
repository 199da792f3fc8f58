//! Removes btrfs subvolumes as a whole, by a single system call.

use std::ffi::CStr;

use fsops::{Dir, Stat};

use crate::engine::job::Job;
use crate::outcome::Outcome;
use crate::quarantine::holds_store;

/// Returns whether a directory is a subvolume that may be removed as a whole.
pub(crate) fn is_whole(job: &Job<'_>, dir: &Dir, stat: &Stat) -> bool {
    job.btrfs && job.whole_subvolumes && stat.is_subvolume_root() && !holds_store(dir)
}

/// Removes a subvolume. Returns false if it has to be emptied instead, because it contains
/// subvolumes or the removal needs privileges.
///
/// The kernel identifies it by name. Just before the call, the name is checked again, as the
/// decision took some time.
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
