//! Tests of the walk on real trees. Results are compared with those of `std`.

#![expect(
    clippy::disallowed_methods,
    reason = "tests change the trees they made to see what the walk makes of it"
)]

mod allocated;
mod failing;
mod filters;
mod found;
mod lists;
mod mounts;
mod opener;
mod patterns;
mod random;
mod remembered;
mod roots;
mod shapes;
mod shards;
mod sharing;
mod stopping;
