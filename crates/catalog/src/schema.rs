//! The tables of a catalog, and the migrations from older formats.

/// The `user_version` of catalogs that this version writes. It is the number of migrations.
pub(crate) const VERSION: i64 = 4;

/// The tables of a new catalog. A test checks that the migrations create the same tables.
pub(crate) const CURRENT: &str = include_str!("schema/current.sql");

/// The migrations from each format to the next. Append only.
pub(crate) const MIGRATIONS: [&str; 4] = [
    include_str!("schema/v1.sql"),
    include_str!("schema/v2.sql"),
    include_str!("schema/v3.sql"),
    include_str!("schema/v4.sql"),
];
pub(crate) const INDEXES: &str = include_str!("schema/indexes.sql");
pub(crate) const CHANGES_INDEXES: &str = include_str!("schema/changes.sql");
