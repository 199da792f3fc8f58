//! Tests that remove real trees.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what becomes of them"
)]

mod faults;
mod meddling;
mod mounts;
mod selection;
mod whole;
mod world;
