//! What is changed at the destination.

use fsops::Kind;

/// One thing that was changed, or in a dry run would be.
#[derive(Clone, Debug)]
pub struct Change {
    /// What was done.
    pub action: Action,
    /// The path below the top directories.
    pub path: Vec<u8>,
    /// What kind of entry it is, or was; [`Kind::Unknown`] of a link, and of what was removed with the directory
    /// that it was in, unless it was a directory itself.
    pub kind: Kind,
    /// Bytes, of a regular file that was copied or reused.
    pub size: Option<u64>,
    /// What it was linked to or made of, as a path below the top directories.
    pub to: Option<Vec<u8>>,
    /// How it differed, of what was there.
    pub differences: Differences,
}

/// A name that is at the destination now: what of it is to be counted and told.
#[derive(Clone, Debug)]
pub(crate) struct CreatedEntry {
    pub(crate) action: Action,
    pub(crate) kind: Kind,
    /// Bytes, of a file that was copied or reused.
    pub(crate) size: u64,
    /// What it was linked to, or made of.
    pub(crate) to: Option<Vec<u8>>,
    pub(crate) differences: Differences,
}

impl CreatedEntry {
    pub(crate) fn change(self, path: Vec<u8>) -> Change {
        let CreatedEntry { action, kind, size, to, differences } = self;
        // The names of an inode are linked whatever it is.
        let kind = if action == Action::Linked { Kind::Unknown } else { kind };
        let size = (kind == Kind::File).then_some(size);
        Change { action, path, kind, size, to, differences }
    }
}

/// What was done to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// It was made: a file with its content.
    New,
    /// Something took the place of something else.
    Replaced,
    /// It was linked to another name.
    Linked,
    /// Its metadata was changed.
    Adjusted,
    /// It was removed.
    Removed,
    /// A file was made of content that the destination had already.
    Reused,
}

/// How two entries differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own")]
pub struct Differences {
    /// One is a file and the other is not, or the like.
    pub kind: bool,
    /// Size in bytes, or what a symbolic link or a device is.
    pub content: bool,
    /// Time of modification.
    pub time: bool,
    /// Permissions.
    pub mode: bool,
    /// Owner or group.
    pub owner: bool,
    /// Extended attributes, ACLs among them.
    pub xattrs: bool,
    /// It is linked to something else.
    pub links: bool,
}

impl Differences {
    /// Returns whether they may differ in what is in them, or are of other kinds.
    pub(crate) fn affect_content(self) -> bool {
        self.kind || self.content || self.time
    }

    /// Returns whether they do at all.
    pub fn any(self) -> bool {
        self != Differences::default()
    }
}
