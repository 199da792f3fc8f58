//! JSON: a document with the names of the columns and a list for each row.
//!
//! Numbers and booleans are JSON values, NULL is `null`, and everything else is text. A row is a list and not an
//! object, because two columns may have the same name.

use std::error::Error;
use std::io::Write;

use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::record_batch::RecordBatch;
use serde_json::{Number, Value};

use super::Cells;
use crate::output::escaped_json;

/// The rows of the document.
pub(super) struct Rows {
    is_first: bool,
}

impl Rows {
    /// Writes the beginning of the document.
    pub(super) fn begin(schema: &Schema, out: &mut impl Write) -> Result<Rows, Box<dyn Error>> {
        let names: Vec<&String> = schema.fields().iter().map(|field| field.name()).collect();
        let names = escaped_json(&serde_json::to_string(&names)?);
        write!(out, "{{\"format_version\":1,\"columns\":{names},\"rows\":[")?;
        Ok(Rows { is_first: true })
    }

    /// Writes some rows.
    pub(super) fn add(
        &mut self,
        rows: &RecordBatch,
        out: &mut impl Write,
    ) -> Result<(), Box<dyn Error>> {
        let cells = Cells::new(rows)?;
        let schema = rows.schema();
        let kinds: Vec<&DataType> = schema.fields().iter().map(|field| field.data_type()).collect();
        for row in 0..rows.num_rows() {
            let values = kinds.iter().enumerate().map(|(column, kind)| {
                let text = cells.get(row, column)?;
                Ok(text.map_or(Value::Null, |text| value_of(text, kind)))
            });
            let values = values.collect::<Result<Vec<_>, Box<dyn Error>>>()?;
            let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
            write!(out, "{comma}{}", escaped_json(&serde_json::to_string(&values)?))?;
        }
        Ok(())
    }
}

/// Writes the end of the document.
pub(super) fn end(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    Ok(writeln!(out, "]}}")?)
}

/// Returns a value of a column that has this type. A number that JSON lacks, such as infinity, is text.
fn value_of(text: String, kind: &DataType) -> Value {
    let number = match kind {
        DataType::Boolean => return Value::Bool(text == "true"),
        kind if kind.is_signed_integer() => text.parse::<i64>().ok().map(Number::from),
        kind if kind.is_unsigned_integer() => text.parse::<u64>().ok().map(Number::from),
        kind if kind.is_floating() => text.parse::<f64>().ok().and_then(Number::from_f64),
        _ => None,
    };
    number.map_or(Value::String(text), Value::Number)
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::datatypes::DataType;
    use serde_json::json;

    use super::value_of;

    #[test]
    fn values_keep_their_types() {
        let value = |text: &str, kind| value_of(text.to_owned(), &kind);
        assert_eq!(value("-9223372036854775808", DataType::Int64), json!(i64::MIN));
        assert_eq!(value("18446744073709551615", DataType::UInt64), json!(u64::MAX));
        assert_eq!(value("1.5", DataType::Float64), json!(1.5));
        assert_eq!(value("inf", DataType::Float64), json!("inf"));
        assert_eq!(value("true", DataType::Boolean), json!(true));
        assert_eq!(value("1", DataType::Utf8View), json!("1"));
        assert_eq!(value("1.50", DataType::Decimal128(3, 2)), json!("1.50"));
    }
}
