//! Mirroring between two hosts: one process sends the tree, the other receives it.
//!
//! The protocol is that of the `wire` crate and of docs/protocol.md.

pub(crate) mod receiver;
pub(crate) mod report;
pub(crate) mod sender;
