//! Reuses bytes that the destination already has, to save network traffic and disk space. The bytes come from other
//! files with the same content, or from the beginning of the file itself.

pub(crate) mod contents;
pub(crate) mod existing;
pub(crate) mod resume;
