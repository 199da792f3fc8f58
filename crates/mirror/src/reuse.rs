//! TODO head.

pub(crate) mod contents;
pub(crate) mod existing;
pub(crate) mod resume;
