//! Finds the regular files below a set of roots, in parallel, using about 40 bytes per file.
//!
//! [`walk`] lists directories, or examines only [`Changes`] in them. [`from_list`] examines a list of
//! paths. Both return a [`Tree`], in which files are identified by numbers. [`Opener`] opens a file by its number.
//!
//! | module | contents |
//! |---|---|
//! | `tree` | the result: tables of files and directories, remembered files, skipped names |
//! | `filter` | the entries to include: patterns, lop's own files, system directories |
//! | `engine` | the walk: roots, disks, mounts, workers, deferred metadata |
//! | `open` | opening files by number and directories by path |
//! | `names` | a pool for names that are needed temporarily |
//!
//! # Order of the walk
//!
//! Every directory is listed once, even if several paths lead to it. There can be several paths
//! because of a bind mount, or because a root is given twice or is inside another root. Which path
//! is used does not depend on the speed of threads or disks:
//!
//! - Disks are walked in parallel. The roots and mounts of each disk are walked in the order of
//!   their paths.
//! - A root inside another root is walked after the outer root.
//! - Mounts below the roots are walked after all directories that were found before them.
//!
//! A root that does not respond within a second is an exception. Such a root is walked after all
//! others, and reported as a problem if it never responds.
//!
//! # Memory
//!
//! A file or directory takes 40 bytes, plus the bytes of its name. A file whose disk space is not its
//! size in whole blocks takes 16 more bytes. During the walk, a name of a file with several names
//! takes 32 more bytes. Paths are not stored.
mod engine;
mod filter;
mod names;
mod open;
mod tree;

pub use engine::changes::Changes;
pub use engine::list::from_list;
pub use engine::listing::Visitor;
pub use engine::options::Options;
pub use engine::roots::unresponsive;
pub use engine::walker::walk;
pub use filter::globs::Globs;
pub use filter::own::OwnFiles;
pub use filter::pattern::{AmbiguousPattern, FilterError, PatternUse};
pub use filter::shard::Shard;
pub use filter::system::{in_system_dir, is_system_name, managed_by_programs};
pub use filter::top::TopDir;
pub use filter::{Filter, QUARANTINE_PREFIX};
pub use names::Names;
pub use open::dir_cache::DirCache;
pub use open::opener::Opener;
pub use open::path_opener::{PathOpener, split_path};
pub use tree::Tree;
pub use tree::allocated::usual_allocation;
pub use tree::hard_links::FurtherNames;
pub use tree::records::{
    Device, DirId, DirRecord, FileId, FileRecord, Note, Problem, Reason, Remembered, Root, Skipped,
    push_component, to_u32,
};
