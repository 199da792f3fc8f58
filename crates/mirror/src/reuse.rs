//! Spares the connection and the disk bytes that the destination already has: files with the same content elsewhere,
//! and the first bytes of the file itself.

pub(crate) mod contents;
pub(crate) mod existing;
pub(crate) mod resume;
