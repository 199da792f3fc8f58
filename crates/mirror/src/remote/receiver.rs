//! The receiver. It reads the sender's messages, tracks announced directories and pending requests,
//! and hands work to the workers.

pub(crate) mod connection;
pub(crate) mod dispatch;
pub(crate) mod listing;
pub(crate) mod pending;
pub(crate) mod receive_loop;
pub(crate) mod session;
pub(crate) mod source;
