//! The commands, one per file.

pub(crate) mod answer;
pub(crate) mod check;
pub(crate) mod collect;
pub(crate) mod contained;
pub(crate) mod growth;
pub(crate) mod inventory;
pub(crate) mod locate;
pub(crate) mod plan;
pub(crate) mod report;
pub(crate) mod sql;
pub(crate) mod upload;
