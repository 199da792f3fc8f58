//! Tests with a real catalog.

mod catalogs;
