//! Undo: restores what a run changed, or previews that.
//!
//! `run` goes through the files of a run in batches, `method` finds out how a file can be restored, `prepare` and
//! `restore` make the link or copy in the staging directory, `replace` moves it to its name, and `state` is what they
//! share.
//!
//! Undo never overwrites: only what the run itself put in a file's place is replaced.

pub(crate) mod method;
pub(crate) mod outcome;
pub(crate) mod prepare;
pub(crate) mod replace;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod state;

pub use method::{FilePreview, RestoreMethod};
pub use outcome::{NothingLeft, UndoOutcome, UndoPreview};
