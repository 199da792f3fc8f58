//! TODO head.

pub(crate) mod connection;
pub(crate) mod dispatch;
pub(crate) mod pending;
pub(crate) mod receive_loop;
pub(crate) mod session;
