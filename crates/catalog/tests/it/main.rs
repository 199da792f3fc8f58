//! Tests the catalog through its public interface: what it remembers and what it forgets.

#![expect(clippy::disallowed_methods, reason = "tests create and change the trees that they scan")]

mod allocated;
mod changes;
mod content_index;
mod disk;
mod engine;
mod forgetting;
mod formats;
mod interrupted;
mod linked;
mod locking;
mod many_copies;
mod marking;
mod matching;
mod opening;
mod questions;
mod readings;
mod roots;
mod sandbox;
mod sizes;
mod space;
mod synthetic;
mod unreachable;
mod volumes;
mod writing;
