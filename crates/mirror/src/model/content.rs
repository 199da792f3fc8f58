//! Hints that help to find files with the same content, from a catalog of earlier scans or from the sender.
//!
//! A hint may be wrong, so the caller always compares a file before using it.

use std::ffi::CString;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use fsops::{Dir, File, Stat};
use wire::ContentHint;

use crate::model::dir_node::DirNode;

/// Minimum size in bytes of a file whose content is searched for in the destination. Copying a smaller file takes less
/// time than the search.
pub const MIN_REUSED_BYTES: u64 = 16 << 10;

/// Results of earlier scans, used to find files with the same content.
pub trait ContentHints: Send + Sync + fmt::Debug {
    /// Returns the facts recorded about the content of a source file. `dir` is the path of the directory of the file,
    /// relative to the top.
    fn of_source(&self, dir: &[u8], name: &[u8], stat: &Stat) -> Option<ContentHint>;

    /// Returns the paths of destination files that may have the content, relative to the top. These are files with
    /// this digest, or with this size and modification time. Files with the same name come first if the implementation
    /// stores names.
    fn in_destination(&self, name: &[u8], stat: &Stat, digest: Option<&[u8; 32]>) -> Vec<Vec<u8>>;
}

/// A file of the destination that may have the wanted content.
#[derive(Clone, Debug)]
pub(crate) enum ContentHolder {
    /// The file at this path, relative to the top of the destination.
    AtPath(Vec<u8>),
    /// A file that this run has already mirrored.
    Mirrored(Arc<DirNode>, CString),
}

/// An open destination file that may have the wanted content.
pub(crate) struct FoundFile {
    pub(crate) holder: ContentHolder,
    pub(crate) dir: Rc<Dir>,
    pub(crate) name: CString,
    pub(crate) file: File,
    pub(crate) stat: Stat,
}

/// A destination file whose digest was sent to the sender.
#[derive(Clone, Debug)]
pub(crate) struct ContentCandidate {
    pub(crate) holder: ContentHolder,
    pub(crate) stat: Stat,
}
