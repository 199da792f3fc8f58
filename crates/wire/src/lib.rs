//! The protocol that two lops speak when `lop mirror` copies a tree between hosts.
//!
//! The sender lists its tree and sends the files that it is asked for. The receiver compares the
//! listing with the destination, requests the files that it lacks, and writes them. Listings run
//! ahead of requests, limited by [`LISTING_CREDIT_BYTES`]; many requests are in flight at once.
//! `docs/protocol.md` describes the protocol.
//!
//! | module | contents |
//! |---|---|
//! | `frame` | messages as length-prefixed byte strings |
//! | `compress` | compression, chosen by measurement |
//! | `greeting` | the first line of each side |
//! | `message` | the messages of sender and receiver |
//! | `report` | changes, problems and counts that a receiver reports |
//!
//! This crate does no file system work and gives messages no meaning beyond their syntax.
//!
//! # Trust
//!
//! The other side may be hostile. No allocation exceeds [`MAX_MESSAGE_BYTES`], whatever length a message claims.
//! [`is_name`] accepts a name only if it is a single path component. Callers MUST check that a
//! message was asked for and that its numbers are valid.

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

/// Version of the protocol. Both sides must have the same one.
pub const VERSION: u32 = 4;

/// Maximum number of listing bytes that the sender sends before the receiver has processed them.
///
/// This corresponds to about 15,000 names, all of which may be requested at once. It hides a round
/// trip of 50 ms and bounds the memory of both sides.
pub const LISTING_CREDIT_BYTES: usize = 1 << 20;

/// Returns the credit that a listing batch of `bytes` bytes and `names` names uses, including the
/// memory that the receiver needs to keep it.
pub fn listing_cost_bytes(bytes: usize, names: usize) -> usize {
    bytes + 16 * names + 256
}

/// Maximum number of file bytes in one message.
pub const CHUNK_BYTES: usize = 256 << 10;
