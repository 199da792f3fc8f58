//! Runs carry out plans file by file, with a journal.
//!
//! [`Runs`] is the folder with the journals and the only entry point. The other modules implement
//! [`Runs::apply`]: `apply` starts the threads, `open` opens the files and writes the intents,
//! `verify` compares, and `act` changes the name.
//!
//! The order of the steps keeps data safe: open, journal, compare, lease, exchange, check, remove.
//! The crate documentation describes each step.

pub(crate) mod act;
pub(crate) mod apply;
pub(crate) mod compare;
pub(crate) mod copy;
pub(crate) mod history;
pub(crate) mod meter;
pub(crate) mod open;
pub(crate) mod outcome;
pub(crate) mod pick;
pub(crate) mod prefetch;
pub(crate) mod runs;
pub(crate) mod verify;

pub use apply::{ApplyOptions, DiskBatch};
pub use history::RunSummary;
pub use outcome::{ApplyOutcome, ChangedFile, Fault, Suspect};
pub use runs::Runs;
