//! Prints the rows of a query as a table, as CSV, as JSON or as Parquet.
//!
//! Rows are printed as they arrive. Only the format `table` first collects some rows, to choose the widths of the
//! columns.

mod csv;
mod json;
mod text;

use std::error::Error;
use std::io::{self, Write};

use clap::ValueEnum;
use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::arrow::arrow_writer::ArrowWriterOptions;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::errors::ParquetError;
use datafusion::parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::engines::Step;

/// How rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Columns of text for people
    Table,
    /// Comma-separated values with a header (RFC 4180)
    Csv,
    /// One JSON document on one line
    Json,
    /// A Parquet file
    Parquet,
}

/// Prints the results of queries, one after the other.
pub(crate) struct Printer<W: Write + Send> {
    format: Format,
    /// True if characters that could disturb a terminal are escaped.
    escapes: bool,
    /// `None` while a Parquet writer owns the output.
    out: Option<W>,
    result: Option<Printing<W>>,
}

/// The result that is being printed.
enum Printing<W: Write + Send> {
    Table(text::Table),
    Csv,
    Json(json::Rows),
    Parquet(Box<ArrowWriter<W>>),
}

impl<W: Write + Send> Printer<W> {
    /// Returns a printer that writes to `out`.
    pub(crate) fn new(format: Format, escapes: bool, out: W) -> Printer<W> {
        Printer { format, escapes, out: Some(out), result: None }
    }

    /// Prints a part of a result.
    ///
    /// # Errors
    ///
    /// Fails with an [`io::Error`] if the output cannot be written. Also fails if a column has a type that Parquet
    /// lacks.
    pub(crate) fn print(&mut self, step: &Step<'_>) -> Result<(), Box<dyn Error>> {
        match step {
            Step::Begin(schema) => self.begin(schema),
            Step::Rows(rows) => self.rows(rows),
            Step::End => self.end(),
        }
        .map_err(without_cover)
    }

    /// Returns the output. Call this after all results.
    pub(crate) fn into_output(self) -> Option<W> {
        self.out
    }

    fn begin(&mut self, schema: &Schema) -> Result<(), Box<dyn Error>> {
        let Some(out) = &mut self.out else { return Ok(()) };
        self.result = Some(match self.format {
            Format::Table => Printing::Table(text::Table::new(schema)),
            Format::Csv => {
                csv::header(schema, self.escapes, out)?;
                Printing::Csv
            }
            Format::Json => Printing::Json(json::Rows::begin(schema, out)?),
            Format::Parquet => Printing::Parquet(Box::new(parquet(schema, self.out.take())?)),
        });
        Ok(())
    }

    fn rows(&mut self, rows: &RecordBatch) -> Result<(), Box<dyn Error>> {
        match (&mut self.result, &mut self.out) {
            (Some(Printing::Parquet(writer)), _) => writer.write(rows)?,
            (Some(Printing::Table(table)), Some(out)) => table.add(rows, out)?,
            (Some(Printing::Csv), Some(out)) => csv::rows(rows, self.escapes, out)?,
            (Some(Printing::Json(json)), Some(out)) => json.add(rows, out)?,
            (None, _) | (_, None) => {}
        }
        Ok(())
    }

    fn end(&mut self) -> Result<(), Box<dyn Error>> {
        match (self.result.take(), &mut self.out) {
            (Some(Printing::Parquet(writer)), out) => *out = Some(writer.into_inner()?),
            (Some(Printing::Table(table)), Some(out)) => table.end(out)?,
            (Some(Printing::Json(_)), Some(out)) => json::end(out)?,
            (Some(Printing::Csv) | None, _) | (_, None) => {}
        }
        self.out.as_mut().map_or(Ok(()), |out| Ok(out.flush()?))
    }
}

/// Returns the I/O error of the output that a Parquet error contains.
fn without_cover(error: Box<dyn Error>) -> Box<dyn Error> {
    match error.downcast::<ParquetError>().map(|error| *error) {
        Ok(ParquetError::External(source)) => match source.downcast::<io::Error>() {
            Ok(error) => error,
            Err(source) => source,
        },
        Ok(error) => error.into(),
        Err(error) => error,
    }
}

/// Begins a Parquet file that all engines read. The file has no page index, like those of `lop export`.
fn parquet<W: Write + Send>(
    schema: &Schema,
    out: Option<W>,
) -> Result<ArrowWriter<W>, Box<dyn Error>> {
    let out = out.ok_or("the output is in use")?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .build();
    let options =
        ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
    Ok(ArrowWriter::try_new_with_options(out, schema.clone().into(), options)?)
}

/// Returns whether a column contains numbers.
fn is_number(kind: &DataType) -> bool {
    kind.is_numeric()
}

/// The columns of some rows, as text. Bytes are lower-case hexadecimal digits.
struct Cells<'a> {
    rows: &'a RecordBatch,
    columns: Vec<ArrayFormatter<'a>>,
}

impl<'a> Cells<'a> {
    fn new(rows: &'a RecordBatch) -> Result<Cells<'a>, ArrowError> {
        const OPTIONS: FormatOptions<'_> = FormatOptions::new().with_display_error(false);
        let columns = rows.columns().iter().map(|column| ArrayFormatter::try_new(column, &OPTIONS));
        Ok(Cells { rows, columns: columns.collect::<Result<_, _>>()? })
    }

    /// Returns the value in a row of a column; `None` for NULL.
    fn get(&self, row: usize, column: usize) -> Result<Option<String>, ArrowError> {
        let values = self.rows.column(column);
        // A column of the type NULL has no bitmap that marks its NULLs.
        if values.logical_nulls().is_some_and(|nulls| nulls.is_null(row)) {
            return Ok(None);
        }
        if let Some(texts) = values.as_string_view_opt() {
            return Ok(Some(texts.value(row).to_owned()));
        }
        self.columns[column].value(row).try_to_string().map(Some)
    }
}
