//! Reads data files in CSV, compressed with gzip. The files have no header; the manifest names the fields.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;

use csv::{ByteRecord, ReaderBuilder};
use flate2::bufread::MultiGzDecoder;
use jiff::Timestamp;
use percent_encoding::percent_decode;

use super::row::Row;

/// The places of the fields that matter.
struct Fields {
    bucket: usize,
    key: usize,
    size: Option<usize>,
    modified: Option<usize>,
    etag: Option<usize>,
    is_latest: Option<usize>,
    is_delete_marker: Option<usize>,
    is_multipart: Option<usize>,
    encryption: Option<usize>,
}

/// Calls `each` for every row. `schema` is the list of fields in the manifest.
///
/// # Errors
///
/// Fails if the file cannot be read, if a row is not valid, or if `each` fails.
pub(super) fn each_row(
    file: File,
    schema: &str,
    each: &mut impl FnMut(Row<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let fields = Fields::new(schema)?;
    let gzip = MultiGzDecoder::new(BufReader::new(file));
    let mut reader = ReaderBuilder::new().has_headers(false).from_reader(gzip);
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(|e| e.to_string())? {
        let row = fields.row(&record).map_err(|reason| {
            let line = record.position().map_or(0, csv::Position::line);
            format!("line {line}: {reason}")
        })?;
        each(row)?;
    }
    Ok(())
}

impl Fields {
    fn new(schema: &str) -> Result<Fields, String> {
        let names: Vec<&str> = schema.split(',').map(str::trim).collect();
        let find = |name: &str| names.iter().position(|field| *field == name);
        let needed = |name| find(name).ok_or_else(|| format!("the inventory has no field {name}"));
        Ok(Fields {
            bucket: needed("Bucket")?,
            key: needed("Key")?,
            size: find("Size"),
            modified: find("LastModifiedDate"),
            etag: find("ETag"),
            is_latest: find("IsLatest"),
            is_delete_marker: find("IsDeleteMarker"),
            is_multipart: find("IsMultipartUploaded"),
            encryption: find("EncryptionStatus"),
        })
    }

    fn row<'r>(&self, record: &'r ByteRecord) -> Result<Row<'r>, String> {
        let text = |at: Option<usize>| -> Result<Option<&'r str>, String> {
            let field = at.and_then(|at| record.get(at)).filter(|field| !field.is_empty());
            let text = field.map(std::str::from_utf8).transpose();
            text.map_err(|_| "a field is not UTF-8".into())
        };
        let flag = |at| -> Result<Option<bool>, String> {
            Ok(text(at)?.map(|flag| flag.eq_ignore_ascii_case("true")))
        };
        let size = |text: &str| text.parse().map_err(|_| format!("{text:?} is not a size"));
        let time = |text: &str| -> Result<i64, String> {
            let time = text.parse::<Timestamp>().map_err(|e| e.to_string())?;
            i64::try_from(time.as_nanosecond()).map_err(|_| format!("{text} is out of range"))
        };
        Ok(Row {
            bucket: text(Some(self.bucket))?.unwrap_or_default().into(),
            key: decoded(record.get(self.key).unwrap_or_default()),
            size: text(self.size)?.map(size).transpose()?,
            mtime_ns: text(self.modified)?.map(time).transpose()?,
            etag: text(self.etag)?.map(Cow::from),
            is_latest: flag(self.is_latest)?,
            is_delete_marker: flag(self.is_delete_marker)?,
            is_multipart: flag(self.is_multipart)?,
            encryption: text(self.encryption)?.map(Cow::from),
        })
    }
}

/// Decodes a key. In CSV, keys are encoded like the data of web forms, with a plus sign for each space.
fn decoded(key: &[u8]) -> Vec<u8> {
    let spaced: Vec<u8> = key.iter().map(|&byte| if byte == b'+' { b' ' } else { byte }).collect();
    percent_decode(&spaced).collect()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn keys_are_decoded_as_in_forms() {
        assert_eq!(decoded(b"run+books/a%2Bb%20%25.txt"), b"run books/a+b %.txt");
        assert_eq!(decoded("%ED%95%9C".as_bytes()), "한".as_bytes());
        assert_eq!(decoded(b"%FF%zz"), b"\xff%zz");
    }
}
