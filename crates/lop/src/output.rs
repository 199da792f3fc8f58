//! Output: results, problems and summaries, and the formats in which they are printed.
//!
//! | module | what it does |
//! |---|---|
//! | [`stdout`] | Writes results to standard output and reports when that fails. |
//! | [`stream`] | Knows the standard streams: colours, escaping, messages on standard error. |
//! | [`names`] | Escapes file names that could disturb a terminal or forge a line of a log. |
//! | [`formats`] | Writes groups, lists and plans as text, `fdupes`, JSON, CSV or NUL-separated paths. |
//! | [`problems`] | Prints files and directories that a command could not deal with. |
//! | [`scan_summary`] | Sums up a scan in a few lines. |
//! | [`stats`], [`devices`] | The figures for `--stats` and what was measured of each device. |
//! | [`usage`] | Prints errors of the argument parser like every other error. |

pub(crate) mod devices;
pub(crate) mod formats;
pub(crate) mod names;
pub(crate) mod problems;
pub(crate) mod scan_summary;
pub(crate) mod stats;
pub(crate) mod stdout;
pub(crate) mod stream;
pub(crate) mod usage;
