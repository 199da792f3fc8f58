//! The arguments of `lop-fleet sql`.

use std::path::PathBuf;

use clap::Args;
use runtime::quantity::parse_size;

use crate::engines::Engine;
use crate::formats::Format;

/// Query the newest exports of all hosts with SQL
///
/// The tables are inodes, names, dirs, contents, problems, hosts and volumes. The first five have the columns of the
/// exports. 'SHOW TABLES' lists the tables, and 'SHOW COLUMNS FROM inodes' lists the columns of one.
///
/// lop-fleet runs only queries that read. It prints bytes, such as digests and names, as hexadecimal digits.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  lop-fleet sql /srv/fleet 'SELECT host, count(*) FROM inodes GROUP BY host'
  lop-fleet sql /srv/fleet --file groups.sql --format csv --output groups.csv
  lop-fleet sql --engine spark://head:7077 /srv/fleet --file groups.sql")]
pub(crate) struct SqlArgs {
    /// Folder with the exports of all hosts
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// The query
    #[arg(value_name = "QUERY", required_unless_present = "files", conflicts_with = "files")]
    pub(crate) query: Option<String>,

    /// Read the query from FILE.sql; can be repeated
    ///
    /// lop-fleet prints the results of several files one after the other, as tables or as JSON.
    #[arg(long = "file", value_name = "FILE.sql")]
    pub(crate) files: Vec<PathBuf>,

    /// Query only this host; can be repeated [default: all hosts]
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,

    /// How to print the rows [default: table, or json with --json]
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub(crate) format: Option<Format>,

    /// Write the rows to a new file; required for parquet
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Engine for the query: local (this process), or spark://HOST:PORT (a Spark cluster)
    ///
    /// For a cluster, lop-fleet runs spark-submit. All workers must be able to read DIR at the same path.
    #[arg(long, value_name = "ENGINE", default_value = "local")]
    pub(crate) engine: Engine,

    /// Use at most this much memory; has no effect with Spark
    ///
    /// A query that needs more fails. Equal files have the same number in the column 'bucket', from 0 to 255. A query
    /// that groups or joins equal files can therefore process some buckets at a time.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "1G")]
    pub(crate) memory: u64,
}
