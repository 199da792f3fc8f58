//! Finds files that share all of their extents, and so are equal without a comparison.
//!
//! A copy made with `cp --reflink` has the extents of its original until one of them changes. The
//! kernel writes unwritten changes before it reports extents, so they show. Later changes show in
//! the metadata, which is checked again before anything is claimed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fsops::{File, SharedLayout};
use walk::{Device, FileId, Tree};

/// Open files, as indexes into the given list: one leader for each layout, and the other files with
/// that layout.
pub(crate) struct SharedExtents {
    /// Indexes of the leaders, ascending.
    pub(crate) leaders: Vec<usize>,
    /// The other files, by the index of their leader.
    others: BTreeMap<usize, Vec<usize>>,
}

impl SharedExtents {
    /// Compares the layouts of open files.
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

/// Returns the number of the address space that disk offsets of a device count in: the index of the
/// first device of the tree that uses the same one.
pub(crate) fn address_space(tree: &Tree, device: usize) -> usize {
    let Device { number, volume } = tree.devices()[device];
    let same = |other: &Device| other.number == number || other.volume.shares_extents_with(&volume);
    tree.devices().iter().position(same).unwrap_or(device)
}
