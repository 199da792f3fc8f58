//! Notes which directories change between two scans, and answers questions about them.
//!
//! A [`Watcher`] watches the roots of one catalog, and keeps its notes in memory. A scan calls
//! [`ask`], which connects to the watcher of the catalog through a Unix socket. The answer names
//! everything that has changed since the previous scan, or says that the changes are unknown.
//! [`ask_unseen`] returns the changes that no scan has seen yet, and does not change the notes.
//!
//! | module | contents |
//! |---|---|
//! | `watcher` | the event loop: reads events, answers questions |
//! | `area` | the roots and the mounts below them, and the means of watching each of them |
//! | `fanotify`, `inotify` | the two sources of events |
//! | `notes` | the noted changes, in bounded memory |
//! | `answer` | positions and answers |
//! | `client`, `protocol`, `socket` | the connection between a scan and a watcher |
//! | `status` | the number of changes, which other threads can read, and the request to stop |
//! | `paths` | comparison of paths |
//!
//! # Order
//!
//! The kernel queues an event before the system call that caused it returns. A watcher reads all
//! queued events before it answers, so an answer covers everything that happened before the
//! question. The watcher numbers the changes, and uses no clock to order them.
//!
//! This crate neither scans nor decides when to scan. It changes no files except its socket and its
//! lock.

mod answer;
mod area;
mod client;
mod fanotify;
mod inotify;
mod notes;
mod paths;
mod protocol;
mod socket;
mod status;
mod watcher;

pub use answer::{Answer, ChangedDir, Changes, Counts, Entries, Position, Unknown, Unseen};
pub use area::{Means, Watched};
pub use client::{NoWatcher, ask, ask_unseen};
pub use socket::watcher_paths;
pub use status::{Control, Status};
pub use watcher::{Options, StartError, Watcher};
