//! The instrument through its public interface, and as a command.

#![expect(clippy::disallowed_methods, reason = "the tests make and spoil their own files")]

mod arm;
mod command;
mod corpus;
mod page;
mod record;
