//! Trash: trees that `lop purge --instant` renamed away, and that are removed later in the
//! background.
//!
//! [`TrashRun`] starts a run or claims an unfinished one. `journal` defines the lines of its
//! journal. [`MissingTree`] is a tree that is not in the trash after a power failure. The caller
//! removes the trees itself.
//!
//! A tree may be removed only if the journal names it and it is in the run's staging directory.

pub(crate) mod journal;
pub(crate) mod missing;
pub(crate) mod remaining;
pub(crate) mod run;

pub use journal::TrashSummary;
pub use missing::MissingTree;
pub use remaining::TrashedTree;
pub use run::{Claim, Started, TrashRun, Tree};
