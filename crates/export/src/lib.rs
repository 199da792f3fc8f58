//! Exports a catalog as Parquet files that engines such as Spark read, and
//! makes a catalog of an export.
//!
//! An export is a folder `HOST/EXPORT_ID` that never changes. It contains the files of five tables
//! and, written last, a manifest with the number of rows and the digest of each file.
//! `docs/fleet.md` describes the tables for users.
//!
//! | Module     | What it does                                                                |
//! |------------|-----------------------------------------------------------------------------|
//! | `schema`   | the tables and their columns                                                |
//! | `table`    | writes and reads Parquet files                                              |
//! | `manifest` | the manifest                                                                |
//! | `folder`   | creates the folder of an export, and opens it again                         |
//! | `key`      | replaces digests, heads and names by keyed hashes                           |
//! | `digest`   | the two kinds of digests                                                    |
//! | `inodes`   | finds the names that belong to one inode, and sorts the inodes              |
//! | `dirs`     | the directories and their paths                                             |
//! | `write`    | exports a catalog, rows without a catalog, or the objects of an S3 bucket   |
//! | `stored`   | finds the newest complete export of each host                               |
//! | `copied`   | checks an export while it is copied, and creates its folder                 |
//! | `copies`   | finds the files that are equal to another one of the same host              |
//! | `search`   | finds the inodes of a size, and the paths of inodes                         |
//! | `keys`     | reads what is needed to compare inodes                                      |
//! | `read`     | makes a catalog of an export                                                |
//!
//! # Atomicity
//!
//! The files are written into the folder `HOST/_part`. After the manifest has been synced, the export is
//! moved out of there. An export that exists is therefore complete. The next export of the
//! host removes what a killed process left.

mod copied;
mod copies;
mod digest;
mod dirs;
mod error;
mod folder;
mod inodes;
mod key;
mod keys;
mod manifest;
mod read;
mod schema;
mod search;
mod stored;
mod table;
mod write;

pub use copied::{Copied, CopiedFile, FileCheck, StoredManifest};
pub use copies::StoredInode;
pub use digest::StoredDigest;
pub use error::Error;
pub use folder::{LARGEST_MANIFEST, check_host, is_export_id, remove_exports};
pub use key::{Key, ShortKey};
pub use keys::{InodeFile, InodeGroup, InodeKey};
pub use manifest::{FILE_NAME as MANIFEST_NAME, Names, TableFile};
pub use read::{Imported, import};
pub use schema::{Column, Kind, TABLES, Table};
pub use stored::{Fleet, Stored, StoredFile};
pub use write::{Exported, Object, Options, export, export_objects, export_rows};
