//! The width of a terminal.

use std::os::fd::AsFd;

/// Width of a terminal that does not report its size, and of output that does not go to a terminal.
const DEFAULT_COLUMNS: usize = 80;

/// Returns the width of a terminal in columns, or the default if there is no terminal.
pub(crate) fn columns(terminal: Option<impl AsFd>) -> usize {
    terminal
        .and_then(|terminal| rustix::termios::tcgetwinsize(terminal).ok())
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
        .unwrap_or(DEFAULT_COLUMNS)
}
