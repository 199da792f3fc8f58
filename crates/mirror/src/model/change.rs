//! What is changed at the destination.

use fsops::Kind;

/// One thing that was changed, or in a dry run would be.
#[derive(Clone, Debug)]
pub struct Change {
    /// What was done.
    pub what: What,
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
    pub differs: Differs,
}

/// A name that is at the destination now: what of it is to be counted and told.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) what: What,
    pub(crate) kind: Kind,
    /// Bytes, of a file that was copied or reused.
    pub(crate) size: u64,
    /// What it was linked to, or made of.
    pub(crate) to: Option<Vec<u8>>,
    pub(crate) differs: Differs,
}

impl Made {
    pub(crate) fn change(self, path: Vec<u8>) -> Change {
        let Made { what, kind, size, to, differs } = self;
        // The names of an inode are linked whatever it is.
        let kind = if what == What::Linked { Kind::Unknown } else { kind };
        let size = (kind == Kind::File).then_some(size);
        Change { what, path, kind, size, to, differs }
    }
}

/// What was done to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
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
pub struct Differs {
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

impl Differs {
    /// Returns whether they may differ in what is in them, or are of other kinds.
    pub(crate) fn in_content(self) -> bool {
        self.kind || self.content || self.time
    }

    /// Returns whether they do at all.
    pub fn at_all(self) -> bool {
        self != Differs::default()
    }
}
