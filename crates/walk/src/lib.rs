//! Finds the regular files below some roots, in parallel, in about 40 bytes each.
//!
//! [`walk`] lists directories and [`from_list`] takes paths as they come; both give a [`Tree`],
//! in which a file is a number. [`Opener`] gets from such a number back to an open file.
//!
//! # One file is one file
//!
//! A directory reached twice (a root given twice or inside another, a bind mount) is listed once.
//! Mounts below the roots are put off until all that was found before is done. What is on one
//! physical device is taken in order of path, devices side by side; a root inside another one comes
//! last. So which of two paths a file is found under does not depend on which thread was faster. The
//! exception is a root that does not answer within a second: it is walked after all others, and given up
//! if it never does.
//!
//! # Memory
//!
//! 40 bytes and the name per file, 40 bytes and the name per directory. No path is ever stored.

mod filter;
mod globs;
mod later;
mod left_out;
mod list;
mod listing;
mod names;
mod opener;
mod own;
mod reach;
mod remembered;
mod roots;
mod slots;
mod system;
mod table;
mod top;
mod tree;
mod turn;
mod walker;
mod worker;

pub use filter::{Filter, STORE_PREFIX};
pub use globs::{FilterError, Globs, Twofold, Use};
pub use list::from_list;
pub use listing::Visitor;
pub use names::Names;
pub use opener::Opener;
pub use own::Own;
pub use reach::{Reach, split};
pub use remembered::Remembered;
pub use roots::silent;
pub use system::{in_system_dir, is_system_name, kept_by_programs};
pub use top::Top;
pub use tree::{
    Device, DirId, DirRecord, FileId, FileRecord, Problem, Reason, Root, Skipped, Tree,
    push_component,
};
pub use walker::{Options, walk};
