//! The options of a server. The program fills the options in from its arguments.

use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;

/// The catalog to serve, and the clients that may use it.
#[derive(Debug)]
pub struct Options {
    /// The catalog.
    pub catalog: PathBuf,
    /// The address to listen on. Port 0 takes any free port.
    pub listen: SocketAddr,
    /// Further host names by which browsers may reach the server.
    pub hosts: Vec<String>,
    /// True if runs that change files may be started.
    pub allow_actions: bool,
    /// The file that keeps the token from one start to the next. `None` for a new token at each start.
    pub token_file: Option<PathBuf>,
    /// The file that keeps the certificate. `None` for connections without encryption.
    pub certificate: Option<PathBuf>,
    /// Limits of the rate at which the server sends.
    pub rates: RateLimits,
    /// The lop program, which does the work on files.
    pub program: PathBuf,
}

/// Limits of the rate at which a server sends, in bytes per second. `None` means no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateLimits {
    /// Limit of each connection. It applies to everything that the connection sends.
    pub connection: Option<NonZeroU64>,
    /// Limit of all connections together. It applies to the contents of files, not to pages.
    pub total: Option<NonZeroU64>,
}
