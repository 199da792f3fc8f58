//! Reads data files in Parquet.

use std::fs::File;

use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;

use super::row::Row;

/// Calls `each` for every row.
///
/// # Errors
///
/// Fails if the file is damaged, or if `each` fails.
pub(super) fn each_row(
    file: File,
    each: &mut impl FnMut(Row<'_>) -> Result<(), String>,
) -> Result<(), String> {
    let reader = SerializedFileReader::new(file).map_err(|e| e.to_string())?;
    for row in reader.get_row_iter(None).map_err(|e| e.to_string())? {
        let row = row.map_err(|e| e.to_string())?;
        let mut read = Row::default();
        for (name, field) in row.get_column_iter() {
            set(&mut read, name, field)?;
        }
        each(read)?;
    }
    Ok(())
}

fn set<'r>(row: &mut Row<'r>, name: &str, field: &'r Field) -> Result<(), String> {
    let text = || match field {
        Field::Str(text) => Some(text.as_str().into()),
        _ => None,
    };
    let flag = match field {
        Field::Bool(flag) => Some(*flag),
        _ => None,
    };
    match name {
        "bucket" => row.bucket = text().unwrap_or_default(),
        "key" => {
            row.key = match field {
                Field::Str(key) => key.clone().into_bytes(),
                Field::Bytes(key) => key.data().to_vec(),
                _ => return Err("a row has no key".into()),
            }
        }
        "size" => row.size = integer(field).and_then(|size| u64::try_from(size).ok()),
        "last_modified_date" => row.mtime_ns = time(field),
        "e_tag" => row.etag = text(),
        "is_latest" => row.is_latest = flag,
        "is_delete_marker" => row.is_delete_marker = flag,
        "is_multipart_uploaded" => row.is_multipart = flag,
        "encryption_status" => row.encryption = text(),
        _ => {}
    }
    Ok(())
}

fn integer(field: &Field) -> Option<i64> {
    match *field {
        Field::Int(number) => Some(number.into()),
        Field::Long(number) => Some(number),
        _ => None,
    }
}

/// Returns a time in nanoseconds since the epoch.
fn time(field: &Field) -> Option<i64> {
    match *field {
        Field::TimestampMillis(ms) => ms.checked_mul(1_000_000),
        Field::TimestampMicros(us) => us.checked_mul(1000),
        _ => None,
    }
}
