//! A name in a batch, together with everything that a worker needs to process it.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use fsops::Kind;

use crate::engine::batch::{BatchItem, RemoteEntry};
use crate::engine::dest_listing::DestEntry;
use crate::engine::dir_state::{DirState, SharedBatch, Waiter};
use crate::model::temp_name::TempNames;

/// A name to process.
#[derive(Clone, Copy)]
pub(crate) struct Entry<'s> {
    shared: &'s Arc<SharedBatch>,
    index: usize,
    pub(crate) dir: &'s Arc<DirState>,
    pub(crate) name: &'s CStr,
    /// Entry of this name in the destination.
    pub(crate) dest: Option<DestEntry>,
    /// Metadata from the sender, if the source is on another host.
    pub(crate) remote: Option<&'s RemoteEntry>,
}

impl<'s> Entry<'s> {
    pub(crate) fn of(shared: &'s Arc<SharedBatch>, index: usize) -> Entry<'s> {
        let SharedBatch { dir, batch, .. } = &**shared;
        let BatchItem { name, remote, .. } = batch.get(index);
        Entry { shared, index, dir, name, dest: dir.dest_listing.claim(name), remote }
    }

    /// Returns a waiter for the name. The directory is not complete until the waiter has been processed.
    pub(crate) fn waiter(self) -> Waiter {
        self.dir.hold();
        Waiter { shared: Arc::clone(self.shared), index: self.index }
    }

    /// Returns an identifier that is unique while the directory has unfinished work.
    pub(crate) fn id(self) -> (usize, usize) {
        (Arc::as_ptr(self.shared).addr(), self.index)
    }

    /// Returns whether the destination has a directory of this name. At the end of the run, that directory is removed
    /// if deletion is allowed.
    pub(crate) fn is_obstructed(self) -> bool {
        self.dest.is_some_and(|dest| dest.kind == Kind::Dir)
    }

    /// Returns the name that the entry has in the destination until the end of the run.
    pub(crate) fn provisional_name(self, temp_names: &TempNames) -> CString {
        if self.is_obstructed() { temp_names.of(self.name) } else { self.name.to_owned() }
    }
}
