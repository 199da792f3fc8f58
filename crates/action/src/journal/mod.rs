//! Journals record what a run is about to do and what it did. They have one JSON object per line,
//! and lines are only ever appended.
//!
//! `record` defines the lines, and `lines` their checksums. `log` appends lines, and `replay` reads
//! them back. `ids` numbers the runs. `locate` opens the location of an intent on disk, and
//! `identity` decides whether an entry there is the one that the journal describes. [`FileActions`]
//! tells callers what a run did to each file.
//!
//! The names and values of the keys are part of the on-disk format (`lines::FORMAT`). A rename in
//! the code must not change them.

pub(crate) mod actions;
pub(crate) mod identity;
pub(crate) mod ids;
pub(crate) mod json_bytes;
pub(crate) mod leftovers;
pub(crate) mod lines;
pub(crate) mod locate;
pub(crate) mod log;
pub(crate) mod record;
pub(crate) mod replay;

pub use actions::{FileAction, FileActions, FileState, KeptFile};
pub use json_bytes::JsonBytes;
