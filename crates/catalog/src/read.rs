//! Answers questions: about single files (`lookup`), about directories (`totals`, `content_index`),
//! about the whole catalog (`overview`, `unreliable`); and loads files as a tree (`load`).
//!
//! Answers are what the catalog remembers. Nothing here checks whether the files are still the
//! same.

pub(crate) mod content_index;
pub(crate) mod load;
pub(crate) mod lookup;
pub(crate) mod overview;
pub(crate) mod totals;
pub(crate) mod unreliable;
