//! HTTP/1.1: the protocol, and a server that spends little processor time on a file.
//!
//! | module | contents |
//! |---|---|
//! | [`conditions`] | which response the conditions of a request allow; dates |
//! | [`range`] | the bytes that a client asks for |
//! | [`entity_tag`] | tags of versions |
//! | [`disposition`] | names for files that browsers save |
//! | [`percent`] | percent-encoding of names |
//! | [`media_type`] | media types by the extension of a name |
//! | [`hosts`] | the names by which clients may reach a server |
//! | [`secret`], [`certificate`] | tokens and certificates, kept in private files |
//! | [`server`] | the event loop |
//!
//! The crate follows RFC 9110 (semantics) and RFC 9112 (HTTP/1.1). It opens no files and makes no pages: a
//! [`server::Handler`] answers the requests.

pub mod certificate;
pub mod conditions;
pub mod disposition;
pub mod entity_tag;
pub mod hosts;
pub mod media_type;
pub mod percent;
mod private_file;
pub mod range;
pub mod secret;
pub mod server;
