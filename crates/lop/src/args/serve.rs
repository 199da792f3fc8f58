//! The arguments of `lop serve`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;

use super::rates::RateArgs;

/// Review duplicates in a browser, and act on them
///
/// Starts a web server and prints its address. The page shows the groups in the catalog and the space of each folder,
/// remembers which files you decide to keep, and shows the whole plan before anything changes. The address contains a
/// token; nobody can read anything without it. By default, only programs on this machine can connect, and the server
/// changes no files.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
#[command(after_help = "\
Examples:
  lop serve --open              Look at the catalog in a browser
  lop serve --allow-actions     Also act on duplicates from the browser
  lop serve --listen 0.0.0.0:8420   Review from a phone in the same network")]
pub(crate) struct ServeArgs {
    /// Listen on this address
    ///
    /// A port alone means this machine only. The address 0.0.0.0 accepts connections from the network. Port 0 takes any
    /// free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8420", value_parser = address)]
    pub(crate) listen: SocketAddr,

    /// Allow runs that change files to be started from the browser
    #[arg(long)]
    pub(crate) allow_actions: bool,

    /// Accept requests for this host name, for example behind a proxy
    #[arg(long, value_name = "NAME", value_parser = host_name)]
    pub(crate) allow_host: Vec<String>,

    /// Encrypt connections with a self-signed certificate
    ///
    /// The certificate is kept beside the catalog. Browsers warn about the certificate once; compare its fingerprint
    /// with the one that lop prints.
    #[arg(long)]
    pub(crate) tls: bool,

    /// Keep the token in FILE, so that the address stays the same
    ///
    /// Without this option, each start has a new token. lop creates the file if it does not exist.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) rates: RateArgs,

    /// Open the page in a browser on this machine
    #[arg(long)]
    pub(crate) open: bool,

    /// Print the address as a QR code
    #[arg(long)]
    pub(crate) qr: bool,
}

/// Parses an address. A port alone is a port of this machine.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let local = IpAddr::V4(Ipv4Addr::LOCALHOST);
    if let Ok(port) = text.trim_start_matches(':').parse() {
        return Ok(SocketAddr::new(local, port));
    }
    let text = text.replacen("localhost:", "127.0.0.1:", 1);
    text.parse().map_err(|_| "expected a port, or an address such as 127.0.0.1:8420".into())
}

/// Parses a host name as browsers send it: ASCII labels separated by dots, without a port. An address needs no option
/// on a server that listens on the network, and is never accepted on a server that listens on a loopback address.
pub(super) fn host_name(text: &str) -> Result<String, String> {
    let is_in_label = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_label = |label: &str| !label.is_empty() && label.chars().all(is_in_label);
    if text.split('.').all(is_label) && text.parse::<IpAddr>().is_err() {
        return Ok(text.to_owned());
    }
    Err("expected a host name such as nas.example, without http:// and port, not an address".into())
}

#[cfg(test)]
mod tests {
    use super::{address, host_name};

    #[test]
    fn names_that_no_request_can_have_are_refused() {
        for name in ["nas", "nas.example", "NAS_2.my-net.example"] {
            assert_eq!(host_name(name).as_deref(), Ok(name));
        }
        for text in ["", "http://x/", "nas:80", "nas.", ".nas", "a b", "*", "1.2.3.4", "[::1]", "ä"]
        {
            assert!(host_name(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_port_alone_is_local() {
        for text in ["8420", ":8420", "localhost:8420", "127.0.0.1:8420"] {
            assert_eq!(address(text), Ok(([127, 0, 0, 1], 8420).into()), "{text}");
        }
        assert_eq!(address("[::1]:1").map(|a| a.to_string()), Ok("[::1]:1".into()));
        for text in ["", "nas:80", "1.2.3.4", "99999"] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
