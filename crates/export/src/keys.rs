//! Reads what is needed to compare inodes of different hosts.

use std::fs::File;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use fsops::Op;
use parquet::data_type::{ByteArray, ByteArrayType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::{FileReader, RowGroupReader};
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::file::statistics::Statistics;

use crate::digest::StoredDigest;
use crate::error::{At, Error, OfTable};
use crate::schema::INODES;
use crate::table::values::Values;

/// The columns of an inode that decide whether it may be equal to another one. An inode whose content is
/// unknown, for example because it is damaged, has neither head nor digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InodeKey {
    /// The number of the inode in its export; 0 if it was not read.
    pub inode_id: i64,
    /// The bucket of its size.
    pub bucket: u8,
    /// Length in bytes.
    pub size: u64,
    /// Its head, possibly keyed.
    pub head: Option<i64>,
    /// Its digest, if it is known.
    pub digest: Option<StoredDigest>,
}

/// A file of the table `inodes`.
pub struct InodeFile {
    path: PathBuf,
    reader: SerializedFileReader<File>,
}

/// A row group of such a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InodeGroup {
    /// The buckets of its rows.
    pub buckets: RangeInclusive<u8>,
    /// Number of rows.
    pub rows: u64,
}

impl InodeFile {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or if it does not have the columns of the table.
    pub fn open(path: &Path) -> Result<InodeFile, Error> {
        let file = File::open(path).at(Op::Open, path)?;
        let reader = SerializedFileReader::new(file).of(Op::Read, path)?;
        let schema = reader.metadata().file_metadata().schema_descr();
        let has =
            |at: usize, name| schema.columns().get(at).is_some_and(|column| column.name() == name);
        let columns = INODES.columns.iter().enumerate();
        if !columns.clone().all(|(at, column)| has(at, column.name)) {
            return Err(Error::invalid(path, "its columns are not those of inodes"));
        }
        Ok(InodeFile { path: path.into(), reader })
    }

    /// Returns the row groups.
    pub fn groups(&self) -> Vec<InodeGroup> {
        self.reader.metadata().row_groups().iter().map(group).collect()
    }

    /// Calls `each` with the size of every inode.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged.
    pub(crate) fn each_size(&self, mut each: impl FnMut(u64)) -> Result<(), Error> {
        for number in 0..self.reader.metadata().num_row_groups() {
            let group = self.reader.get_row_group(number).of(Op::Read, &self.path)?;
            let sizes = Values::<Int64Type>::read(&*group, &INODES, "size");
            let sizes = sizes.of(Op::Read, &self.path)?.into_iter().flatten();
            sizes.for_each(|size| each(size.cast_unsigned()));
        }
        Ok(())
    }

    /// Calls `each` with the numbers of every inode, of its file system, and in its file system.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged.
    pub(crate) fn each_identity(&self, mut each: impl FnMut(i64, i64, u64)) -> Result<(), Error> {
        for number in 0..self.reader.metadata().num_row_groups() {
            let group = self.reader.get_row_group(number).of(Op::Read, &self.path)?;
            let read = |column| Values::<Int64Type>::read(&*group, &INODES, column);
            let [ids, volumes, inodes] = ["inode_id", "volume_id", "inode"].map(read);
            let columns = ids.of(Op::Read, &self.path)?.into_iter().flatten();
            let columns = columns.zip(volumes.of(Op::Read, &self.path)?.into_iter().flatten());
            let columns = columns.zip(inodes.of(Op::Read, &self.path)?.into_iter().flatten());
            columns.for_each(|((id, volume), inode)| each(id, volume, inode.cast_unsigned()));
        }
        Ok(())
    }

    /// Calls `each` for every inode of a row group. Reads the numbers of the inodes only if `with_ids`
    /// is true.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged.
    pub fn each_key(
        &self,
        group: usize,
        with_ids: bool,
        each: impl FnMut(InodeKey),
    ) -> Result<(), Error> {
        let group = self.reader.get_row_group(group);
        let read = group.and_then(|group| read_keys(&*group, with_ids, each));
        read.of(Op::Read, &self.path)
    }
}

fn group(metadata: &RowGroupMetaData) -> InodeGroup {
    let buckets = match metadata.column(INODES.index("bucket")).statistics() {
        Some(Statistics::Int32(of)) => of.min_opt().zip(of.max_opt()),
        _ => None,
    };
    let byte = |bucket: &i32| u8::try_from(*bucket).ok();
    let buckets = buckets.and_then(|(min, max)| Some(byte(min)?..=byte(max)?));
    let rows = u64::try_from(metadata.num_rows()).unwrap_or(0);
    InodeGroup { buckets: buckets.unwrap_or(0..=u8::MAX), rows }
}

fn read_keys(
    group: &dyn RowGroupReader,
    with_ids: bool,
    mut each: impl FnMut(InodeKey),
) -> Result<(), ParquetError> {
    let buckets = Values::<Int32Type>::read(group, &INODES, "bucket")?.into_iter().flatten();
    let mut sizes = Values::<Int64Type>::read(group, &INODES, "size")?.into_iter().flatten();
    let ids =
        with_ids.then(|| Values::<Int64Type>::read(group, &INODES, "inode_id")).transpose()?;
    let mut ids = ids.into_iter().flat_map(Values::into_iter).flatten();
    let mut heads = Values::<Int64Type>::read(group, &INODES, "head")?.into_iter();
    let mut digests = Values::<ByteArrayType>::read(group, &INODES, "digest")?.into_iter();
    for bucket in buckets {
        let digest = digests.next().flatten();
        each(InodeKey {
            inode_id: ids.next().unwrap_or(0),
            bucket: u8::try_from(bucket).unwrap_or(0),
            size: sizes.next().unwrap_or(0).cast_unsigned(),
            head: heads.next().flatten(),
            digest: digest.and_then(|digest: ByteArray| StoredDigest::of(digest.data())),
        });
    }
    Ok(())
}
