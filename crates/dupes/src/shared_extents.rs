//! Files that share all of their storage: equal without a comparison.
//!
//! A copy made with `cp --reflink` lies where its original does until one of them is changed. What
//! was changed but not written yet is written first, so that it shows; and a change after that shows
//! in the metadata, which is looked at once more before anything is claimed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fsops::{File, SharedLayout};
use walk::{Device, FileId, Tree};

/// Open files, as positions in the list given: one of each layout, and those that share its storage.
pub(crate) struct SharedExtents {
    /// Ascending.
    pub(crate) leaders: Vec<usize>,
    /// By position of the leader.
    others: BTreeMap<usize, Vec<usize>>,
}

impl SharedExtents {
    /// Looks where files lie.
    pub(crate) fn find<H>(tree: &Tree, open: &[(H, FileId, File)]) -> SharedExtents {
        let mut shared = SharedExtents { leaders: Vec::new(), others: BTreeMap::new() };
        let mut leader_of: BTreeMap<(usize, SharedLayout), usize> = BTreeMap::new();
        for (position, (_, id, file)) in open.iter().enumerate() {
            let device = tree.device_index(tree.file(*id).dir);
            let tells = tree.devices()[device].volume.same_place_is_same_content();
            let Some(layout) = tells.then(|| file.shared_layout()).flatten() else {
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

    /// Returns a leader and those that share its storage.
    pub(crate) fn all_of(&self, leader: usize) -> impl Iterator<Item = usize> {
        std::iter::once(leader).chain(self.others.get(&leader).into_iter().flatten().copied())
    }
}

/// Returns a number for the space that places on a device are counted in: the first device of the
/// tree that has the same.
pub(crate) fn address_space(tree: &Tree, device: usize) -> usize {
    let Device { number, volume } = tree.devices()[device];
    let same = |other: &Device| other.number == number || other.volume.shares_extents_with(&volume);
    tree.devices().iter().position(same).unwrap_or(device)
}
