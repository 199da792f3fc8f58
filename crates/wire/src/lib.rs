//! What two lops say to each other when a tree is mirrored from one host to another.
//!
//! One side sends: it lists its tree, and gives the content of what it is asked for. The other receives: it
//! compares with what it has, asks for what it has not, and makes it. Neither waits for the other but for
//! [`CREDIT`]: listings go ahead, many requests are under way. `docs/protocol.md` tells all of it.
//!
//! # Trust
//!
//! Nothing here allocates by a length that the other side said beyond [`MOST`], and names are
//! given out only if they are one component of a path ([`is_name`]). What a message means is for who gets it to
//! check: that it was asked for, that it fits.

mod frame;
mod greeting;
mod message;
mod report;
mod squeeze;

pub use frame::{Broken, Incoming, MOST, Outgoing, decode, encode};
pub use greeting::{Greeting, read_greeting};
pub use message::{
    Answer, Content, Enter, Error, Facts, FromReceiver, FromSender, Have, Item, Loss, Meta, Names,
    Op, Open, Pattern, Place, Record, Role, Time, Xattr, is_name,
};
pub use report::{Cause, Change, LeftOut, Problem, Removal, Spared, Summary, What};

/// Version of the protocol. Two lops of different ones do not talk to each other.
pub const VERSION: u32 = 3;

/// Bytes of listings that the receiver has not dealt with to their end: the sender sends no more than that ahead.
/// Some 15,000 names, of which all may be asked for at once. A round trip of 50 ms is as nothing then, and it is
/// what the two sides need in memory.
pub const CREDIT: usize = 1 << 20;

/// Returns what a listing counts of that: so many bytes, of so many names, and what keeping them takes besides.
pub fn credit_of(bytes: usize, names: usize) -> usize {
    bytes + 16 * names + 256
}

/// Bytes of a file in one message.
pub const PIECE: usize = 256 << 10;
