//! Finds the regular files below some roots, in parallel, using about 40 bytes per file.
//!
//! [`walk`] lists directories; [`from_list`] takes a list of paths. Both return a [`Tree`], in
//! which a file is a number. [`Opener`] opens the file of a number.
//!
//! | module | contents |
//! |---|---|
//! | `tree` | the result: rows of files and directories, remembered files, skipped names |
//! | `filter` | the entries that a walk takes: patterns, lop's own files, system directories |
//! | `engine` | the walk: roots, disks, mounts, workers, deferred metadata |
//! | `open` | opening files by number and directories by path |
//! | `names` | a pool of names for short-lived use |
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
mod engine;
mod filter;
mod names;
mod open;
mod tree;

pub use engine::list::from_list;
pub use engine::listing::Visitor;
pub use engine::options::Options;
pub use engine::roots::unresponsive;
pub use engine::walker::walk;
pub use filter::globs::Globs;
pub use filter::own::OwnFiles;
pub use filter::pattern::{AmbiguousPattern, FilterError, PatternUse};
pub use filter::system::{in_system_dir, is_system_name, managed_by_programs};
pub use filter::top::TopDir;
pub use filter::{Filter, QUARANTINE_PREFIX};
pub use names::Names;
pub use open::dir_cache::DirCache;
pub use open::opener::Opener;
pub use open::path_opener::{PathOpener, split_path};
pub use tree::Tree;
pub use tree::records::{
    Device, DirId, DirRecord, FileId, FileRecord, Problem, Reason, Remembered, Root, Skipped,
    push_component, to_u32,
};
