//! The changes that a run reports, and how two entries differ.

use fsops::Kind;
use wire::Action;

/// One change, or in a dry run a change that would be made.
#[derive(Clone, Debug)]
pub struct Change {
    /// The kind of change.
    pub action: Action,
    /// The path below the top directories.
    pub path: Vec<u8>,
    /// The kind of the entry. [`Kind::Unknown`] for links, and for non-directories that were deleted together with
    /// their directory.
    pub kind: Kind,
    /// The size in bytes of a regular file that was copied or reused.
    pub size: Option<u64>,
    /// The path below the top directories of the file that this one was linked to or made from.
    pub to: Option<Vec<u8>>,
    /// How the entry that was there before differed.
    pub differences: Differences,
}

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
        Change { action, path, kind, size, to, differences }
    }
}

/// How two entries differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own")]
pub struct Differences {
    /// The kinds differ, as of a file and a directory.
    pub kind: bool,
    /// The sizes differ, or the targets of symbolic links, or the device numbers.
    pub content: bool,
    /// The modification times differ.
    pub time: bool,
    /// The permissions differ.
    pub mode: bool,
    /// The owners or groups differ.
    pub owner: bool,
    /// The extended attributes differ, ACLs included.
    pub xattrs: bool,
    /// The name is linked to another inode than it should be.
    pub links: bool,
}

impl Differences {
    /// Returns whether the contents may differ, or the kinds do.
    pub(crate) fn affect_content(self) -> bool {
        self.kind || self.content || self.time
    }

    /// Returns whether anything differs.
    pub fn any(self) -> bool {
        self != Differences::default()
    }
}
