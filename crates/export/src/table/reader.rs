//! Reads a Parquet file row group by row group.

use std::path::PathBuf;

use bytes::Bytes;
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;

use crate::error::{Error, OfTable};
use crate::schema::{Kind, Table};

/// A Parquet file of a table.
pub(crate) struct TableReader {
    path: PathBuf,
    table: Table,
    reader: SerializedFileReader<Bytes>,
}

/// The values of the columns of a row group, without host and export.
pub(crate) struct Group {
    path: PathBuf,
    table: Table,
    columns: Vec<Values>,
    pub(crate) rows: usize,
}

/// The values of a column; `None` for NULL.
enum Values {
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Bytes(Vec<Option<ByteArray>>),
}

impl TableReader {
    /// Opens a file with the content `bytes`. `path` is used in errors.
    ///
    /// # Errors
    ///
    /// Fails if the file is not a Parquet file or if its columns are not those of the table.
    pub(crate) fn new(table: Table, bytes: Vec<u8>, path: PathBuf) -> Result<TableReader, Error> {
        let reader = SerializedFileReader::new(Bytes::from(bytes)).of(&path)?;
        let schema = reader.metadata().file_metadata().schema_descr().root_schema().clone();
        let wanted = table.parquet();
        if schema.get_fields() != wanted.get_fields() {
            return Err(Error::invalid(
                &path,
                format!("its columns are not those of {}", table.name),
            ));
        }
        Ok(TableReader { path, table, reader })
    }

    /// Calls `each` for every row group. Stops at the first error of `each`.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged, or with an error of `each`.
    pub(crate) fn each_group(
        &self,
        mut each: impl FnMut(Group) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for number in 0..self.reader.num_row_groups() {
            let group = self.reader.get_row_group(number).and_then(|group| self.read(&*group));
            each(group.of(&self.path)?)?;
        }
        Ok(())
    }

    fn read(&self, group: &dyn RowGroupReader) -> Result<Group, ParquetError> {
        let rows = usize::try_from(group.metadata().num_rows())?;
        let own = &self.table.columns[..self.table.columns.len() - 2];
        let column = |(at, column): (usize, &crate::schema::Column)| {
            Ok(match column.kind {
                Kind::Int32 => Values::Int32(values::<Int32Type>(group, at, rows)?),
                Kind::Int64 => Values::Int64(values::<Int64Type>(group, at, rows)?),
                Kind::Bytes | Kind::Text => {
                    Values::Bytes(values::<ByteArrayType>(group, at, rows)?)
                }
            })
        };
        let columns = own.iter().enumerate().map(column).collect::<Result<_, ParquetError>>()?;
        Ok(Group { path: self.path.clone(), table: self.table, columns, rows })
    }
}

/// Reads all values of a column.
fn values<T: DataType>(
    group: &dyn RowGroupReader,
    column: usize,
    rows: usize,
) -> Result<Vec<Option<T::T>>, ParquetError> {
    let mut reader = get_typed_column_reader::<T>(group.get_column_reader(column)?);
    let (mut values, mut present) = (Vec::new(), Vec::new());
    let mut read = 0;
    while read < rows {
        let (records, ..) =
            reader.read_records(rows - read, Some(&mut present), None, &mut values)?;
        if records == 0 {
            return Err(ParquetError::General(format!(
                "column {column} has {read} of {rows} rows"
            )));
        }
        read += records;
    }
    if values.len() == rows {
        return Ok(values.into_iter().map(Some).collect());
    }
    let mut values = values.into_iter();
    Ok(present.iter().map(|&level| if level > 0 { values.next() } else { None }).collect())
}

impl Group {
    /// Returns a number, or `None` for NULL.
    pub(crate) fn number(&self, column: &str, row: usize) -> Option<i64> {
        match &self.columns[self.index(column)] {
            Values::Int32(values) => values[row].map(i64::from),
            Values::Int64(values) => values[row],
            Values::Bytes(_) => panic!("{column} is not a column of numbers"),
        }
    }

    /// Returns bytes or text, or `None` for NULL.
    pub(crate) fn bytes(&self, column: &str, row: usize) -> Option<&[u8]> {
        match &self.columns[self.index(column)] {
            Values::Bytes(values) => values[row].as_ref().map(ByteArray::data),
            Values::Int32(_) | Values::Int64(_) => panic!("{column} is not a column of bytes"),
        }
    }

    /// Returns an error about a row.
    pub(crate) fn invalid(&self, row: usize, reason: &str) -> Error {
        Error::invalid(&self.path, format!("row {} of a group: {reason}", row + 1))
    }

    fn index(&self, column: &str) -> usize {
        let found = self.table.columns.iter().position(|known| known.name == column);
        found.expect("the table has this column")
    }
}
