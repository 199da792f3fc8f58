//! Tests of the server over sockets.

#![expect(clippy::disallowed_methods, reason = "the tests write the files that a server sends")]

mod client;
mod files;
mod handshakes;
mod hostile;
mod malformed;
mod requests;
mod running;
mod slow;
mod transports;
