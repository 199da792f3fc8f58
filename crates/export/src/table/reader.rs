//! Reads a Parquet file row group by row group.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use fsops::Op;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::statistics::Statistics;

use crate::error::{Error, OfTable};
use crate::schema::{Column, Kind, Table};
use crate::table::values::Values;

/// A Parquet file of a table.
pub(crate) struct TableReader<R: ChunkReader + 'static> {
    path: PathBuf,
    table: Table,
    reader: SerializedFileReader<R>,
}

/// The values of the columns of a row group, without host and export.
pub(crate) struct Group {
    path: PathBuf,
    table: Table,
    columns: Vec<Cells>,
    pub(crate) rows: usize,
}

/// The values of a column; `None` for NULL.
enum Cells {
    Int32(Vec<Option<i32>>),
    Int64(Vec<Option<i64>>),
    Bytes(Vec<Option<ByteArray>>),
}

impl<R: ChunkReader + 'static> TableReader<R> {
    /// Opens a file. `path` is used in errors.
    ///
    /// # Errors
    ///
    /// Fails if the file is not a Parquet file or if its columns are not those of the table.
    pub(crate) fn new(table: Table, file: R, path: PathBuf) -> Result<Self, Error> {
        let reader = SerializedFileReader::new(file).of(Op::Read, &path)?;
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
        self.each_group_with(self.table.columns[0].name, |_| true, &mut each)
    }

    /// Calls `each` for the row groups whose values in the 64-bit column `column` may be wanted. Stops
    /// at the first error of `each`.
    ///
    /// # Errors
    ///
    /// Same as for [`TableReader::each_group`].
    pub(crate) fn each_group_with(
        &self,
        column: &str,
        is_wanted: impl Fn(RangeInclusive<i64>) -> bool,
        mut each: impl FnMut(Group) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let at = self.table.index(column);
        for (number, metadata) in self.reader.metadata().row_groups().iter().enumerate() {
            let range = match metadata.column(at).statistics() {
                Some(Statistics::Int64(of)) => of.min_opt().zip(of.max_opt()),
                _ => None,
            };
            if range.is_some_and(|(&min, &max)| !is_wanted(min..=max)) {
                continue;
            }
            let group = self.reader.get_row_group(number).and_then(|group| self.read(&*group));
            each(group.of(Op::Read, &self.path)?)?;
        }
        Ok(())
    }

    fn read(&self, group: &dyn RowGroupReader) -> Result<Group, ParquetError> {
        let rows = usize::try_from(group.metadata().num_rows())?;
        let own = &self.table.columns[..self.table.columns.len() - 2];
        let column = |column: &Column| {
            Ok(match column.kind {
                Kind::Int32 => Cells::Int32(self.cells::<Int32Type>(group, column)?),
                Kind::Int64 => Cells::Int64(self.cells::<Int64Type>(group, column)?),
                Kind::Bytes | Kind::Text => {
                    Cells::Bytes(self.cells::<ByteArrayType>(group, column)?)
                }
            })
        };
        let columns = own.iter().map(column).collect::<Result<_, ParquetError>>()?;
        Ok(Group { path: self.path.clone(), table: self.table, columns, rows })
    }

    fn cells<T: DataType>(
        &self,
        group: &dyn RowGroupReader,
        column: &Column,
    ) -> Result<Vec<Option<T::T>>, ParquetError> {
        Ok(Values::<T>::read(group, &self.table, column.name)?.into_iter().collect())
    }
}

impl Group {
    /// Returns a number, or `None` for NULL.
    pub(crate) fn number(&self, column: &str, row: usize) -> Option<i64> {
        match &self.columns[self.table.index(column)] {
            Cells::Int32(values) => values[row].map(i64::from),
            Cells::Int64(values) => values[row],
            Cells::Bytes(_) => panic!("{column} is not a column of numbers"),
        }
    }

    /// Returns bytes or text, or `None` for NULL.
    pub(crate) fn bytes(&self, column: &str, row: usize) -> Option<&[u8]> {
        match &self.columns[self.table.index(column)] {
            Cells::Bytes(values) => values[row].as_ref().map(ByteArray::data),
            Cells::Int32(_) | Cells::Int64(_) => panic!("{column} is not a column of bytes"),
        }
    }

    /// Returns an error about a row.
    pub(crate) fn invalid(&self, row: usize, reason: &str) -> Error {
        Error::invalid(&self.path, format!("row {} of a group: {reason}", row + 1))
    }
}
