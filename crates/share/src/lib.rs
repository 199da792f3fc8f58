//! Sends the files of a directory over HTTP.
//!
//! | module | contents |
//! |---|---|
//! | `server` | the server, its settings and statistics |
//! | `handler` | answers requests: from the cache, from memory, or by a job that may wait for the disk |
//! | `cache` | open files, and the contents of small ones |
//! | `file`, `multipart` | responses with a file or parts of it |
//! | `path` | paths in requests |
//! | [`listing`] | the page of a directory |
//! | [`archive`] | a tar archive of a directory, with a known length |
//! | [`notices`], `frame` | error pages, statistics, and the frame of all pages |
//!
//! # Security
//!
//! A path is decoded once, and may contain neither `..` nor an encoded slash. Files are found relative to
//! the shared directory by [`fsops::Dir::find_beneath`], so no link leads out of it, not even one that is
//! exchanged at that moment. Only regular files are opened. Nothing is ever written.

pub mod archive;
mod cache;
mod file;
mod frame;
mod handler;
pub mod listing;
mod multipart;
pub mod notices;
mod path;
mod server;

pub use server::{Options, Share, Statistics, StatisticsReader};
