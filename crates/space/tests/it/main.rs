//! Tests of the crate `space`.
