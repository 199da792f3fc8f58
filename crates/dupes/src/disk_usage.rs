//! Measures how many bytes the copies in a group take on disk, so that lop never promises to free
//! more space than it can.

use std::collections::HashSet;

use fsops::{Dir, ExtentSet};
use runtime::Interrupted;
use walk::{Device, DirId, FileId, Opener, Tree, to_u32};

use crate::group::Group;
use crate::sets::{Set, Sets};
use crate::work::Work;
use crate::worker::Worker;

/// On file systems known to store files in whole blocks, files smaller than this are assumed to
/// take whole blocks. Holes in such files save almost nothing, so inspecting each file is not worth
/// the time.
const SMALL_FILE_BYTES: u64 = 64 * 1024;

/// Returns the disk space that keeping a single file of each list would free, as in
/// [`Group::reclaimable`]. The files of a list must be identical and belong to different inodes.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop.
pub fn reclaimable(work: &Work<'_>, lists: &[&[FileId]]) -> Result<Vec<u64>, Interrupted> {
    let mut groups = Sets::default();
    for files in lists {
        let size = files.first().map_or(0, |&file| work.tree.file(file).size);
        let inodes = to_u32(files.len());
        groups.push(files, Group { size, content: None, digest: None, inodes, reclaimable: 0 });
    }
    measure(work, &mut groups)?;
    Ok(groups.iter().map(|group| group.reclaimable).collect())
}

/// Sets [`Group::reclaimable`] to the disk space that keeping one copy would free: in whole blocks,
/// without holes and shared extents. A plan that removes the copies also counts whole blocks, using
/// `st_blocks`.
pub(crate) fn measure(work: &Work<'_>, groups: &mut Sets<Group>) -> Result<(), Interrupted> {
    let blocks = Blocks::of(work);
    let mut to_inspect = Vec::new();
    for (number, first) in groups.leaders() {
        let group = groups.get(number as usize);
        if group.inodes < 2 || group.size == 0 {
            continue;
        }
        match blocks.taken_by(&group) {
            Some(bytes) => {
                let reclaimable = bytes.saturating_mul(u64::from(group.inodes) - 1);
                groups.value_mut(number as usize).reclaimable = reclaimable;
            }
            None => to_inspect.push((number, first)),
        }
    }
    let (lists, _) =
        work.on_threads(&to_inspect, 16, |worker, list: &mut Vec<_>, &(number, _)| {
            list.push((number, freed_by(worker, &blocks, &groups.get(number as usize))));
            Ok(())
        })?;
    for (number, reclaimable) in lists.into_iter().flatten() {
        groups.value_mut(number as usize).reclaimable = reclaimable;
    }
    Ok(())
}

/// The block size of each device of a tree, by device index.
struct Blocks<'a> {
    tree: &'a Tree,
    sizes: Vec<u64>,
}

impl<'a> Blocks<'a> {
    /// Queries the file system of each device through a directory on that device.
    fn of(work: &Work<'a>) -> Blocks<'a> {
        let tree = work.tree;
        let mut sizes = vec![0; tree.devices().len()];
        let mut opener = Opener::new(tree, 1);
        for (dir, _) in (0..).map(DirId).zip(tree.dirs()) {
            // A directory without files may have no device.
            if let Some(size @ 0) = sizes.get_mut(tree.device_index(dir)) {
                *size = opener.dir(dir).and_then(Dir::block_size).unwrap_or(0);
            }
        }
        Blocks { tree, sizes }
    }

    /// Returns the bytes that each file of a group takes on disk, or `None` if the files have to be
    /// inspected.
    fn taken_by(&self, group: &Set<'_, Group>) -> Option<u64> {
        let device = |file: FileId| self.tree.device_index(self.tree.file(file).dir);
        let first = device(group.files[0]);
        let same = group.files.iter().all(|&file| device(file) == first);
        let whole = self.tree.devices()[first].volume.stores_small_files_in_blocks();
        (group.size < SMALL_FILE_BYTES && same && whole && self.sizes[first] > 0)
            .then(|| self.whole(group.size, first))
    }

    /// Returns the bytes that a file of this size without holes takes on a device.
    fn whole(&self, size: u64, device: usize) -> u64 {
        size.checked_next_multiple_of(self.sizes[device].max(1)).unwrap_or(size)
    }
}

/// Returns the bytes that keeping only the largest copy would free.
fn freed_by(worker: &mut Worker<'_>, blocks: &Blocks<'_>, group: &Set<'_, Group>) -> u64 {
    let tree = worker.work.tree;
    let mut storages: Vec<(&Device, ExtentSet)> = Vec::new();
    let mut seen = HashSet::with_capacity(group.files.len());
    // `alone` is the sum of the bytes that each file would take on its own. `own_extents` is the
    // same sum, but only for files that may share extents. Subtracting the bytes that these files
    // take together gives the number of shared bytes.
    let (mut alone, mut largest, mut own_extents) = (0u64, 0, 0u64);
    for &file in group.files {
        if !seen.insert(tree.key(file)) {
            continue;
        }
        let index = tree.device_index(tree.file(file).dir);
        let device = &tree.devices()[index];
        let extents = device.volume.can_share_extents().then(|| {
            let shares = |other: &Device| {
                other.number == device.number || other.volume.shares_extents_with(&device.volume)
            };
            let at = storages.iter().position(|(d, _)| shares(d)).unwrap_or_else(|| {
                storages.push((device, ExtentSet::default()));
                storages.len() - 1
            });
            extents(worker, file, &mut storages[at].1)
        });
        own_extents += extents.flatten().unwrap_or(0);
        let own = match extents {
            Some(extents) => extents,
            None => Some(tree.allocated(file)),
        };
        // XFS preallocates blocks and frees them later.
        let whole = blocks.whole(group.size, index);
        let own = own.unwrap_or(whole).min(whole);
        alone = alone.saturating_add(own);
        largest = largest.max(own);
    }
    let together: u64 = storages.into_iter().map(|(_, s)| s.total_bytes()).sum();
    let shared = own_extents.saturating_sub(together);
    alone.saturating_sub(largest).saturating_sub(shared)
}

fn extents(worker: &mut Worker<'_>, file: FileId, storage: &mut ExtentSet) -> Option<u64> {
    let open = worker.opener.open(file).ok()?;
    storage.add(&open).ok()
}
