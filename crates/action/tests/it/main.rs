//! Tests of actions on real trees.

mod child;
mod crash;
mod discard;
mod equality;
mod faults;
mod full;
mod interrupted;
mod killed;
mod leases;
mod meddling;
mod power;
mod progress;
mod properties;
mod race;
mod rivals;
mod rolled_back;
mod stores;
mod sweep;
mod views;
mod world;
mod writers;
