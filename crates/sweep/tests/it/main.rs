//! Tests of the crate on real trees.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what becomes of them"
)]

mod shipped;
