//! Plans determine which file of a group is kept, which files are acted on, and what to warn about.
//!
//! [`plan()`] and [`separate()`] decide from metadata alone. [`Inspector`] opens the files and adds
//! the properties that can be read only from an open file. This module changes no files.
//! [`crate::run`] carries plans out and checks everything again.

pub(crate) mod copy_marks;
pub(crate) mod decide;
pub(crate) mod inspect;
pub(crate) mod kind;
pub(crate) mod obstacle;
pub(crate) mod relative_path;
pub(crate) mod rules;
pub(crate) mod saved;
pub(crate) mod script;
pub(crate) mod target;

pub use decide::{KeepReason, Member, Plan, Protection, Warning, plan, plan_decided, separate};
pub use inspect::Inspector;
pub use kind::{Amount, Kind};
pub use obstacle::check_not_own;
pub use rules::{Candidate, PathPattern, Rule, RuleError, choose};
pub use saved::{Saved, SavedError, SavedGroup, load, save};
pub use script::write_script;
pub use target::{Group, Target, Version};
