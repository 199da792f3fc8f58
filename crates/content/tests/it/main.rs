//! Tests that read, hash and compare real files.

mod digests;
mod facts;
mod failures;
mod open;
mod partition;
mod sparse;
