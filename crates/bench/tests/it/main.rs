//! Tests of the public interface of `bench`, and of its commands.

#![expect(clippy::disallowed_methods, reason = "the tests make and spoil their own files")]

mod command;
mod corpus;
mod hdd;
mod page;
mod record;
