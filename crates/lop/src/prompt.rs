//! Questions to the user on the terminal.
//!
//! [`confirm`] asks once before a command removes many entries. [`chooser`] lets the user choose, group by group,
//! which files to keep. Neither changes files. Scripts are never asked, so questions cannot make them hang.

pub(crate) mod chooser;
pub(crate) mod confirm;
