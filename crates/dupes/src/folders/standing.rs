//! Which files are still there if all directories that were found spare are gone.

use std::ops::Range;

use super::holdings::{Holdings, NONE};

/// See the module.
pub(super) struct Standing {
    /// For each slot itself if its file stands, or one that is nearer to the next standing one.
    next: Vec<u32>,
    /// The slot of each position.
    slot_of: Vec<u32>,
    /// By place, whether it is spare or below a spare one.
    spare: Vec<bool>,
}

impl Standing {
    pub(super) fn new(holdings: &Holdings) -> Standing {
        let slots = u32::try_from(holdings.all_slots()).unwrap_or(NONE);
        let mut slot_of = vec![NONE; holdings.files.len()];
        for slot in 0..slots {
            slot_of[holdings.position(slot) as usize] = slot;
        }
        let spare = vec![false; holdings.dirs.len()];
        Standing { next: (0..=slots).collect(), slot_of, spare }
    }

    /// Returns whether a place is spare, by itself or by one above.
    pub(super) fn is_spare(&self, place: u32) -> bool {
        self.spare[place as usize]
    }

    /// Returns whether the file at a position is below a spare directory.
    pub(super) fn is_gone(&self, position: u32) -> bool {
        let slot = self.slot_of[position as usize];
        slot != NONE && self.next[slot as usize] != slot
    }

    /// Takes a place and everything below it away.
    pub(super) fn remove(&mut self, holdings: &Holdings, place: u32) {
        let dir = &holdings.dirs[place as usize];
        self.spare[place as usize..dir.end as usize].fill(true);
        for position in dir.files.clone() {
            let slot = self.slot_of[position as usize];
            if slot != NONE && self.next[slot as usize] == slot {
                self.next[slot as usize] = slot + 1;
            }
        }
    }

    /// Returns the position of the first standing file of an item at or after a position.
    pub(super) fn first_from(&mut self, holdings: &Holdings, item: u32, at: u32) -> Option<u32> {
        let slot = self.skip(holdings.slot_from(item, at));
        (slot < holdings.slots(item).end).then(|| holdings.position(slot))
    }

    /// Returns whether a file of an item stands in a range of positions.
    pub(super) fn has(&mut self, holdings: &Holdings, item: u32, within: &Range<u32>) -> bool {
        self.first_from(holdings, item, within.start).is_some_and(|found| found < within.end)
    }

    /// Returns the first slot at or after `slot` whose file stands, and shortens the way there.
    fn skip(&mut self, slot: u32) -> u32 {
        let mut end = slot;
        while self.next[end as usize] != end {
            end = self.next[end as usize];
        }
        let mut at = slot;
        while at != end {
            at = std::mem::replace(&mut self.next[at as usize], end);
        }
        end
    }
}
