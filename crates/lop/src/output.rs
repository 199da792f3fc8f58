//! Output: results, problems and summaries, and the formats in which they are printed.
//!
//! | module | what it does |
//! |---|---|
//! | [`stdout`] | Writes results to standard output and handles write errors. |
//! | [`stream`] | Describes the standard streams (colours, escaping) and writes messages to standard error. |
//! | [`names`] | Escapes file names that could disturb a terminal or forge a line of a log. |
//! | [`formats`] | Writes groups, lists and plans as text, `fdupes`, JSON, CSV or NUL-separated paths. |
//! | [`problems`] | Prints the paths that a command could not process, with the reason. |
//! | [`scan_summary`] | Summarises a scan in a few lines. |
//! | [`stats`], [`devices`] | Collect the figures for `--stats` and the measurements of each device. |
//! | [`status_line`] | Shows the state of a command that runs for a long time. |
//! | [`usage`] | Prints errors of the argument parser in the format of all other errors. |

pub(crate) mod devices;
pub(crate) mod formats;
pub(crate) mod names;
pub(crate) mod problems;
pub(crate) mod scan_summary;
pub(crate) mod stats;
pub(crate) mod status_line;
pub(crate) mod stdout;
pub(crate) mod stream;
pub(crate) mod terminal;
pub(crate) mod usage;
