//! The instrument through its public interface, and as a command.

#![expect(clippy::disallowed_methods, reason = "the tests make and spoil their own files")]

mod command;
mod corpus;
mod hdd;
mod page;
mod record;
