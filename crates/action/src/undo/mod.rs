//! Undo restores what a run changed, or previews the changes.
//!
//! `run` processes the files of a run in batches. `method` determines how a file can be restored.
//! `prepare` and `restore` make the link or copy in the staging directory, and `replace` moves it
//! to its name. `state` holds their shared state.
//!
//! Undo replaces only entries that the run itself put in the place of a file. It never overwrites
//! anything else.

pub(crate) mod method;
pub(crate) mod outcome;
pub(crate) mod prepare;
pub(crate) mod replace;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod state;

pub use method::{FilePreview, RestoreMethod};
pub use outcome::{NothingLeft, UndoOutcome, UndoPreview};
