//! Tests with real file systems.

mod changes;
mod running;
