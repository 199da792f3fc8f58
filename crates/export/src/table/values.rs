//! Reads the values of a column in a row group.

use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::DataType;
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;

use crate::schema::Table;

/// The values of a column in a row group.
pub(crate) struct Values<T: DataType> {
    /// The values that are not NULL.
    values: Vec<T::T>,
    /// For each row, 1 if the value is there and 0 if it is NULL; empty for required columns.
    present: Vec<i16>,
}

impl<T: DataType> Values<T> {
    /// Reads all values of the column `name` of a table.
    pub(crate) fn read(
        group: &dyn RowGroupReader,
        table: &Table,
        name: &str,
    ) -> Result<Self, ParquetError> {
        let at = table.index(name);
        let rows = usize::try_from(group.metadata().num_rows())?;
        // Engines that rewrite a file make all columns optional.
        let optional = group.metadata().column(at).column_descr().max_def_level() > 0;
        let mut reader = get_typed_column_reader::<T>(group.get_column_reader(at)?);
        let mut values = Vec::with_capacity(rows);
        let mut present = Vec::with_capacity(if optional { rows } else { 0 });
        let mut read = 0;
        while read < rows {
            let levels = if optional { Some(&mut present) } else { None };
            let (records, ..) = reader.read_records(rows - read, levels, None, &mut values)?;
            if records == 0 {
                return Err(ParquetError::General(format!("{name} has {read} of {rows} rows")));
            }
            read += records;
        }
        let wanted =
            if optional { present.iter().filter(|&&level| level > 0).count() } else { rows };
        if values.len() != wanted {
            let found = values.len();
            return Err(ParquetError::General(format!("{name} has {found} of {wanted} values")));
        }
        Ok(Values { values, present })
    }

    /// Returns the value of each row, `None` for NULL.
    pub(crate) fn into_iter(self) -> impl Iterator<Item = Option<T::T>> {
        let rows = self.values.len().max(self.present.len());
        let (mut values, present) = (self.values.into_iter(), self.present);
        (0..rows).map(move |row| {
            if present.get(row).is_none_or(|&level| level > 0) { values.next() } else { None }
        })
    }
}
