//! Makes one directory tree like another: every name, every hard link, all metadata.
//!
//! [`Roots::check`] opens the two directories and refuses what cannot end well; [`mirror`] does the work.
//!
//! # How it goes
//!
//! Workers take directories from a queue. Each is listed on both sides; then every name is dealt with by
//! itself: what is equal stays, what differs is made anew and takes the place of the old in one step, what
//! is linked in the source is linked to what the first of these names became. A new directory is filled
//! under a name for what is not ready and gets its own when all files are in it, so its files need no names
//! for what is not ready. Times of directories are set when nothing below is to change any more, and
//! what the source has not is removed after everything else.
//!
//! # Safety
//!
//! Nothing is found by a path from the root or the working directory after the two top directories were opened;
//! no link is followed, and no name of the destination is written through: a file that has other names is
//! never changed, since these may be outside, but replaced.
//!
//! # Errors
//!
//! What cannot be mirrored is in [`Outcome::problems`], what the destination has of that name stays as it
//! is, and the rest goes on. A name at the destination is always a whole file: the old or the new one.

mod engine;
mod hardlinks;
mod model;
mod options;
mod outcome;
mod reconcile;
mod remote;
mod reuse;
mod roots;
mod run;

pub use engine::estimate::estimate;
pub use model::change::{Action, Change, Differences};
pub use model::content::{ContentHint, ContentHints, MIN_REUSED_BYTES};
pub use model::reason::{Problem, Reason};
pub use options::{Consent, OnChange, Options, User};
pub use outcome::{Outcome, Removal};
pub use remote::report::{Reports, push, receive_and_report};
pub use remote::sender::send;
pub use roots::refusal::Refusal;
pub use roots::{Roots, Source};
pub use run::{mirror, receive};
pub use wire::{Cause, LeftOut, Spared};
