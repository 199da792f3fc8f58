//! Hints about contents, from a catalog of earlier scans or from the sender.
//!
//! A hint says where a content may be. It is never trusted: the caller compares the file before using it.

use std::ffi::CString;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use fsops::{Dir, File, Stat};
use wire::ContentHint;

use crate::model::dir_node::DirNode;

/// The smallest file, in bytes, for which the destination is searched for its content. Copying a smaller file takes
/// less time than the search.
pub const MIN_REUSED_BYTES: u64 = 16 << 10;

/// What earlier scans know of contents.
pub trait ContentHints: Send + Sync + fmt::Debug {
    /// Returns what is known of the content of a source file. `dir` is the path of its directory below the top.
    fn of_source(&self, dir: &[u8], name: &[u8], stat: &Stat) -> Option<ContentHint>;

    /// Returns paths below the top of the destination that may have the content: files with this digest, or with this
    /// size and modification time, files of this name first where the implementation knows them.
    fn in_destination(&self, name: &[u8], stat: &Stat, digest: Option<&[u8; 32]>) -> Vec<Vec<u8>>;
}

/// Where a content may be in the destination.
#[derive(Clone, Debug)]
pub(crate) enum ContentHolder {
    /// In the file at this path below the top of the destination.
    AtPath(Vec<u8>),
    /// In a file that this run already mirrored.
    Mirrored(Arc<DirNode>, CString),
}

/// An open candidate.
pub(crate) struct FoundFile {
    pub(crate) holder: ContentHolder,
    pub(crate) dir: Rc<Dir>,
    pub(crate) name: CString,
    pub(crate) file: File,
    pub(crate) stat: Stat,
}

/// A file of the destination whose digest was sent to the sender.
#[derive(Clone, Debug)]
pub(crate) struct ContentCandidate {
    pub(crate) holder: ContentHolder,
    pub(crate) stat: Stat,
}
