//! Filters and sorts the groups in the catalog, and keeps the decisions about them.
