//! Tests of mirroring real trees.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what becomes of them"
)]

mod changing;
mod child;
mod counts;
mod deletion;
mod faults;
mod hostile;
mod links;
mod meddling;
mod names;
mod options;
mod place;
mod places;
mod replacing;
mod resume;
mod reuse;
mod stops;
mod told;
mod views;
mod ways;
mod whole;
mod world;
