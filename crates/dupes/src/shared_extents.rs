//! Finds files that share all of their extents and are therefore known to be identical without a
//! comparison.
//!
//! A copy made with `cp --reflink` shares the extents of its original until one of the two files
//! changes. Changes that are not on disk yet are detected too, because the kernel writes them
//! before it reports extents. Later changes show in the metadata, which is checked again before
//! files are reported as identical.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fsops::{File, SharedLayout};
use walk::{Device, FileId, Tree};

/// Open files, as indexes into the given list. Each distinct layout has one leader. All other files
/// with the same layout belong to the leader.
pub(crate) struct SharedExtents {
    /// Indexes of the leaders, in ascending order.
    pub(crate) leaders: Vec<usize>,
    /// The other files, by the index of their leader.
    others: BTreeMap<usize, Vec<usize>>,
}

impl SharedExtents {
    /// Groups open files by their layout.
    pub(crate) fn find<H>(tree: &Tree, open: &[(H, FileId, File)]) -> SharedExtents {
        let mut shared = SharedExtents { leaders: Vec::new(), others: BTreeMap::new() };
        let mut leader_of: BTreeMap<(usize, SharedLayout), usize> = BTreeMap::new();
        for (position, (_, id, file)) in open.iter().enumerate() {
            let device = tree.device_index(tree.file(*id).dir);
            let is_reliable = tree.devices()[device].volume.equal_offsets_mean_equal_content();
            let Some(layout) = is_reliable.then(|| file.shared_layout()).flatten() else {
                shared.leaders.push(position);
                continue;
            };
            let address_space = address_space(tree, device);
            match leader_of.entry((address_space, layout)) {
                Entry::Occupied(leader) => {
                    shared.others.entry(*leader.get()).or_default().push(position);
                }
                Entry::Vacant(vacant) => {
                    vacant.insert(position);
                    shared.leaders.push(position);
                }
            }
        }
        shared
    }

    /// Returns a leader and the files that share its extents.
    pub(crate) fn all_of(&self, leader: usize) -> impl Iterator<Item = usize> {
        std::iter::once(leader).chain(self.others.get(&leader).into_iter().flatten().copied())
    }
}

/// Returns the address space of a device's disk offsets, represented by the index of the first
/// device of the tree with the same address space.
pub(crate) fn address_space(tree: &Tree, device: usize) -> usize {
    let Device { number, volume } = tree.devices()[device];
    let same = |other: &Device| other.number == number || other.volume.shares_extents_with(&volume);
    tree.devices().iter().position(same).unwrap_or(device)
}
