//! Acts on duplicates without losing data: makes plans, carries them out with a journal, and undoes
//! them. It also moves entries that rules chose into quarantine, and moves whole trees aside, so that
//! they can be removed later.
//!
//! [`plan::plan()`] decides which file of a group is kept. [`run::Runs::apply`] carries out plans
//! as a run, [`run::Runs::undo`] restores what a run changed, and [`run::Runs::open`] finishes runs
//! that a crash interrupted. [`run::Runs::sweep`] moves entries that rules chose into quarantine.
//! [`trash::TrashRun`] implements `lop purge --instant`.
//!
//! This crate does not look for duplicates and does not maintain the catalog. It receives groups of
//! equal files, compares the files itself, and reports what it changed.
//!
//! | Module | Contents |
//! |---|---|
//! | [`plan`] | which file of a group is kept, what each action loses, saved plans, shell scripts |
//! | [`run`] | applies plans: opens, compares, swaps names; the folder of journals ([`run::Runs`]) |
//! | [`journal`] | journal lines, replay, locating an intent on disk, what a run did to each file |
//! | `staging` | private directories that files pass through, and the exchange of one name |
//! | `recover` | finishes a run that was cut off |
//! | [`undo`] | restores what a run changed |
//! | [`sweep`] | moves entries that rules chose into quarantine |
//! | [`quarantine`] | files that a run moved away and that can be restored or purged |
//! | [`trash`] | trees that `lop purge --instant` renamed away and has yet to remove |
//! | [`error`] | why a run failed, and why a file was left alone |
//! | [`statuses`] | the status change times that lop itself caused |
//!
//! # How a file is removed
//!
//! 1. Open the file and the kept file without following links. Both must be unchanged since the
//!    plan was made.
//! 2. Write the intent to the journal, and sync the journal ([`journal`]).
//! 3. Compare the two files byte by byte, each to its end (`run::verify`).
//! 4. Take a lease on both files, if the kernel grants one. No program may have them open for
//!    writing, and neither file may have changed.
//! 5. Exchange the file with the new entry, which a staging directory holds, or move the file there
//!    (`staging`).
//! 6. Check that the entry that arrived there is the file that was compared, that the kept file
//!    still has its name, and that no program is waiting to write to the file. Otherwise, roll the
//!    exchange back (`run::act`).
//! 7. Remove the file from the staging directory.
//!
//! At every moment, each file therefore has either its own name or a name that the journal leads
//! to. Only files that were compared are removed, whatever other programs do in the tree meanwhile.
//!
//! # How an entry is swept
//!
//! A sweep has no file to compare with. It moves entries into quarantine, from where they can be
//! restored, and removes nothing.
//!
//! 1. Check the entry relative to its open parent directory. It must be unchanged since its rule
//!    chose it.
//! 2. Write the intents of a batch to the journal and the manifests, and sync them once.
//! 3. Rename each entry into the staging directory. For a tree, repeat the check first.
//! 4. Check that the entry that arrived there is the chosen one. Otherwise, move it back.
//!
//! A purge of the quarantine removes an entry only if it is still the one that the run moved.
//!
//! # Trees that are removed in the background
//!
//! [`trash::TrashRun`] renames trees into the same staging directories. The journal records each
//! tree before it is renamed. Any later process can remove the trees from the staging directory. A process
//! removes only entries that are both in the staging directory and in the journal.
//!
//! # Two runs at once
//!
//! Runs that share a journal folder wait for each other. Runs with different folders may each try
//! to remove the file that the other one keeps. Each run checks its kept file after it has taken
//! the other file out, so at least one of them sees the conflict and rolls back.
//!
//! # What changes
//!
//! An action may change a file's inode number and its status change time. A program that already
//! has the file open continues to use the file that it opened.

pub mod error;
pub mod journal;
pub mod plan;
pub mod quarantine;
mod recover;
pub mod run;
mod staging;
pub mod statuses;
pub mod sweep;
pub mod trash;
pub mod undo;

pub use error::{Error, Reason, Refusal};
