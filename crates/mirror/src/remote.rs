//! TODO head.

pub(crate) mod receiver;
pub(crate) mod report;
pub(crate) mod sender;
