//! Reads the rows that `queries.py` has written.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, Lines};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BinaryArray, BooleanArray, Float64Array, Int64Array, StringViewArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use serde_json::Value;

use crate::engines::{Sink, Step};

/// Number of rows in a batch.
const BATCH_ROWS: usize = 8192;

/// Passes the rows in the file `path` to `sink`.
///
/// # Errors
///
/// Fails if the file cannot be read or has an unknown form, or if `sink` fails.
pub(super) fn read(path: &Path, sink: &mut Sink<'_>) -> Result<(), Box<dyn Error>> {
    let mut lines = BufReader::new(File::open(path)?).lines();
    let columns = lines.next().ok_or("Spark returned no columns")??;
    let columns: Vec<(String, String)> = serde_json::from_str(&columns)?;
    let field = |(name, kind): &(String, String)| Field::new(name, data_type(kind), true);
    let schema: SchemaRef = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    sink(Step::Begin(&schema))?;
    loop {
        let rows = next_rows(&mut lines)?;
        if rows.is_empty() {
            return sink(Step::End);
        }
        sink(Step::Rows(&batch(&schema, &rows)?))?;
    }
}

fn next_rows(lines: &mut Lines<BufReader<File>>) -> Result<Vec<Vec<Value>>, Box<dyn Error>> {
    lines.take(BATCH_ROWS).map(|line| Ok(serde_json::from_str(&line?)?)).collect()
}

/// Returns the type for a type of Spark. Values of all other types are text.
fn data_type(kind: &str) -> DataType {
    match kind {
        "boolean" => DataType::Boolean,
        "tinyint" | "smallint" | "int" | "bigint" => DataType::Int64,
        "float" | "double" => DataType::Float64,
        "binary" => DataType::Binary,
        _ => DataType::Utf8View,
    }
}

fn batch(schema: &SchemaRef, rows: &[Vec<Value>]) -> Result<RecordBatch, Box<dyn Error>> {
    if rows.iter().any(|row| row.len() != schema.fields().len()) {
        return Err("Spark returned a row with the wrong number of columns".into());
    }
    let column = |(number, field): (usize, &Arc<Field>)| -> ArrayRef {
        let values = rows.iter().map(|row| &row[number]);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        match field.data_type() {
            DataType::Boolean => Arc::new(values.map(Value::as_bool).collect::<BooleanArray>()),
            DataType::Int64 => Arc::new(values.map(Value::as_i64).collect::<Int64Array>()),
            DataType::Float64 => Arc::new(values.map(number_of).collect::<Float64Array>()),
            DataType::Binary => Arc::new(values.map(bytes_of).collect::<BinaryArray>()),
            _ => Arc::new(values.map(text).collect::<StringViewArray>()),
        }
    };
    let columns = schema.fields().iter().enumerate().map(column).collect();
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}

fn number_of(value: &Value) -> Option<f64> {
    value.as_str().and_then(|text| text.parse().ok())
}

fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    value.as_str().and_then(super::super::functions::bytes_of)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{bytes_of, data_type, number_of};

    #[test]
    fn values_of_spark_are_read_by_their_types() {
        assert_eq!(bytes_of(&json!("00ff")), Some(vec![0, 255]));
        assert_eq!(bytes_of(&json!(null)), None);
        assert_eq!(number_of(&json!("1.5")), Some(1.5));
        assert_eq!(number_of(&json!("inf")), Some(f64::INFINITY));
        assert!(data_type("decimal(20,0)").is_string());
    }
}
