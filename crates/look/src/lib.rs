//! A terminal interface over the catalog: space by directory, groups of identical files and the decisions
//! about them, related folders, unique files, and runs.
//!
//! [`run`] takes over a terminal until the user quits. The interface reads the catalog, records decisions,
//! and starts lop processes for all other work, so a run has the same plan, comparison, journal and locks as
//! on the command line. It does not act on files itself.
//!
//! Each layer uses only those below it:
//!
//! | module | contents |
//! |---|---|
//! | `session` | the event loop: receives keys and signals, draws, and starts work |
//! | `terminal` | raw mode, the alternate screen, input, signals, suspending |
//! | `screen` | draws the state into a buffer |
//! | `app` | the state of the whole interface |
//! | `views` | one state machine per list, without access to the terminal |
//! | `effect` | work that the state leaves to the event loop, and questions to the user |
//! | `work` | threads that read the catalog, and lop processes |
//! | `bindings` | the keys and their actions, which the help lists |
//! | `key` | keys, and the bytes that terminals send for them |
//! | `list`, `text` | cursors and windows of lists; names and columns as text |

mod app;
mod bindings;
mod effect;
mod error;
mod key;
mod list;
mod screen;
mod session;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod views;
mod work;

pub use error::Error;
pub use session::{End, Options, run};
