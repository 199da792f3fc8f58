//! Start, end, and clients.
