//! The harness itself: it must notice bad pages, and accept good ones.

mod actions;
mod server;
mod watching;
