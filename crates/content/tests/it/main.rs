//! Tests of reading, digesting and comparing on real files.

mod digests;
mod facts;
mod failures;
mod open;
mod partition;
mod sparse;
