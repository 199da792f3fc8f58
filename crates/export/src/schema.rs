//! The tables of an export and their columns.
//!
//! Only types that `Spark`, `DuckDB` and `DataFusion` read in the same way are used: 32-bit and
//! 64-bit signed integers, bytes and UTF-8. Unsigned numbers are stored as the signed number with the
//! same bits.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::schema::types::{Type, TypePtr};

/// The version of the tables. It increases when a column is removed or changes its meaning.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `INT32`.
    Int32,
    /// `INT64`.
    Int64,
    /// `BINARY`.
    Bytes,
    /// `UTF8`.
    Text,
}

/// A column of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// True if a value may be NULL.
    pub optional: bool,
}

/// A table of an export. The last two columns of each table are the host and the export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its name, with which the names of its files begin.
    pub name: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, optional: false }
}

const fn optional(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, optional: true }
}

const HOST: Column = column("host", Kind::Text);
const EXPORT: Column = column("export_id", Kind::Text);

/// The inodes, sorted by bucket, size, head and digest.
pub(crate) const INODES: Table = Table {
    name: "inodes",
    columns: &[
        column("bucket", Kind::Int32),
        column("size", Kind::Int64),
        optional("head", Kind::Int64),
        optional("digest", Kind::Bytes),
        column("inode_id", Kind::Int64),
        column("volume_id", Kind::Int64),
        column("inode", Kind::Int64),
        column("mtime_ns", Kind::Int64),
        column("ctime_ns", Kind::Int64),
        column("allocated", Kind::Int64),
        column("names", Kind::Int32),
        optional("content_id", Kind::Int64),
        column("state", Kind::Int32),
        HOST,
        EXPORT,
    ],
};

/// The names of the inodes, sorted by directory and name.
pub(crate) const NAMES: Table = Table {
    name: "names",
    columns: &[
        column("dir_id", Kind::Int64),
        column("name", Kind::Bytes),
        column("inode_id", Kind::Int64),
        HOST,
        EXPORT,
    ],
};

/// The directories, sorted by id. A directory follows its parent.
pub(crate) const DIRS: Table = Table {
    name: "dirs",
    columns: &[
        column("dir_id", Kind::Int64),
        optional("parent_id", Kind::Int64),
        column("name", Kind::Bytes),
        optional("path", Kind::Text),
        HOST,
        EXPORT,
    ],
};

/// The contents that were compared, sorted by id.
pub(crate) const CONTENTS: Table = Table {
    name: "contents",
    columns: &[
        column("content_id", Kind::Int64),
        column("inodes", Kind::Int32),
        column("reclaimable", Kind::Int64),
        HOST,
        EXPORT,
    ],
};

/// The entries that could not be examined, sorted by scan and path.
pub(crate) const PROBLEMS: Table = Table {
    name: "problems",
    columns: &[
        column("scan_id", Kind::Int64),
        optional("path", Kind::Bytes),
        column("reason", Kind::Text),
        HOST,
        EXPORT,
    ],
};

/// All tables.
pub const TABLES: [Table; 5] = [INODES, NAMES, DIRS, CONTENTS, PROBLEMS];

impl Table {
    /// Returns the index of a column.
    ///
    /// # Panics
    ///
    /// Panics if the table does not have the column.
    pub(crate) fn index(&self, name: &str) -> usize {
        let found = self.columns.iter().position(|column| column.name == name);
        found.expect("the table has this column")
    }

    /// Returns the schema for the Parquet library.
    pub(crate) fn parquet(&self) -> TypePtr {
        let fields = self.columns.iter().map(|column| Arc::new(column.parquet())).collect();
        let schema = Type::group_type_builder("schema").with_fields(fields).build();
        Arc::new(schema.expect("a group of primitive columns is valid"))
    }
}

impl Column {
    fn parquet(&self) -> Type {
        let repetition = if self.optional { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let (physical, logical) = match self.kind {
            Kind::Int32 => (PhysicalType::INT32, None),
            Kind::Int64 => (PhysicalType::INT64, None),
            Kind::Bytes => (PhysicalType::BYTE_ARRAY, None),
            Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let builder = Type::primitive_type_builder(self.name, physical);
        let built = builder.with_repetition(repetition).with_logical_type(logical).build();
        built.expect("the logical type fits the physical one")
    }
}

/// Returns the bucket of a size: a number from 0 to 255.
///
/// Equal files are in the same bucket, so an engine can process one bucket at a time, and needs only
/// the memory for that bucket.
pub(crate) fn bucket(size: u64) -> u8 {
    // The multiplier is the one used in Fibonacci hashing: 2^64 divided by the golden ratio.
    (size.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}
