//! Writes lists of files, for commands that answer with files rather than groups.

use std::io::{self, Write};

use content::Digest;
use serde::Serialize;

use super::{JsonList, JsonPath};
use crate::args::Format;
use crate::output::stream::Stream;

/// A file of a list.
#[derive(Clone, Debug)]
pub(crate) struct Listed {
    /// The path.
    pub(crate) path: Vec<u8>,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The number of other inodes with the same content, if known.
    pub(crate) duplicates: Option<u64>,
    /// The BLAKE3 digest of the content, if known.
    pub(crate) digest: Option<Digest>,
    /// A short remark about the file.
    pub(crate) state: Option<&'static str>,
}

/// A file of a list in JSON.
#[derive(Serialize)]
pub(crate) struct JsonListed<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    size: u64,
    duplicates: Option<u64>,
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'static str>,
}

impl<'a> From<&'a Listed> for JsonListed<'a> {
    fn from(file: &'a Listed) -> Self {
        JsonListed {
            path: JsonPath::new(&file.path),
            size: file.size,
            duplicates: file.duplicates,
            digest: file.digest.map(|digest| digest.to_string()),
            state: file.state,
        }
    }
}

/// Writes a list of files; `summary` is JSON. `text` and `fdupes` have one path per line; `text` adds the remark about
/// a file.
pub(crate) fn write_list(
    format: Format,
    mut out: impl Write,
    stream: Stream,
    files: &[Listed],
    summary: &str,
) -> io::Result<()> {
    match format {
        Format::Text | Format::Fdupes => {
            for file in files {
                out.write_all(&stream.names.show_line(&file.path))?;
                if let Some(state) = file.state.filter(|_| format == Format::Text) {
                    write!(out, "  ({state})")?;
                }
                out.write_all(b"\n")?;
            }
            Ok(())
        }
        Format::Nul => {
            for file in files {
                out.write_all(&file.path)?;
                out.write_all(&[0])?;
            }
            Ok(())
        }
        Format::Json => write_json(out, files, summary),
        Format::Csv => write_csv(out, files),
    }
}

fn write_json(out: impl Write, files: &[Listed], summary: &str) -> io::Result<()> {
    let mut list = JsonList::new(out, "files");
    files.iter().try_for_each(|file| list.item(&JsonListed::from(file)))?;
    list.finish(summary)
}

fn write_csv(out: impl Write, files: &[Listed]) -> io::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(["size", "duplicates", "digest", "state", "path"])?;
    for file in files {
        let duplicates = file.duplicates.map(|n| n.to_string()).unwrap_or_default();
        let digest = file.digest.map(|d| d.to_string()).unwrap_or_default();
        csv.write_record([
            file.size.to_string().as_bytes(),
            duplicates.as_bytes(),
            digest.as_bytes(),
            file.state.unwrap_or_default().as_bytes(),
            file.path.as_slice(),
        ])?;
    }
    csv.flush()
}
