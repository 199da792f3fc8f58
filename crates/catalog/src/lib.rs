//! The catalog: what lop remembers about files between runs, in a `SQLite` database.
//!
//! [`Catalog`] answers queries. [`Writer`] changes the catalog and holds its lock for a whole scan.
//! Both use the types of a walk: [`TreeMatch`] attaches what the catalog knows to the files of a
//! [`walk::Tree`], and remembered files can be added to such a tree. The engines that compare files
//! therefore do not depend on the database, and this crate does not read file contents.
//!
//! | Module     | What it does                                                                   |
//! |------------|--------------------------------------------------------------------------------|
//! | `error`    | the errors, with the path of the catalog                                       |
//! | `state`    | the state of a remembered file, which tells whether it can be relied on        |
//! | `header`   | recognizes a catalog by its first bytes, before `SQLite` opens it              |
//! | `schema`   | the tables and their migrations                                                |
//! | `open`     | opens catalogs, for queries or for writing under a lock                        |
//! | `tables`   | access to the rows of each table                                               |
//! | `placer`   | adds remembered directories and files to a tree                                |
//! | `read`     | answers queries about files, directories and the whole catalog                 |
//! | `matching` | matches the rows with the files of a scanned tree                              |
//! | `write`    | commits scans and other changes, each in one transaction                       |
//! | `decisions`| the user's decisions about groups                                              |
//!
//! # Atomicity
//!
//! The result of a scan is committed in one transaction. A new catalog is built under another name
//! and renamed into place when it is complete. If the process is killed at any time, the catalog is
//! either the old one or the new one.
//!
//! # Trust
//!
//! Remembered content is valid only for the same inode on the same file system, with the same size,
//! mtime and ctime. If the ctime of a file is so recent that another change could leave it the
//! same, the catalog remembers nothing about the content.
//!
//! `docs/catalog.md` describes the tables for users of the `sqlite3` shell.

mod decisions;
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

pub use decisions::decider::Decider;
pub use decisions::{Choice, Decision, Scope};
pub use error::Error;
pub use matching::changes::{ChangesMatch, Growth};
pub use matching::{RowMap, Suspect, TreeMatch};
pub use open::{Catalog, Writer};
pub use read::content_index::{ContentIndex, DigestedFile};
pub use read::export::{StoredContent, StoredProblem, StoredScan, StoredVolume};
pub use read::group_totals::GroupTotals;
pub use read::history::{History, LastScan};
pub use read::load::{Loaded, Rows, UnreliableFile};
pub use read::lookup::{Entry, FileMatch, KnownFile};
pub use read::overview::{
    CONFIGURED, Overview, ScannedRoot, Tally, VolumeSummary, has_typed_options,
};
pub use read::sizes::SizedScan;
pub use read::space::SpaceRow;
pub use read::top_groups::TopGroup;
pub use read::totals::Totals;
pub use read::unreliable::UnreliableCounts;
pub use read::watched::{UnusableScan, WatchPosition, WatchedRoot, WatchedScan};
pub use state::FileState;
pub use tables::insert::NewFile;
pub use tables::rows::FileRow;
pub use write::changes::{CurrentMetadata, FileChange};
pub use write::findings::{CopyCount, Findings, ScanRecord};
pub use write::marks::{Mark, Marker};
pub use write::operation::{CtimeCause, FileOperation, LiveFile, Version};
pub use write::restore::Restorer;
pub use write::sizes::ScanSizes;
