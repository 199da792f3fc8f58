//! Files that share all of their storage: equal without a comparison.
//!
//! A copy made with `cp --reflink` lies where its original does until one of them is changed. What
//! was changed but not written yet is written first, so that it shows; and a change after that shows
//! in the metadata, which is looked at once more before anything is claimed.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use fsops::{File, SharedLayout};
use walk::{FileId, Tree};

use crate::order::space;

/// Open files, as positions in the list given: one of each layout, and those that share its storage.
pub(crate) struct Twins {
    /// Ascending.
    pub(crate) leaders: Vec<usize>,
    /// By position of the leader.
    others: BTreeMap<usize, Vec<usize>>,
}

impl Twins {
    /// Looks where files lie.
    pub(crate) fn find<H>(tree: &Tree, open: &[(H, FileId, File)]) -> Twins {
        let mut twins = Twins { leaders: Vec::new(), others: BTreeMap::new() };
        let mut leader_of: BTreeMap<(usize, SharedLayout), usize> = BTreeMap::new();
        for (position, (_, id, file)) in open.iter().enumerate() {
            let device = tree.device_index(tree.file(*id).dir);
            let tells = tree.devices()[device].volume.same_place_is_same_content();
            let Some(layout) = tells.then(|| file.shared_layout()).flatten() else {
                twins.leaders.push(position);
                continue;
            };
            let space = space(tree, device);
            match leader_of.entry((space, layout)) {
                Entry::Occupied(leader) => {
                    twins.others.entry(*leader.get()).or_default().push(position);
                }
                Entry::Vacant(vacant) => {
                    vacant.insert(position);
                    twins.leaders.push(position);
                }
            }
        }
        twins
    }

    /// Returns a leader and those that share its storage.
    pub(crate) fn all_of(&self, leader: usize) -> impl Iterator<Item = usize> {
        std::iter::once(leader).chain(self.others.get(&leader).into_iter().flatten().copied())
    }
}
