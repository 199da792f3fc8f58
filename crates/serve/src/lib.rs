//! Serves the pages on which a person reviews the groups in a catalog, decides which files to keep,
//! and acts on the duplicates.
//!
//! The server reads the catalog, stores decisions, and opens single files to show them. Child processes
//! that run lop itself do all other work on files ([`jobs`]), so a run has the same plan, comparison,
//! journal and locks as on the command line, and survives the server.
//!
//! | Module | Contents |
//! |---|---|
//! | `server` | the socket, connections and their limits |
//! | `stall` | ends connections to clients that stop reading |
//! | `gate` | decides which requests may pass: host, token, origin; response headers |
//! | `api` | JSON requests from scripts, and their responses |
//! | `app` | state that all handlers share |
//! | `assets` | style sheet, scripts and icon, embedded in the program |
//! | `compress` | gzip for text |
//! | `attachment` | files that the browser saves |
//! | `open_problem` | why a file could not be opened |
//! | `frame`, `layout` | the frame of every page; heads, error pages and names |
//! | `quantity` | sizes, counts and times as pages show them |
//! | `pages` | one module per page, with its routes |
//! | [`jobs`] | child processes, their progress and results |
//!
//! # Security
//!
//! Every request passes the gate first, including requests for static files. A request needs a host
//! name that belongs to this server, which prevents DNS rebinding, and either the token or the cookie
//! that the token was exchanged for. A request with the cookie that changes anything must also come from a
//! page of this server. Browsers refer to files by numbers from the catalog, never by paths.

mod api;
mod app;
mod assets;
mod attachment;
mod compress;
mod error;
mod error_page;
mod frame;
mod gate;
mod hash;
pub mod jobs;
mod layout;
mod open_problem;
mod options;
mod pages;
mod quantity;
mod server;
mod stall;
#[cfg(test)]
mod testing;

pub use error::Error;
pub use options::{Options, RateLimits};
pub use server::{Server, Stopper};
