//! Groups of duplicates on their way out, in five formats, one group at a time.
//!
//! The commands push what they have into a [`GroupWriter`], file by file, so nothing is gathered
//! for printing. `docs/formats.md` describes the formats for those who read them.
//!
//! # Names
//!
//! Every format carries any name; the ones with a path a line escape a newline in it as GNU
//! `sha256sum` does ([`Names::show_line`]). On a terminal names are escaped ([`Names`]).

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
    FORMAT_VERSION, JsonList, JsonPath, document, summary_document, to_json,
};
pub(crate) use folders::write_related;
pub(crate) use list::{JsonListed, Listed, write_list};
pub(crate) use plan::PlanWriter;

/// What is known of a group but for its files.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GroupHead {
    /// Size of each file, in bytes.
    pub(crate) size: u64,
    /// BLAKE3 of the content, if known.
    pub(crate) digest: Option<Digest>,
    /// How many files follow.
    pub(crate) files: u64,
    /// How many inodes they are.
    pub(crate) inodes: u64,
    /// Bytes that keeping a single copy would free.
    pub(crate) reclaimable_bytes: u64,
}

/// Writes groups in one format.
///
/// Calls MUST come as `begin`, `file` once per file, `end`, for every group, and `finish` exactly
/// once at the end.
pub(crate) trait GroupWriter {
    /// Starts a group.
    fn begin(&mut self, group: &GroupHead) -> io::Result<()>;
    /// Writes one file of the group; `mark` says in a word what is odd about it.
    fn file(&mut self, path: &[u8], mark: Option<&str>) -> io::Result<()>;
    /// Ends the group.
    fn end(&mut self) -> io::Result<()>;
    /// Ends the output; `summary` is JSON, for formats that have a place for it.
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
