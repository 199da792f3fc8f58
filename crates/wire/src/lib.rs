//! The protocol between the two lops of a `lop mirror` run that copies a tree between hosts.
//!
//! The sender lists its tree and sends the files that the receiver requests. The receiver compares
//! the listing with the destination, requests the files that the destination lacks, and writes
//! them. Many requests are in flight at once. The sender sends up to [`LISTING_CREDIT_BYTES`] bytes
//! of listings in advance. `docs/protocol.md` describes the protocol.
//!
//! In this crate, the *peer* is the lop at the other end of the connection.
//!
//! | module | contents |
//! |---|---|
//! | `frame` | messages as length-prefixed byte strings |
//! | `compress` | compression, if measurements show that it is faster |
//! | `greeting` | the first line of each lop |
//! | `message` | the messages of sender and receiver |
//! | `report` | changes, problems and counts that a receiver reports |
//!
//! This crate does not access the file system. It defines the syntax of messages and leaves their
//! handling to its callers.
//!
//! # Trust
//!
//! The peer may be hostile. No allocation exceeds [`MAX_MESSAGE_BYTES`], whatever length a message
//! claims. [`is_name`] accepts a name only if it is a single path component. Callers MUST check
//! that a message was requested and that its numbers are valid.

mod compress;
mod frame;
mod greeting;
mod message;
mod report;

pub use frame::{ConnectionError, Incoming, MAX_MESSAGE_BYTES, Outgoing, decode, encode};
pub use greeting::{Greeting, read_greeting};
pub use message::{
    Answer, ContentHint, EnteredDir, Error, FileList, FileListEntry, FromReceiver, FromSender,
    HostDirId, InodeMetadata, Item, KnownPrefix, Loss, Meta, Op, Open, Pattern, Role, Time, Xattr,
    is_name,
};
pub use report::{
    Action, Cause, Change, Counts, Differences, KeptReason, LeftOut, Problem, Removal,
};

/// Version of the protocol. The version must be the same on both hosts.
pub const VERSION: u32 = 4;

/// Maximum number of listing bytes that the sender may send before the receiver has processed them.
///
/// This is enough for about 15,000 names, all of which may be requested at once. The credit hides a
/// round-trip time of 50 ms and limits the memory use of sender and receiver.
pub const LISTING_CREDIT_BYTES: usize = 1 << 20;

/// Returns the credit for a listing batch of `bytes` bytes and `names` names. The credit includes
/// the memory that the receiver needs for the batch.
pub fn listing_cost_bytes(bytes: usize, names: usize) -> usize {
    bytes + 16 * names + 256
}

/// Maximum number of file bytes in one message.
pub const CHUNK_BYTES: usize = 256 << 10;
