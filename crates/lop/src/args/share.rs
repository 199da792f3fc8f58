//! The arguments of `lop share`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::rates::RateArgs;
use super::serve::{address, host_name};
use crate::quantity::parse_size;

/// Share folders over HTTP, with browsers and download tools
///
/// Starts a web server and prints its address. Browsers show folders as listings and can download them as tar archives.
/// Downloads can be resumed. The server changes nothing and follows no links that lead outside the folders. By default,
/// only programs on this machine can connect, and requests need the token in the address.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "\
Examples:
  lop share ~/photos            Share a folder with programs on this machine
  lop share --listen 0.0.0.0:8421 --qr ~/photos   Share it with a phone on the same network
  lop share --public --limit-rate 1M /srv/mirror   Limit each connection to 1 MiB/s")]
pub(crate) struct ShareArgs {
    /// Folders to share; several folders are served under their names
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,

    /// Listen on this address
    ///
    /// A port alone listens on this machine only. The address 0.0.0.0 accepts connections from the network. Port 0
    /// takes any free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8421", value_parser = address)]
    pub(crate) listen: SocketAddr,

    /// Listen on the Unix socket PATH, for a proxy on this machine
    #[arg(long, value_name = "PATH", conflicts_with_all = ["listen", "tls", "qr"])]
    pub(crate) unix: Option<PathBuf>,

    /// Require the token in the address (the default)
    ///
    /// Browsers keep the token in a cookie. Other clients can send it as the password of any user name, or in an
    /// 'Authorization: Bearer' header.
    #[arg(long, conflicts_with = "public")]
    pub(crate) token: bool,

    /// Answer requests without a token
    #[arg(long)]
    pub(crate) public: bool,

    /// Keep the token in FILE, so that the address stays the same
    ///
    /// Without this option, each start has a new token. lop creates the file if it does not exist.
    #[arg(long, value_name = "FILE", conflicts_with = "public")]
    pub(crate) token_file: Option<PathBuf>,

    /// Accept requests for this host name
    ///
    /// IP addresses, localhost and the name of this machine are always accepted, except that a server on a loopback
    /// address accepts only loopback addresses and localhost.
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    pub(crate) allow_host: Vec<String>,

    /// Encrypt connections with a self-signed certificate
    ///
    /// The certificate is kept beside the catalog. Browsers warn about the certificate once; compare its fingerprint
    /// with the one that lop prints.
    #[arg(long)]
    pub(crate) tls: bool,

    #[command(flatten)]
    pub(crate) rates: RateArgs,

    /// Apply --limit-rate only after the first SIZE bytes of each response
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "limit_rate")]
    pub(crate) limit_rate_after: Option<u64>,

    /// Print the address as a QR code
    #[arg(long)]
    pub(crate) qr: bool,

    /// Show statistics at /?stats, and print them when the server stops
    #[arg(long)]
    pub(crate) stats: bool,
}
