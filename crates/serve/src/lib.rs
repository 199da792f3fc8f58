//! Serves the pages on which a person reviews the groups in a catalog, decides which files to keep,
//! and acts on the duplicates.
//!
//! The server reads the catalog, writes decisions, and opens single files to show them. All other
//! work on files is done by child processes that run lop itself ([`jobs`]), so a run has the same
//! plan, comparison, journal and locks as on the command line, and survives the server.
//!
//! | Module | Contents |
//! |---|---|
//! | `server` | the socket, connections and their limits |
//! | `stall` | ends connections to clients that stop reading |
//! | `gate` | decides which requests may pass: host, token, origin; response headers |
//! | `api` | JSON requests and answers of scripts |
//! | `tls`, `private_file` | the certificate of the server, and the files that keep its secrets |
//! | `app` | what all handlers share |
//! | `assets` | style sheet, scripts and icon, embedded in the program |
//! | `compress` | gzip for text |
//! | `attachment` | files that the browser saves |
//! | `frame`, `layout` | the frame of every page; heads, error pages and names |
//! | `quantity` | sizes, counts and times as pages show them |
//! | `pages` | one module per page, with its routes |
//! | [`jobs`] | child processes, their progress and results |
//!
//! # Security
//!
//! Every request passes the gate before anything else looks at it, static files too. A request needs
//! a host name that belongs to this server, so that DNS rebinding does not work, and the token or the
//! cookie that the token was exchanged for. A request that changes anything must also come from a page
//! of this server. Browsers name files by numbers of the catalog, never by paths.

mod api;
mod app;
mod assets;
mod attachment;
mod compress;
mod error;
mod frame;
mod gate;
mod hash;
pub mod jobs;
mod layout;
mod options;
mod pages;
mod private_file;
mod quantity;
mod server;
mod stall;
#[cfg(test)]
mod testing;
mod tls;

pub use error::Error;
pub use options::Options;
pub use server::{Server, Stopper};
