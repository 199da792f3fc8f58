//! Comma-separated values (RFC 4180).
//!
//! NULL is an empty field, and an empty text is `""`.

use std::borrow::Cow;
use std::error::Error;
use std::io::Write;

use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::record_batch::RecordBatch;

use super::Cells;
use crate::output::escaped_text;

/// Writes the names of the columns.
pub(super) fn header(
    schema: &Schema,
    escapes: bool,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let names = schema.fields().iter().map(|field| field_of(field.name(), escapes));
    write_line(&names.collect::<Vec<_>>(), out)
}

/// Writes some rows.
pub(super) fn rows(
    rows: &RecordBatch,
    escapes: bool,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let cells = Cells::new(rows)?;
    for row in 0..rows.num_rows() {
        let fields = (0..rows.num_columns()).map(|column| {
            let value = cells.get(row, column)?;
            Ok(value.map_or_else(String::new, |value| field_of(&value, escapes)))
        });
        write_line(&fields.collect::<Result<Vec<_>, Box<dyn Error>>>()?, out)?;
    }
    Ok(())
}

fn write_line(fields: &[String], out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    Ok(write!(out, "{}\r\n", fields.join(","))?)
}

fn field_of(value: &str, escapes: bool) -> String {
    let value = if escapes { escaped_text(value) } else { Cow::Borrowed(value) };
    if !value.is_empty() && !value.contains(['"', ',', '\r', '\n']) {
        return value.into_owned();
    }
    format!("\"{}\"", value.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::field_of;

    #[test]
    fn fields_are_quoted_if_necessary() {
        assert_eq!(field_of("a b", false), "a b");
        assert_eq!(field_of("", false), "\"\"");
        assert_eq!(field_of("a,\"b\"\n", false), "\"a,\"\"b\"\"\n\"");
        assert_eq!(field_of("a\u{1b}[m", false), "a\u{1b}[m");
        assert!(!field_of("a\u{1b}[m", true).contains('\u{1b}'));
    }
}
