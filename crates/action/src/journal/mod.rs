//! Journals: what a run is about to do and what it did, one JSON object per line, appended and never rewritten.
//!
//! `record` has the lines, `lines` their checksums, `log` appends them, `replay` reads them back, `ids` numbers runs,
//! `locate` opens the place of an intent on disk and `identity` decides whether an entry there is the one that the
//! journal describes. [`FileActions`] offers callers what a run did with each file.
//!
//! The names and values of the keys on disk are a format (`lines::FORMAT`): a rename in the code must not change them.

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

pub use actions::{FileAction, FileActions, FileState};
pub use json_bytes::JsonBytes;
