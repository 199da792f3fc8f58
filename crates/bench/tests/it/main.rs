//! Tests of the public interface and the commands of `bench`.

#![expect(clippy::disallowed_methods, reason = "the tests make and spoil their own files")]

mod command;
mod corpus;
mod hdd;
mod load;
mod page;
mod record;
mod script;
