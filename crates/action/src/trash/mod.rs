//! Trash: trees that `lop purge --instant` renamed away at once, to be removed when there is time.
//!
//! [`TrashRun`] starts such a run or claims an unfinished one, `journal` has its lines, and [`MissingTree`] is a
//! tree that a power failure took out of the trash. The caller does the removal itself.
//!
//! A tree may be removed only if the journal names it and it lies in the run's staging directory.

pub(crate) mod journal;
pub(crate) mod missing;
pub(crate) mod remaining;
pub(crate) mod run;

pub use journal::TrashSummary;
pub use missing::MissingTree;
pub use remaining::TrashedTree;
pub use run::{Claim, Started, TrashRun, Tree};
