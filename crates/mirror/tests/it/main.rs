//! Tests of mirroring real trees.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what becomes of them"
)]

mod changing;
mod child;
mod deletion;
mod faults;
mod links;
mod meddling;
mod options;
mod whole;
mod world;
