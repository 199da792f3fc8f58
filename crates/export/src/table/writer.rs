//! Writes a Parquet file row by row.
//!
//! # Compatibility
//!
//! The files have no page index: Spark, Trino and Athena returned no rows for files with one that this
//! library wrote (<https://github.com/apache/arrow-rs/issues/10316>). They have no Bloom filters either:
//! parquet-java 1.14 to 1.15.2 returned no rows for some (<https://github.com/apache/parquet-java/issues/3249>).
//! The encodings are those of the first format version, because Spark before 3.3 does not read others.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use fsops::{NewFile, Op};
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use crate::error::{At, Error, OfTable};
use crate::manifest::TableFile;
use crate::schema::{Kind, Table};

/// A row group is complete when it has this many rows. An engine can skip a row group whose buckets
/// it does not need, so a group is small enough to contain few buckets.
pub(crate) const GROUP_ROWS: usize = 64 * 1024;

/// Number of values of a column that are passed to the library at once.
const CHUNK: usize = 4096;

/// The value of a column in a row. `host` and `export_id` are the same in all rows, and left out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Value<'a> {
    Int32(i32),
    Int64(i64),
    /// Bytes or text.
    Bytes(&'a [u8]),
    Null,
}

/// A Parquet file that is being written.
pub(crate) struct TableWriter {
    path: PathBuf,
    name: String,
    writer: SerializedFileWriter<HashedFile>,
    columns: Vec<Values>,
    /// The host and the export, [`CHUNK`] times each.
    constants: [Vec<ByteArray>; 2],
    rows_in_group: usize,
    rows: u64,
}

/// The values of one column in the current row group.
#[derive(Default)]
struct Values {
    int32: Vec<i32>,
    int64: Vec<i64>,
    bytes: Vec<u8>,
    /// The end of each value in `bytes`.
    ends: Vec<usize>,
    /// For each row, 1 if the value is there and 0 if it is NULL; empty for required columns.
    present: Vec<i16>,
}

