//! Writes lists of files, for commands whose results are files instead of groups.

use std::io::{self, Write};

use content::Digest;
use serde::{Serialize, Serializer};

use super::JsonList;
use super::document::serialize_path;
use crate::args::Format;
use crate::output::stream::Stream;

/// A file in a list.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Listed {
    /// Path as it is printed.
    #[serde(flatten, serialize_with = "serialize_path")]
    pub(crate) path: Vec<u8>,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Number of other inodes with the same content, if known.
    pub(crate) duplicates: Option<u64>,
    /// BLAKE3 digest of the content, if known.
    #[serde(serialize_with = "digest_as_text")]
    pub(crate) digest: Option<Digest>,
    /// Short remark about the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<&'static str>,
}

/// `serialize_with` requires this signature.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn digest_as_text<S: Serializer>(digest: &Option<Digest>, to: S) -> Result<S::Ok, S::Error> {
    digest.map(|digest| digest.to_string()).serialize(to)
}

/// Writes a list of files. `summary` is a JSON text. The formats `text` and `fdupes` have one path per line, and `text`
/// adds the remark about a file.
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
                let note = file.state.filter(|_| format == Format::Text).unwrap_or_default();
                stream.names.write_line(&mut out, &file.path, note)?;
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
    files.iter().try_for_each(|file| list.item(file))?;
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
