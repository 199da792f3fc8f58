//! Tests with real file systems.

#![expect(clippy::disallowed_methods, reason = "tests change the trees they made")]

mod changes;
mod files;
mod lifecycle;
mod links;
mod mounting;
mod nested;
mod random;
mod running;
mod state;
mod unreadable;
mod unseen;
