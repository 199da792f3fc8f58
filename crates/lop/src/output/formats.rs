//! Writes groups of duplicates in five formats, one group at a time.
//!
//! Commands push their results file by file into a [`GroupWriter`], so no result has to be held in memory for printing.
//! `docs/formats.md` documents the formats for users.
//!
//! # Names
//!
//! Every format can represent every file name. The formats with one path per line escape a newline in a path as GNU
//! `sha256sum` does ([`Names::show_line`]). On a terminal, all names are escaped ([`Names`]).

mod delimited;
mod document;
mod folders;
mod json;
mod list;
mod plan;
mod tabular;
mod text;

use std::io::{self, Write};

use content::Digest;

use crate::args::Format;
use crate::output::names::Names;
use crate::output::stream::Stream;

pub(crate) use document::{
    FORMAT_VERSION, JsonList, JsonPath, document, document_with, is_zero, summary_document, to_json,
};
pub(crate) use folders::write_related;
pub(crate) use list::{Listed, write_list};
pub(crate) use plan::PlanWriter;

/// The properties of a group, without its files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupHead {
    /// The size of each file, in bytes.
    pub(crate) size: u64,
    /// The BLAKE3 digest of the content, if known.
    pub(crate) digest: Option<Digest>,
    /// Number of files of the group.
    pub(crate) files: u64,
    /// Number of distinct inodes among the files.
    pub(crate) inodes: u64,
    /// Disk space in bytes that would be freed if only one file remained.
    pub(crate) reclaimable_bytes: u64,
}

/// Writes groups in one format.
///
/// For every group, callers MUST call `begin`, then `file` once per file, then `end`. They MUST call `finish` exactly
/// once, after the last group.
pub(crate) trait GroupWriter {
    /// Starts a group.
    fn begin(&mut self, group: &GroupHead) -> io::Result<()>;
    /// Writes one file of the group. `mark` is a short remark about the file.
    fn file(&mut self, path: &[u8], mark: Option<&str>) -> io::Result<()>;
    /// Ends the group.
    fn end(&mut self) -> io::Result<()>;
    /// Ends the output. `summary` is a JSON text for the formats that include a summary.
    fn finish(&mut self, summary: &str) -> io::Result<()>;
}

/// Returns the writer for a format.
pub(crate) fn writer<'a>(
    format: Format,
    out: impl Write + 'a,
    stream: Stream,
) -> Box<dyn GroupWriter + 'a> {
    let names = stream.names;
    match format {
        Format::Text => Box::new(text::Text::new(out, stream)),
        Format::Fdupes => Box::new(delimited::Delimited::new(out, b'\n', names)),
        Format::Nul => Box::new(delimited::Delimited::new(out, 0, names)),
        Format::Csv => Box::new(tabular::Csv::new(out, names)),
        Format::Json => Box::new(json::Json::new(out)),
    }
}

#[cfg(test)]
mod tests;
