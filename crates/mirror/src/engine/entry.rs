//! One name of a batch.

use std::ffi::{CStr, CString};
use std::sync::Arc;

use fsops::Kind;

use crate::engine::batch::Listed;
use crate::engine::batch::Record;
use crate::engine::dest_listing::There;
use crate::engine::dir_state::Shared;
use crate::engine::dir_state::Site;
use crate::engine::dir_state::Waiter;
use crate::model::temp_name::Parts;

/// A name that is dealt with.
#[derive(Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "it is the name's name")]
pub(crate) struct Name<'s> {
    shared: &'s Arc<Shared>,
    index: usize,
    pub(crate) site: &'s Arc<Site>,
    pub(crate) name: &'s CStr,
    /// What the destination has of that name.
    pub(crate) there: Option<There>,
    /// What the source said of it, if it is on another host.
    pub(crate) record: Option<&'s Record>,
}

impl<'s> Name<'s> {
    pub(crate) fn of(shared: &'s Arc<Shared>, index: usize) -> Name<'s> {
        let Shared { site, window, .. } = &**shared;
        let Listed { name, record, .. } = window.get(index);
        Name { shared, index, site, name, there: site.present.find(name), record }
    }

    /// Returns what is kept of it while it has to wait; its site is not done before that.
    pub(crate) fn waiter(self) -> Waiter {
        self.site.hold();
        Waiter { shared: Arc::clone(self.shared), index: self.index }
    }

    /// Returns what tells it from other names as long as there is work to do in its directory.
    pub(crate) fn id(self) -> (usize, usize) {
        (Arc::as_ptr(self.shared).addr(), self.index)
    }

    /// Returns whether a directory has the name, which goes when everything else is done, if it may.
    pub(crate) fn is_obstructed(self) -> bool {
        self.there.is_some_and(|there| there.kind == Kind::Dir)
    }

    /// Returns the name that it has at the destination until the end.
    pub(crate) fn called_there(self, parts: &Parts) -> CString {
        if self.is_obstructed() { parts.of(self.name) } else { self.name.to_owned() }
    }
}
