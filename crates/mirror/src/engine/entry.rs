//! One name of a batch.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use fsops::Kind;

use crate::engine::batch::{BatchItem, RemoteEntry};
use crate::engine::dest_listing::DestEntry;
use crate::engine::dir_state::{DirState, SharedBatch, Waiter};
use crate::model::temp_name::TempNames;

/// A name that is dealt with.
#[derive(Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "it is the name's name")]
pub(crate) struct Entry<'s> {
    shared: &'s Arc<SharedBatch>,
    index: usize,
    pub(crate) dir: &'s Arc<DirState>,
    pub(crate) name: &'s CStr,
    /// What the destination has of that name.
    pub(crate) dest: Option<DestEntry>,
    /// What the source said of it, if it is on another host.
    pub(crate) remote: Option<&'s RemoteEntry>,
}

impl<'s> Entry<'s> {
    pub(crate) fn of(shared: &'s Arc<SharedBatch>, index: usize) -> Entry<'s> {
        let SharedBatch { dir, batch, .. } = &**shared;
        let BatchItem { name, remote, .. } = batch.get(index);
        Entry { shared, index, dir, name, dest: dir.dest_listing.claim(name), remote }
    }

    /// Returns what is kept of it while it has to wait; its site is not done before that.
    pub(crate) fn waiter(self) -> Waiter {
        self.dir.hold();
        Waiter { shared: Arc::clone(self.shared), index: self.index }
    }

    /// Returns what tells it from other names as long as there is work to do in its directory.
    pub(crate) fn id(self) -> (usize, usize) {
        (Arc::as_ptr(self.shared).addr(), self.index)
    }

    /// Returns whether a directory has the name, which goes when everything else is done, if it may.
    pub(crate) fn is_obstructed(self) -> bool {
        self.dest.is_some_and(|dest| dest.kind == Kind::Dir)
    }

    /// Returns the name that it has at the destination until the end.
    pub(crate) fn provisional_name(self, temp_names: &TempNames) -> CString {
        if self.is_obstructed() { temp_names.of(self.name) } else { self.name.to_owned() }
    }
}
