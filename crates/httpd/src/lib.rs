//! HTTP/1.1: the protocol, and a server.

pub mod server;
