//! What is known of contents from earlier.

use std::ffi::CString;
use std::fmt;
use std::sync::Arc;

use fsops::Stat;

use crate::model::dir_node::DirNode;

/// Bytes of the smallest files that are looked for: less is copied in the time that the search takes.
pub const MIN_REUSED_BYTES: u64 = 16 << 10;

/// What is remembered of contents from earlier.
pub trait ContentHints: Send + Sync + fmt::Debug {
    /// Returns what is known of the content of a file of the source, by the directory's path below the top.
    fn of_source(&self, dir: &[u8], name: &[u8], stat: &Stat) -> Option<ContentHint>;

    /// Returns paths below the destination's top where a file with this content may be, or one that had
    /// this size and time of modification, perhaps with this name.
    fn in_destination(&self, name: &[u8], stat: &Stat, digest: Option<&[u8; 32]>) -> Vec<Vec<u8>>;
}

/// What is known of a file of the source, if it has not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentHint {
    /// BLAKE3 of it.
    pub digest: [u8; 32],
    /// Another file with that content, as a path below the top; empty if there is none.
    pub also: Vec<u8>,
}

/// Where a content may be.
#[derive(Clone, Debug)]
pub(crate) enum ContentHolder {
    /// At a path below the destination's top.
    SubtreeCount(Vec<u8>),
    /// In a file that was mirrored before.
    Mirrored(Arc<DirNode>, CString),
}

/// A file of the destination that a digest was sent of.
#[derive(Clone, Debug)]
pub(crate) struct ContentCandidate {
    pub(crate) holder: ContentHolder,
    pub(crate) stat: Stat,
}
