//! The arguments of `lop share`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::rates::RateArgs;
use super::serve::{address, host_name};
use crate::quantity::parse_size;

/// Share folders over HTTP, for browsers and download programs
///
/// Starts a web server and prints its address. Folders are listed as pages and can be downloaded as tar archives.
/// Downloads can be resumed. The server changes nothing and follows no link out of the folders. By default, only
/// programs on this machine can connect, and requests need the token in the address.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "\
Examples:
  lop share ~/photos            Show the folder to programs on this machine
  lop share --listen 0.0.0.0:8421 --qr ~/photos   Show it to a phone, too
  lop share --public --limit-rate 1M /srv/mirror   Downloads at 1 MiB/s each")]
pub(crate) struct ShareArgs {
    /// Folders to share; each of several has its name in the address
    #[arg(required = true, value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,

    /// Listen on this address
    ///
    /// A port alone means this machine only. The address 0.0.0.0 accepts connections from the network. Port 0 takes any
    /// free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8421", value_parser = address)]
    pub(crate) listen: SocketAddr,

    /// Listen on the Unix socket PATH, for a proxy on this machine
    #[arg(long, value_name = "PATH", conflicts_with_all = ["listen", "tls", "qr"])]
    pub(crate) unix: Option<PathBuf>,

    /// Require the token in the address (the default)
    ///
    /// Browsers remember it in a cookie. Programs can also send it as the password of any user, or in an
    /// 'Authorization: Bearer' field.
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
    /// Addresses, localhost and the name of this machine need no option.
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    pub(crate) allow_host: Vec<String>,

    /// Encrypt connections with a certificate that lop makes
    ///
    /// The certificate is kept beside the catalog. Browsers warn about it once; compare the fingerprint that lop
    /// prints.
    #[arg(long)]
    pub(crate) tls: bool,

    #[command(flatten)]
    pub(crate) rates: RateArgs,

    /// Send the first SIZE bytes of each response without the limit of --limit-rate
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "limit_rate")]
    pub(crate) limit_rate_after: Option<u64>,

    /// Print the address as a QR code
    #[arg(long)]
    pub(crate) qr: bool,

    /// Show statistics at /?stats, and print them at the end
    #[arg(long)]
    pub(crate) stats: bool,
}
