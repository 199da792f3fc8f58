//! Makes one directory tree identical to another, including names, hard links and metadata.
//!
//! [`Roots::check`] opens the two directories and refuses pairs that would lose data. [`mirror`] does the work on one
//! host. If the two trees are on different hosts, one host runs [`send`] or [`push`], and the other runs [`receive`]
//! or [`receive_and_report`]. The crate prints nothing. It passes changes, questions and problems to the caller.
//!
//! | module | purpose |
//! |---|---|
//! | `roots` | opens the two top directories, and refuses a source and a destination that contain each other |
//! | `run` | starts and ends a run |
//! | `engine` | workers, tasks, the order of the queue, the state of directories in progress |
//! | `reconcile` | processes one name: decides, compares, creates, copies, sets metadata, deletes |
//! | `hardlinks` | reproduces the hard links of the source in the destination |
//! | `reuse` | reuses content that the destination already has |
//! | `remote` | a source on another host: sender, receiver, reports |
//! | `model` | basic types: nodes, differences, reasons, temporary names, ownership |
//! | `options`, `outcome` | the input and the result of a run |
//!
//! # How a run works
//!
//! Workers take directories from a queue and list each of them in the source and in the destination. They process the
//! names of a directory one by one. An entry that is already identical stays. An entry that differs is created under a
//! temporary name and then atomically replaces the old entry. If a file has several names, lop copies the file once
//! and creates the other names as hard links. A new directory is filled under a temporary name. It gets its final name
//! when all of its files are complete, so the files themselves need no temporary names. The times of a directory are
//! set when nothing below it will change any more. Extraneous entries are deleted at the very end.
//!
//! # Safety
//!
//! Once the two top directories are open, every path is resolved relative to one of them, and symbolic links are not
//! followed. A destination file that has several names is never written to in place, because some of its names may be
//! outside of the destination. Such a file is replaced instead.
//!
//! # Errors
//!
//! Entries that cannot be mirrored are listed in [`Outcome::problems`]. The destination keeps its old entry of that
//! name, and the run continues. At any time, a name in the destination refers to a complete file, either the old or
//! the new one.

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
pub use model::content::{ContentHints, MIN_REUSED_BYTES};
pub use model::reason::{Problem, Reason};
pub use options::{Consent, OnChange, Options, User};
pub use outcome::Outcome;
pub use remote::report::{Reports, push, receive_and_report};
pub use remote::sender::send;
pub use roots::refusal::Refusal;
pub use roots::{Roots, Source};
pub use run::{mirror, receive};
pub use wire::{
    Action, Cause, Change, ContentHint, Counts, Differences, KeptReason, LeftOut, Removal,
};
