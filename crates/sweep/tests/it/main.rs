//! Tests of the crate on real trees.

mod bindings;