impl TableWriter {
    /// Begins the file `name` at `path`. `file` is empty.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub(crate) fn new(
        table: &Table,
        file: NewFile,
        path: PathBuf,
        name: String,
        constants: [&str; 2],
    ) -> Result<TableWriter, Error> {
        let own = table.columns.len() - constants.len();
        let columns = std::iter::repeat_with(Values::default).take(own).collect();
        let out = HashedFile { file, offset: 0, hasher: blake3::Hasher::new() };
        let writer = SerializedFileWriter::new(out, table.parquet(), Arc::new(properties(table)));
        Ok(TableWriter {
            writer: writer.of(Op::Write, &path)?,
            path,
            name,
            columns,
            constants: constants.map(|constant| vec![ByteArray::from(constant); CHUNK]),
            rows_in_group: 0,
            rows: 0,
        })
    }

    /// Adds a row.
    pub(crate) fn push(&mut self, row: &[Value<'_>]) {
        debug_assert_eq!(row.len(), self.columns.len(), "a value for each column of {}", self.name);
        for (values, value) in self.columns.iter_mut().zip(row) {
            values.push(*value);
        }
        self.rows_in_group += 1;
    }

    /// Returns whether the current row group has enough rows.
    pub(crate) fn is_group_full(&self) -> bool {
        self.rows_in_group >= GROUP_ROWS
    }

    /// Writes the current row group.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub(crate) fn end_group(&mut self, table: &Table) -> Result<(), Error> {
        if self.rows_in_group > 0 {
            self.write_group(table).of(Op::Write, &self.path)?;
            self.rows += self.rows_in_group as u64;
            self.rows_in_group = 0;
        }
        Ok(())
    }

    fn write_group(&mut self, table: &Table) -> Result<(), ParquetError> {
        let mut group = self.writer.next_row_group()?;
        for (column, values) in table.columns.iter().zip(&mut self.columns) {
            let mut out = group.next_column()?.expect("the schema has this column");
            let present = column.optional.then_some(values.present.as_slice());
            match column.kind {
                Kind::Int32 => {
                    out.typed::<Int32Type>().write_batch(&values.int32, present, None)?;
                }
                Kind::Int64 => {
                    out.typed::<Int64Type>().write_batch(&values.int64, present, None)?;
                }
                Kind::Bytes | Kind::Text => {
                    let all = Bytes::from(std::mem::take(&mut values.bytes));
                    write_bytes(out.typed(), &all, &values.ends, present)?;
                }
            }
            out.close()?;
            values.clear();
        }
        for constants in &self.constants {
            let mut out = group.next_column()?.expect("the schema has this column");
            let mut left = self.rows_in_group;
            while left > 0 {
                let chunk = &constants[..left.min(CHUNK)];
                left -= out.typed::<ByteArrayType>().write_batch(chunk, None, None)?;
            }
            out.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Completes the file and syncs it to the disk.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written.
    pub(crate) fn finish(mut self, table: &Table) -> Result<TableFile, Error> {
        self.end_group(table)?;
        self.writer.finish().of(Op::Write, &self.path)?;
        let HashedFile { file, offset, hasher } = self.writer.inner();
        file.sync().at(Op::Sync, &self.path)?;
        Ok(TableFile {
            file: self.name,
            rows: self.rows,
            bytes: *offset,
            blake3: hasher.finalize().to_hex().to_string(),
        })
    }
}

impl Values {
    fn push(&mut self, value: Value<'_>) {
        match value {
            Value::Int32(number) => self.int32.push(number),
            Value::Int64(number) => self.int64.push(number),
            Value::Bytes(bytes) => {
                self.bytes.extend_from_slice(bytes);
                self.ends.push(self.bytes.len());
            }
            Value::Null => {}
        }
        self.present.push(i16::from(!matches!(value, Value::Null)));
    }

    fn clear(&mut self) {
        self.int32.clear();
        self.int64.clear();
        self.bytes.clear();
        self.ends.clear();
        self.present.clear();
    }
}

/// Writes the values of a column that end at `ends` in `all`. The library wants an object for each
/// value, so the values are passed on in chunks.
fn write_bytes(
    out: &mut ColumnWriterImpl<'_, ByteArrayType>,
    all: &Bytes,
    ends: &[usize],
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut values = std::iter::once(0)
        .chain(ends.iter().copied())
        .zip(ends)
        .map(|(start, &end)| ByteArray::from(all.slice(start..end)));
    let Some(present) = present else {
        let mut chunk: Vec<ByteArray> = values.by_ref().take(CHUNK).collect();
        while !chunk.is_empty() {
            out.write_batch(&chunk, None, None)?;
            chunk.clear();
            chunk.extend(values.by_ref().take(CHUNK));
        }
        return Ok(());
    };
    let mut chunk = Vec::with_capacity(CHUNK);
    for present in present.chunks(CHUNK) {
        chunk.clear();
        let wanted = present.iter().filter(|&&level| level > 0).count();
        chunk.extend(values.by_ref().take(wanted));
        out.write_batch(&chunk, Some(present), None)?;
    }
    Ok(())
}

/// Returns how the columns of a table are stored.
fn properties(table: &Table) -> WriterProperties {
    let mut builder = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_dictionary_enabled(false)
        .set_created_by(concat!("lop ", env!("CARGO_PKG_VERSION")).to_owned());
    for column in table.columns.iter().rev().take(2) {
        builder = builder.set_column_dictionary_enabled(ColumnPath::from(column.name), true);
    }
    builder.build()
}

/// A file that is hashed while it is written.
struct HashedFile {
    file: NewFile,
    offset: u64,
    hasher: blake3::Hasher,
}

impl Write for HashedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_at(bytes, self.offset)?;
        self.offset += bytes.len() as u64;
        self.hasher.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
