//! Acts on duplicates without ever losing data: plan, journal, apply, undo.

mod act;
mod apply;
mod error;
mod journal;
pub mod keep;
mod kind;
mod name;
mod place;
mod plan;
mod recover;
mod runs;
mod settle;
mod store;
mod target;
mod undo;

pub use apply::{How, Lot, Outcome};
pub use error::{Error, Reason, Refusal};
pub use kind::Kind;
pub use name::Name;
pub use plan::{Member, Plan, Protection, Warning, Why, plan};
pub use runs::{Runs, Summary};
pub use target::{Group, Target, Version};
pub use undo::Undone;
