//! Tests with catalogs that are made row by row, so that they contain what scans rarely find.

#![expect(
    clippy::disallowed_methods,
    reason = "tests damage the exports they made to see what the program makes of them"
)]

mod copied;
mod damage;
mod docs;
mod folders;
mod keyed;
mod round_trip;
mod rows;
