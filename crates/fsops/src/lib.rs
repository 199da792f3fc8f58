//! File system calls relative to open directories, identities of files, and errors with paths.
//!
//! This is the lowest layer, and the only crate that changes the user's file systems. Every call is
//! relative to an open directory and follows no links. The exceptions are [`Dir::open`],
//! [`Dir::open_operand`] and [`File::open`], which take a path that the user typed.
//!
//! | module | contents |
//! |---|---|
//! | `dir` | open directories: opening, listing, names, metadata |
//! | `file` | files open for reading, new files, extents, leases, extended attributes |
//! | `fs` | identity and type of file systems, their events, the mount table, btrfs subvolumes |
//! | `operand` | opening a path that the user typed |
//! | `trusted` | reading files that nobody but the user and root can write |
//! | `stat` | identity and metadata of files |
//! | `error` | errors with operation and path |
//! | `credentials` | user, groups, umask |
//! | `publish`, `log`, `mark` | lop's own files and locks, journals, marks on directories |
//! | `change` | a hook that every change passes through |
//! | `faults` | simulated failures for tests (feature `faults`) |
//!
//! This crate has no notion of trees, digests or catalogs. It never prints, exits or reads the
//! environment.
//!
//! # Errors
//!
//! Calls on a descriptor return a plain [`std::io::Error`] without a path. Only the caller knows
//! the path, and constructing it for every file would cost more than the call itself.
//! [`Context::context`] adds the operation and the path when an error is stored or displayed.

mod change;
mod credentials;
mod dir;
mod error;
#[cfg(feature = "faults")]
pub mod faults;
mod file;
mod fs;
mod log;
mod mark;
mod operand;
mod publish;
pub mod socket;
mod stat;
mod trusted;

pub use credentials::{effective_user, groups, may_give_files_away, umask};
pub use dir::{Dir, DirBuffer, DirIdentity, DirItem, Found};
pub use error::{Context, Error, Op, io_text, is_gone};
pub use file::File;
pub use file::extents::{ExtentSet, SharedLayout};
pub use file::lease::{Lease, LeaseGuard};
pub use file::new_file::NewFile;
pub use file::read_buffer::ReadBuffer;
pub use file::share::ShareOutcome;
pub use file::xattr::{Xattr, is_acl, xattrs_differ};
pub use fs::ctimes::Ctimes;
pub use fs::fanotify::{EventQueue, Fanotify, descriptor_path, descriptor_stat};
pub use fs::mounts::{DirLocation, MountPoint, Mounts, boot_id};
pub use fs::volume::Volume;
pub use log::{Log, check_private};
pub use mark::DirMark;
pub use operand::OperandError;
pub use publish::{Lock, create_dir_private, create_file_private, publish_new, remove_file};
pub use stat::{FileKey, Kind, LONGEST_TICK, Stat, Time};
pub use trusted::{TrustError, read_trusted_file};
