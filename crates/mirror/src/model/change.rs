//! A name that a run created and that has not been counted or reported yet.

use fsops::Kind;
use wire::{Action, Change, Differences};

/// A new name in the destination, with the facts that are counted and reported.
#[derive(Clone, Debug)]
pub(crate) struct CreatedEntry {
    pub(crate) action: Action,
    pub(crate) kind: Kind,
    /// Size in bytes of a file that was copied or reused.
    pub(crate) size: u64,
    /// Path of the file that the name was linked to or copied from.
    pub(crate) to: Option<Vec<u8>>,
    pub(crate) differences: Differences,
}

impl CreatedEntry {
    pub(crate) fn change(self, path: Vec<u8>) -> Change {
        let CreatedEntry { action, kind, size, to, differences } = self;
        // An inode of any kind can have several names, so the kind of a linked name is not certain.
        let kind = if action == Action::Linked { Kind::Unknown } else { kind };
        let size = (kind == Kind::File).then_some(size);
        Change { action, path, file_type: kind.mode_bits(), size, to, differences }
    }
}
