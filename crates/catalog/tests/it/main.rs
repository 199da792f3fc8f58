//! Tests of the catalog through its public interface: what is remembered, and what is not.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what the catalog makes of it"
)]

mod away;
mod disk;
mod engine;
mod forgetting;
mod formats;
mod holdings;
mod imagined;
mod interrupted;
mod linked;
mod locking;
mod marking;
mod opening;
mod place;
mod questions;
mod recalling;
mod roots;
mod volumes;
mod writing;
