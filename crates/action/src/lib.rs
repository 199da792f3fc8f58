//! Acts on duplicates without losing data: plans, journals, applies, undoes. It also removes whole trees that
//! were renamed away first.
//!
//! [`plan::plan()`] decides which file of a group is kept. [`run::Runs::apply`] carries plans out as a run,
//! [`run::Runs::undo`] restores what a run changed, and [`run::Runs::open`] finishes runs that were interrupted by a
//! crash. [`trash::TrashRun`] is the journal behind `lop purge --instant`.
//!
//! This crate does not look for duplicates and does not keep the catalog: it gets groups of equal files, compares them
//! itself, and reports what it changed.
//!
//! | Module | Contents |
//! |---|---|
//! | [`plan`] | which file of a group is kept, what each action loses, saved plans, shell scripts |
//! | [`run`] | applies plans: opens, compares, swaps names; the folder of journals ([`run::Runs`]) |
//! | [`journal`] | journal lines, replay, locating an intent on disk, what a run did with each file |
//! | `staging` | private directories that files pass through, and the exchange of one name |
//! | `recover` | finishes a run that was cut off |
//! | [`undo`] | restores what a run changed |
//! | [`quarantine`] | files that a run moved away and that can be restored or purged |
//! | [`trash`] | trees that `lop purge --instant` renamed away and has yet to remove |
//! | [`error`] | why a run failed, and why a file was left alone |
//! | [`statuses`] | the status change times that lop itself caused |
//!
//! # How a file is removed
//!
//! 1. The file and the kept file are opened without following links. Both must still be what they were when the plan
//!    was made.
//! 2. The intent is in the journal, on the disk ([`journal`]).
//! 3. The two are compared byte by byte, to the end of both (`run::verify`).
//! 4. No program writes to them (a lease, where the kernel grants one), and neither has changed.
//! 5. The name is exchanged with one in a staging directory, or moved there (`staging`).
//! 6. The entry that arrived there must be the file that was compared. The kept file must still have its name. No
//!    program may be waiting to write to the file. Otherwise the exchange is rolled back (`run::act`).
//! 7. Only then is the file removed, from the staging directory.
//!
//! So at every moment each file has its own name or one that the journal leads to, and nothing is removed that was
//! not compared, whatever other programs do in the tree meanwhile.
//!
//! # Trees that are removed in the background
//!
//! [`trash::TrashRun`] renames trees into the same staging directories. Any later process can remove them from there.
//! The journal names each tree before it is renamed. Only entries that are both in the staging directory and in the
//! journal are removed.
//!
//! # Two runs at once
//!
//! Runs that share a journal folder wait for each other. Runs with different folders may each remove the file that the
//! other keeps. As each checks its kept file after it has taken the other file out, at least one of them sees
//! the conflict and rolls back.
//!
//! # What changes
//!
//! An action may change a file's inode number and its status change time. A program that has the file open continues
//! to use the file it opened.

pub mod error;
pub mod journal;
pub mod plan;
pub mod quarantine;
mod recover;
pub mod run;
mod staging;
pub mod statuses;
pub mod trash;
pub mod undo;

pub use error::{Error, Reason, Refusal};
