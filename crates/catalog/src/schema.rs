//! The tables of a catalog, and the steps that bring an older catalog to the current format.

/// `user_version` of the catalogs this version writes: one more than the last migration.
pub(crate) const VERSION: i64 = 2;

/// Steps from one format to the next, by the version they start from. Append only.
pub(crate) const MIGRATIONS: [&str; 2] =
    [include_str!("schema/v1.sql"), include_str!("schema/v2.sql")];
pub(crate) const INDEXES: &str = include_str!("schema/indexes.sql");
