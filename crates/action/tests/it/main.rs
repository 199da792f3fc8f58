//! Tests of acting on real trees.

mod child;
mod crash;
mod faults;
mod meddling;
mod race;
mod world;
