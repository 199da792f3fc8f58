//! System calls relative to open directories, identities of files, and errors that carry paths.
//!
//! This is the bottom layer, and the only crate that changes a user's file system. Every call is
//! relative to an open directory and follows no link, except for [`Dir::open`],
//! [`Dir::open_operand`] and [`File::open`], which take a path that the user typed.
//!
//! This crate knows no trees, digests or catalogs. It never prints, exits or reads the environment.
//!
//! # Errors
//!
//! Calls on a descriptor return a plain [`std::io::Error`]. Only the caller knows the path, and
//! building one for every file would cost more than the call. [`Context::context`] adds operation
//! and path when an error is kept or shown.

mod cache;
mod change;
mod credentials;
mod ctimes;
mod dir;
mod error;
mod extents;
#[cfg(feature = "faults")]
pub mod faults;
mod file;
mod lease;
mod log;
mod mark;
mod mounts;
mod operand;
mod place;
mod publish;
mod share;
mod stat;
mod subvolume;
mod volume;
mod within;
mod written;
mod xattr;

pub use credentials::{effective_user, may_give_files_away};
pub use ctimes::Ctimes;
pub use dir::{Dir, DirBuffer, DirItem};
pub use error::{Context, Error, Op, is_gone};
pub use extents::{SharedLayout, Storage};
pub use file::File;
pub use lease::{Granted, Lease};
pub use log::{Log, check_private};
pub use mark::Mark;
pub use mounts::{Mounts, Place, boot_id};
pub use operand::Unopened;
pub use place::{groups, umask};
pub use publish::{Lock, create_dir_private, create_file_private, publish_new, remove_file};
pub use share::Shared;
pub use stat::{FileKey, Kind, Stat, Time};
pub use volume::Volume;
pub use within::Origin;
pub use written::{NewFile, Xattr};
pub use xattr::{is_acl, xattrs_differ};
