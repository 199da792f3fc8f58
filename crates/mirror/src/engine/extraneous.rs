//! The destination entries to delete at the end of the run. Workers collect them as they complete directories.
//!
//! This module only stores the entries. [`crate::reconcile::delete`] decides which of them to delete, and deletes them.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use crate::model::change::CreatedEntry;
use crate::model::dir_node::DirNode;

/// Entries to delete.
#[derive(Debug, Default)]
pub(crate) struct Extraneous {
    /// Extraneous names by directory. Each name ends with a NUL.
    pub(crate) names: Vec<(Arc<DirNode>, Vec<u8>)>,
    /// Directories that obstruct a new entry of another kind, each with that entry.
    pub(crate) obstacles: Vec<(Arc<DirNode>, CString, CreatedEntry)>,
    /// Temporary names left by killed or failed runs.
    pub(crate) leftovers: Vec<(Arc<DirNode>, CString)>,
}

impl Extraneous {
    pub(crate) fn add(&mut self, node: &Arc<DirNode>, names: &[&CStr]) {
        let bytes = names.iter().flat_map(|name| name.to_bytes_with_nul()).copied().collect();
        self.names.push((Arc::clone(node), bytes));
    }

    pub(crate) fn add_obstacle(&mut self, node: &Arc<DirNode>, name: &CStr, made: CreatedEntry) {
        self.obstacles.push((Arc::clone(node), name.to_owned(), made));
    }

    pub(crate) fn add_leftover(&mut self, node: &Arc<DirNode>, name: &CStr) {
        self.leftovers.push((Arc::clone(node), name.to_owned()));
    }

    /// Returns all entries that need the user's consent, which are all except the leftovers.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&Arc<DirNode>, &CStr)> {
        let names = self
            .names
            .iter()
            .flat_map(|(node, names)| split_names(names).map(move |name| (node, name)));
        names.chain(self.obstacles.iter().map(|(node, name, _)| (node, name.as_c_str())))
    }
}

pub(crate) fn split_names(names: &[u8]) -> impl Iterator<Item = &CStr> {
    names.split_inclusive(|&b| b == 0).filter_map(|name| CStr::from_bytes_with_nul(name).ok())
}
