//! How many bytes a group's copies really take up, so that no saving is promised that is none.

use std::collections::HashSet;

use fsops::{Interrupted, Storage};
use walk::{Device, FileId};

use crate::groups::Group;
use crate::parallel::Work;
use crate::sets::{Set, Sets};
use crate::worker::Worker;

/// Files smaller than this are taken at their size: holes in them save next to nothing, and a
/// file system may keep them inside the inode, with no block of their own.
const SMALL: u64 = 64 * 1024;

/// Corrects [`Group::reclaimable`] for holes and shared extents.
pub(crate) fn measure(work: &Work<'_>, groups: &mut Sets<Group>) -> Result<(), Interrupted> {
    let can_share = work.tree.devices().iter().any(|device| device.volume.can_share_extents());
    let shares = |f: &FileId| {
        can_share && work.tree.device_of(work.tree.file(*f).dir).volume.can_share_extents()
    };
    let mut worth = groups.leaders();
    worth.retain(|&(number, _)| {
        let group = groups.get(number as usize);
        group.inodes > 1 && (group.size >= SMALL || group.files.iter().any(shares))
    });
    let (lists, _) = work.on_threads(&worth, 16, |worker, list: &mut Vec<_>, &(number, _)| {
        list.push((number, reclaimable(worker, &groups.get(number as usize))));
        Ok(())
    })?;
    for (number, reclaimable) in lists.into_iter().flatten() {
        groups.of_mut(number as usize).reclaimable = reclaimable;
    }
    Ok(())
}

/// Returns what keeping the largest copy alone would free.
fn reclaimable(worker: &mut Worker<'_>, group: &Set<'_, Group>) -> u64 {
    let tree = worker.work.tree;
    let mut storages: Vec<(&Device, Storage)> = Vec::new();
    let mut seen = HashSet::with_capacity(group.files.len());
    let (mut sum, mut largest, mut own_sum) = (0u64, 0, 0u64);
    for &file in group.files {
        if !seen.insert(tree.key(file)) {
            continue;
        }
        let device = tree.device_of(tree.file(file).dir);
        let own = if device.volume.can_share_extents() {
            let shares = |other: &Device| {
                other.number == device.number || other.volume.shares_extents_with(&device.volume)
            };
            let at = storages.iter().position(|(d, _)| shares(d)).unwrap_or_else(|| {
                storages.push((device, Storage::default()));
                storages.len() - 1
            });
            let own = extents(worker, file, &mut storages[at].1);
            own_sum += own.unwrap_or(0);
            own
        } else {
            worker.opener.stat(file).ok().map(|stat| stat.allocated)
        };
        let own = own.unwrap_or(group.size).min(group.size);
        sum = sum.saturating_add(own);
        largest = largest.max(own);
    }
    let together: u64 = storages.into_iter().map(|(_, s)| s.total_bytes()).sum();
    // Extents end on block boundaries, files do not: scale what is shared to the file's size.
    let copies = seen.len() as u64;
    let per_copy = own_sum.checked_div(copies).unwrap_or(0).max(group.size).max(1);
    let shared = own_sum.saturating_sub(together);
    let shared = u128::from(shared) * u128::from(group.size) / u128::from(per_copy);
    sum.saturating_sub(largest).saturating_sub(u64::try_from(shared).unwrap_or(u64::MAX))
}

fn extents(worker: &mut Worker<'_>, file: FileId, storage: &mut Storage) -> Option<u64> {
    let open = worker.opener.open(file).ok()?;
    storage.add(&open).ok()
}
