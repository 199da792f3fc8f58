//! Mirroring between two hosts. One process sends the tree, and the other receives it.
//!
//! Both processes speak the protocol of the `wire` crate, which docs/protocol.md describes.

pub(crate) mod receiver;
pub(crate) mod report;
pub(crate) mod sender;
