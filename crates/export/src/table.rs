//! Writes and reads the Parquet files of a table.

pub(crate) mod reader;
pub(crate) mod values;
pub(crate) mod writer;
