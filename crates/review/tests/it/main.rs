//! Tests of the crate `review`.
