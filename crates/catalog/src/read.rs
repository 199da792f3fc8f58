//! Answers questions: about single files, about directories, about the whole catalog.

pub(crate) mod content_index;
pub(crate) mod load;
pub(crate) mod lookup;
pub(crate) mod overview;
pub(crate) mod totals;
pub(crate) mod unreliable;
