//! Sends the files of a directory over HTTP.
//!
//! | module | contents |
//! |---|---|
//! | `server`, `statistics` | the server, its settings, and counters |
//! | `access` | which requests are answered: host and token |
//! | `handler`, `shared` | answers requests: from the cache, from memory, or by a job that may wait for the disk |
//! | `search`, `roots`, `path` | from the path of a request to a file or directory |
//! | `cache` | open files, and the contents of small ones |
//! | `file`, `multipart` | responses with a file or parts of it |
//! | `directory` | responses about a directory |
//! | `listing` | the page of a directory |
//! | `archive` | a tar archive of a directory, with a known length |
//! | `facts` | digests and sizes of folders, from the catalog |
//! | `notices`, `frame` | error pages, statistics, and the frame of all pages |
//!
//! # Security
//!
//! A path is decoded once, and may contain neither `..` nor an encoded slash. Files are found relative to
//! the shared directory by [`fsops::Dir::find_beneath`], so no link leads out of it, not even one that is
//! exchanged at that moment. Only regular files are opened. Nothing is ever written.

mod access;
mod archive;
mod cache;
mod directory;
mod error;
mod facts;
mod file;
mod frame;
mod handler;
mod listing;
mod multipart;
mod notices;
mod path;
mod roots;
mod search;
mod server;
mod shared;
mod statistics;

pub use error::Error;
pub use httpd::server::{Address, Rates};
pub use server::{Options, Share, Stopper};
pub use shared::Warn;
pub use statistics::{Statistics, StatisticsReader};
