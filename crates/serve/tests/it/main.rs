//! Tests of the crate `serve`.
