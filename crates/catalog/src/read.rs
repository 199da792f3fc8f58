//! Answers queries about single files (`lookup`), about directories (`totals`, `content_index`), about
//! groups (`group_totals`, `top_groups`) and about the whole catalog (`overview`, `unreliable`, `space`,
//! `sizes`, `history`). Also loads files as a tree (`load`), and reads all rows (`export`).
//!
//! Answers describe what the catalog remembers. This module does not check whether the files are
//! still unchanged.

pub(crate) mod content_index;
pub(crate) mod export;
pub(crate) mod group_totals;
pub(crate) mod history;
pub(crate) mod load;
pub(crate) mod lookup;
pub(crate) mod overview;
pub(crate) mod sizes;
pub(crate) mod space;
pub(crate) mod top_groups;
pub(crate) mod totals;
pub(crate) mod unreliable;
pub(crate) mod watched;
