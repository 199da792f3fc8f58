//! A name that a run created, until it is counted and reported.

use fsops::Kind;
use wire::{Action, Change, Differences};

/// A name that now exists at the destination, with what the counts and the report need.
#[derive(Clone, Debug)]
pub(crate) struct CreatedEntry {
    pub(crate) action: Action,
    pub(crate) kind: Kind,
    /// The size in bytes of a file that was copied or reused.
    pub(crate) size: u64,
    /// The path of the file that it was linked to or made from.
    pub(crate) to: Option<Vec<u8>>,
    pub(crate) differences: Differences,
}

impl CreatedEntry {
    pub(crate) fn change(self, path: Vec<u8>) -> Change {
        let CreatedEntry { action, kind, size, to, differences } = self;
        // Names of an inode are linked whatever its kind, so the kind is not known for certain.
        let kind = if action == Action::Linked { Kind::Unknown } else { kind };
        let size = (kind == Kind::File).then_some(size);
        Change { action, path, file_type: kind.mode_bits(), size, to, differences }
    }
}
