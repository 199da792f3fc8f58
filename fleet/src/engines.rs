//! Runs SQL queries over the newest exports.
//!
//! Every engine has the same tables, described in `docs/fleet.md`. A query only reads. The results go row by row
//! to the caller, which decides how to print them.

mod functions;
mod local;
mod tables;

use std::error::Error;

use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;

pub(crate) use tables::Tables;

/// A part of the result of a query.
pub(crate) enum Step<'a> {
    /// The columns. First part of each result.
    Begin(&'a Schema),
    /// Some rows.
    Rows(&'a RecordBatch),
    /// Last part of each result.
    End,
}

/// Receives the results of the queries, one after the other. An error ends the run.
pub(crate) type Sink<'a> = dyn FnMut(Step<'_>) -> Result<(), Box<dyn Error>> + 'a;

/// Queries, and what they are about.
pub(crate) struct Job<'a> {
    pub(crate) tables: &'a Tables,
    pub(crate) queries: &'a [String],
    /// Largest amount of memory of a query in this process, in bytes.
    pub(crate) memory: u64,
}

impl Job<'_> {
    /// Runs the queries.
    ///
    /// # Errors
    ///
    /// Fails if a query is not valid, does more than read, or cannot be run, for example because it needs too
    /// much memory. The message is one line for the user. Also fails if `sink` does. The results of earlier
    /// queries, and the first rows of this one, may have gone to `sink`.
    pub(crate) fn run(&self, sink: &mut Sink<'_>) -> Result<(), Box<dyn Error>> {
        local::run(self, sink)
    }
}
