//! Runs SQL queries over the newest exports.
//!
//! Every engine provides the same tables, which `docs/fleet.md` describes. A query only reads. The caller receives the
//! results row by row, and decides how to print them.

mod functions;
mod local;
mod spark;
mod tables;

use std::error::Error;
use std::str::FromStr;

use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;

pub(crate) use tables::Tables;

/// A part of the result of a query.
pub(crate) enum Step<'a> {
    /// The columns, which are the first part of each result.
    Begin(&'a Schema),
    /// Some rows.
    Rows(&'a RecordBatch),
    /// The end of a result.
    End,
}

/// Receives the results of the queries, one after the other. An error ends the run.
pub(crate) type Sink<'a> = dyn FnMut(Step<'_>) -> Result<(), Box<dyn Error>> + 'a;

/// The engine that runs queries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    /// This process.
    Local,
    /// The Spark cluster whose master has this URL, such as `spark://host:7077`.
    Spark(String),
}

impl FromStr for Engine {
    type Err = String;

    fn from_str(text: &str) -> Result<Engine, String> {
        if text == "local" {
            return Ok(Engine::Local);
        }
        let address = text.strip_prefix("spark://");
        let is_plain =
            |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
        // Several masters are separated by commas.
        let is_master = |master: &str| {
            let (host, port) = master.rsplit_once(':').unwrap_or_default();
            !host.is_empty() && host.chars().all(is_plain) && port.parse::<u16>().is_ok()
        };
        match address {
            Some(masters) if masters.split(',').all(is_master) => {
                Ok(Engine::Spark(text.to_owned()))
            }
            _ => Err("use 'local' or the URL of a master, such as spark://host:7077".into()),
        }
    }
}

/// Queries, with the engine and the tables for them.
pub(crate) struct Job<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) tables: &'a Tables,
    pub(crate) queries: &'a [String],
    /// Maximum amount of memory in bytes that a query may use in this process.
    pub(crate) memory: u64,
}

impl Job<'_> {
    /// Runs the queries.
    ///
    /// # Errors
    ///
    /// Fails if a query is not valid, does more than read, or cannot be run, for example because it needs too much
    /// memory. The message is one line for the user. Also fails if `sink` fails. `sink` may have received the results
    /// of earlier queries and the first rows of the failed query.
    pub(crate) fn run(&self, sink: &mut Sink<'_>) -> Result<(), Box<dyn Error>> {
        match self.engine {
            Engine::Local => local::run(self, sink),
            Engine::Spark(master) => spark::run(self, master, sink),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Engine;

    #[test]
    fn an_engine_is_local_or_the_url_of_a_master() {
        assert_eq!("local".parse(), Ok(Engine::Local));
        for master in ["spark://host:7077", "spark://[::1]:7077", "spark://a:1,b:2"] {
            assert_eq!(master.parse(), Ok(Engine::Spark(master.to_owned())));
        }
        for other in
            ["", "local[2]", "yarn", "spark://", "spark://host", "spark://a b:1", "spark://-h:x"]
        {
            assert!(other.parse::<Engine>().is_err(), "{other}");
        }
    }
}
