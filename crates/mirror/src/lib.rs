//! Makes one directory tree like another: every name, every hard link, all metadata.
//!
//! [`Roots::check`] opens the two directories and refuses pairs that would lose data. [`mirror`] does the work.
//! Between two hosts, [`send`] or [`push`] and [`receive`] or [`receive_and_report`] share it. The crate prints
//! nothing: changes, questions and problems go to the caller.
//!
//! | module | for |
//! |---|---|
//! | `roots` | open the two top directories, and refuse sources and destinations that contain each other |
//! | `run` | start and end a run |
//! | `engine` | workers, tasks, the queue's order, the state of directories in progress |
//! | `reconcile` | what happens to one name: decide, compare, create, copy, set metadata, delete |
//! | `hardlinks` | names of one file in the source become names of one file in the destination |
//! | `reuse` | content that the destination already has |
//! | `remote` | a source on another host: sender, receiver, reports |
//! | `model` | leaf types: nodes, differences, reasons, temporary names, ownership |
//! | `options`, `outcome` | what a caller gives and gets |
//!
//! # How a run works
//!
//! Workers take directories from a queue and list each on both sides. Then they process every name by itself. An equal
//! entry stays. A different one is created under a temporary name and replaces the old one in one step. A further name
//! of a file is linked to the name that was copied first. A new directory is filled under a temporary name, and gets
//! its final name when all its files are in it, so these files need no temporary names. The times of a directory
//! are set when nothing below it will change any more. Extraneous entries are deleted after everything else.
//!
//! # Safety
//!
//! After the two top directories were opened, nothing is looked up by a path from the root or from the working
//! directory, and no symbolic link is followed. No file of the destination is written to in place if it has other
//! names, because these may be outside of the destination; such a file is replaced.
//!
//! # Errors
//!
//! Entries that cannot be mirrored are in [`Outcome::problems`]. The destination's entry of that name stays as it
//! was, and the run continues. A name at the destination is a whole file at any time: the old one or the new one.

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
