//! Tests that mirror real trees.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what becomes of them"
)]

mod aliases;
mod changing;
mod child;
mod counts;
mod deletion;
mod destinations;
mod disk_order;
mod faults;
mod hints;
mod hostile;
mod links;
mod meddling;
mod names;
mod options;
mod replacing;
mod resume;
mod reuse;
mod stops;
mod variants;
mod whole;
mod world;
