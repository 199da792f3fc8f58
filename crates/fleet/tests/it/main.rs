//! Tests with exports of several hosts.

#![expect(
    clippy::disallowed_methods,
    reason = "tests damage the exports they made to see what the program makes of them"
)]

mod compare;
mod hosts;
mod same_file;
