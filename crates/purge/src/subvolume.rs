//! Removes subvolumes of btrfs as a whole, by one call.

use std::ffi::CStr;

use fsops::{Dir, DirBuffer, Stat};
use walk::STORE_PREFIX;

use crate::job::Job;
use crate::outcome::Outcome;

/// Returns whether a directory is a subvolume that may go as a whole.
pub(crate) fn is_whole(job: &Job<'_>, dir: &Dir, stat: &Stat) -> bool {
    job.btrfs && job.whole_subvolumes && stat.tops_subvolume() && !holds_store(dir)
}

/// Removes a subvolume; returns whether it is gone. There may be subvolumes in it, or it takes privileges;
/// then it is to be emptied.
///
/// The kernel takes its name. So right before it is looked at whether that still leads to it: to find out
/// whether it may go took longer.
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

/// Returns whether a directory has files in quarantine, where `lop dedupe` puts them: in the top directory of a
/// subvolume, if it may; or whether that cannot be told.
pub(crate) fn holds_store(top: &Dir) -> bool {
    let mut found = false;
    let listed = top.open_below_within(b".").and_then(|top| {
        top.for_each(&mut DirBuffer::default(), |item| {
            found |= item.name.to_bytes().starts_with(STORE_PREFIX.as_bytes());
        })
    });
    found || listed.is_err()
}
