//! What lop remembers of files between runs, in a `SQLite` database.
//!
//! [`Catalog`] answers questions; [`Writer`] holds the catalog's lock for a whole scan. Both
//! speak in the terms of a walk: [`Recall`] attaches what is known to the files of a
//! [`walk::Tree`], and remembered files are added to such a tree, so that the engines need to
//! know nothing of databases.
//!
//! # One piece
//!
//! A scan's result is committed in one transaction, and a new catalog is built aside and renamed
//! into place when it is whole. Whatever kills the process, the catalog is the old one or the new
//! one.
//!
//! # Trust
//!
//! What is remembered of a file holds only for the same inode of the same file system with the
//! same size, mtime and ctime. A file whose ctime is so recent that a further change could have
//! left it as it is has nothing remembered.
//!
//! The tables are in `docs/catalog.md` for people with a `sqlite3` shell.

mod away;
mod commit;
mod delta;
mod dirs;
mod error;
mod follow;
mod forget;
mod header;
mod holdings;
mod insert;
mod load;
mod marks;
mod open;
mod outside;
mod overview;
mod question;
mod recall;
mod rows;
mod state;
mod totals;
mod upkeep;
mod volumes;

pub use commit::{Copies, Findings, ScanRecord};
pub use error::Error;
pub use follow::{Deed, Live, Status, Version};
pub use holdings::{Held, Holdings};
pub use load::{Doubt, Loaded, Rows};
pub use marks::{Mark, Marker};
pub use open::{Catalog, Writer};
pub use overview::{Disk, Overview, Scanned, Tally};
pub use question::{Doubts, Entry, Known, Record};
pub use recall::{Memory, Recall, Suspect};
pub use state::FileState;
pub use totals::Totals;
pub use upkeep::{Change, Now};
