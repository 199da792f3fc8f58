//! Acts on duplicates without ever losing data: plan, journal, apply, undo. And has trees go that nobody
//! wants any more.
//!
//! [`plan()`] decides which file of a group stays. [`Runs::apply`] carries plans out as a run,
//! [`Runs::undo`] brings back what a run changed, and [`Runs::open`] brings runs to their end that were
//! cut off.
//!
//! # How a file goes
//!
//! 1. It and the kept file are opened, no link followed, and must be what they were when they were
//!    planned.
//! 2. What is about to be done is in the journal, on the disk (`journal`).
//! 3. The two are compared byte by byte, to the end of both (`settle`).
//! 4. Nobody writes to them now (a lease, where the kernel grants one), and both are still what they
//!    were.
//! 5. The name is exchanged with one in a directory that nobody else uses, or moved there (`place`,
//!    `staging`).
//! 6. What came is looked at: it must be the file that was compared. The kept file must still have its
//!    name. Nobody may be waiting to write to the file. If not, all is given back (`act`).
//! 7. Only then it is removed, from the private directory.
//!
//! So at every moment each file has its own name or one that the journal leads to, and nothing that was
//! not compared is ever removed, whatever others do in the tree meanwhile.
//!
//! # Trees that go in the background
//!
//! [`Discard`] moves trees into the same private directories, from where whoever gets to it removes them.
//! Its journal says what was moved there before it is; what is there and in the journal may go.
//!
//! # Two runs at once
//!
//! Runs with one folder wait for each other. Runs with different folders may each take what the other
//! keeps; as each looks for its kept file after it took the other one out, at least one sees that, and
//! gives back.
//!
//! # What is not kept
//!
//! A file's inode number and its status change time. A program that has a file open goes on with the
//! file it has open.

mod act;
mod ahead;
mod apply;
mod copy;
mod deeds;
mod discard;
mod error;
mod journal;
pub mod keep;
mod kind;
mod leftovers;
mod lines;
mod looks;
mod manifest;
mod means;
mod meter;
mod missing;
mod name;
mod nothing_left;
mod numbering;
mod obstacle;
mod opening;
mod own;
mod past;
mod place;
mod plan;
mod purge;
mod ready;
mod recover;
mod remake;
mod runs;
mod saved;
mod script;
mod settle;
mod shelf;
mod staging;
mod statuses;
mod store;
mod suspect;
mod target;
mod tidy;
mod trees;
mod undo;
mod way;

pub use apply::{Changed, How, Lot, Outcome};
pub use deeds::{Deed, Deeds, State};
pub use discard::{Begun, Discard, Left, Taken, Tree};
pub use error::{Error, Reason, Refusal};
pub use kind::Kind;
pub use looks::Looks;
pub use manifest::MANIFEST;
pub use means::{Means, Prospect};
pub use meter::Amount;
pub use missing::Missing;
pub use name::Name;
pub use nothing_left::NothingLeft;
pub use own::check_not_own;
pub use plan::{Member, Plan, Protection, Warning, Why, plan, separate};
pub use purge::{Purged, Quarantined};
pub use runs::{Preview, Runs, Summary};
pub use saved::{Saved, SavedError, SavedGroup, load, save};
pub use script::{script_head, script_steps, script_tail};
pub use shelf::{Restored, Shelf};
pub use statuses::{Status, Statuses};
pub use suspect::{Fault, Suspect};
pub use target::{Group, Target, Version};
pub use trees::Discarded;
pub use undo::Undone;
