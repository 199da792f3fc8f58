//! Questions to the user on the terminal.
//!
//! [`confirm`] asks once before a command removes much; [`chooser`] lets the user choose, group by group, which files
//! to keep. Neither changes a file. A script is never asked, so that it cannot hang.

pub(crate) mod chooser;
pub(crate) mod confirm;
