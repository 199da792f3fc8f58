//! The catalog: what lop remembers of files between runs, in a `SQLite` database.
//!
//! [`Catalog`] answers questions. [`Writer`] holds the catalog's lock for a whole scan and changes it.
//! Both speak in the terms of a walk: [`TreeMatch`] attaches what the catalog knows to the files of a
//! [`walk::Tree`], and remembered files can be added to such a tree. So the engines that compare files
//! need to know nothing of databases, and this crate reads no file contents.
//!
//! | Module     | What it does                                                                   |
//! |------------|--------------------------------------------------------------------------------|
//! | `error`    | the errors, with the path of the catalog                                       |
//! | `state`    | whether a remembered file can be relied on                                     |
//! | `header`   | recognizes a catalog by its first bytes, before `SQLite` opens it              |
//! | `schema`   | the tables and their migrations                                                |
//! | `open`     | opens catalogs: to ask questions, or to write under a lock                     |
//! | `tables`   | access to the rows of each table                                               |
//! | `placer`   | adds remembered directories and files to a tree                                |
//! | `read`     | answers questions about files, directories and the whole catalog               |
//! | `matching` | matches the rows with the files of a scanned tree                              |
//! | `write`    | commits scans and other changes, each in one transaction                       |
//!
//! # Atomicity
//!
//! A scan's result is committed in one transaction. A new catalog is built under another name and
//! renamed into place when it is complete. Whatever kills the process, the catalog is either the old
//! one or the new one.
//!
//! # Trust
//!
//! The facts remembered of a file hold only for the same inode of the same file system with the
//! same size, mtime and ctime. Nothing is remembered of a file whose ctime is so recent that a further
//! change could leave it the same.
//!
//! `docs/catalog.md` describes the tables for users of the `sqlite3` shell.

mod error;
mod header;
mod matching;
mod open;
mod placer;
mod read;
mod schema;
mod state;
mod tables;
mod write;

pub use error::Error;
pub use matching::{RowMap, Suspect, TreeMatch};
pub use open::{Catalog, Writer};
pub use read::content_index::{ContentIndex, DigestedFile};
pub use read::load::{Loaded, Rows, UnreliableFile};
pub use read::lookup::{Entry, FileMatch, KnownFile};
pub use read::overview::{Overview, ScannedRoot, Tally, VolumeSummary};
pub use read::totals::Totals;
pub use read::unreliable::UnreliableCounts;
pub use state::FileState;
pub use write::changes::{CurrentMetadata, FileChange};
pub use write::findings::{CopyCount, Findings, ScanRecord};
pub use write::marks::{Mark, Marker};
pub use write::operation::{CtimeCause, FileOperation, LiveFile, Version};
