//! Finds the regular files below some roots, in parallel, using about 40 bytes per file.
//!
//! [`walk`] lists directories; [`from_list`] takes a list of paths. Both return a [`Tree`], in
//! which a file is a number. [`Opener`] opens the file of a number.
//!
//! # One file is one file
//!
//! A directory that is reached twice (a root given twice or inside another, a bind mount) is listed
//! once. Mounts below the roots are deferred until everything found before is done. Directories on
//! one disk are taken in order of path, disks in parallel; a root inside another one comes last.
//! Which of two paths a file is found under therefore does not depend on the speed of threads. The
//! exception is a root that does not answer within a second: it is walked after all others, and
//! given up if it never answers.
//!
//! # Memory
//!
//! 40 bytes and the name per file, 40 bytes and the name per directory. Paths are never stored.

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
