//! Decides whether a `Host` header names this server.
//!
//! A web site can point a name of its own to this server's address (DNS rebinding); its scripts then
//! count as the same origin. Such a request carries the site's name in `Host`. Addresses cannot be
//! forged in this way.

use std::net::{IpAddr, Ipv6Addr};

/// The host names and addresses that belong to the server.
#[derive(Clone, Debug)]
pub struct Hosts {
    /// True if the server listens on a loopback address only.
    is_local: bool,
    /// Further names.
    names: Vec<String>,
}

impl Hosts {
    /// Returns the hosts of a server that listens on `address` and is also reached by `names`.
    pub fn new(address: IpAddr, names: &[String]) -> Hosts {
        Hosts { is_local: address.is_loopback(), names: names.to_vec() }
    }

    /// Returns whether a `Host` header, with or without a port, names the server. Ports are not
    /// compared, because `ssh -L` and proxies change them.
    pub fn contain(&self, header: &str) -> bool {
        let Some(host) = without_port(header) else { return false };
        if let Some(address) = address(host) {
            return !self.is_local || address.is_loopback();
        }
        let host = host.strip_suffix('.').unwrap_or(host);
        let is = |name: &str| host.eq_ignore_ascii_case(name);
        // Browsers resolve `localhost` to a loopback address without asking a name server.
        is("localhost") || self.names.iter().any(|name| is(name))
    }
}

/// Returns the host without its port, or `None` if the port is not a number.
fn without_port(header: &str) -> Option<&str> {
    let (host, port) = match header.rfind(':') {
        Some(at) if !header[at..].contains(']') => (&header[..at], &header[at + 1..]),
        _ => (header, ""),
    };
    port.bytes().all(|digit| digit.is_ascii_digit()).then_some(host)
}

fn address(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok().filter(IpAddr::is_ipv4),
    }
}

#[cfg(test)]
mod tests {
    use super::Hosts;

    const LOCAL: [&str; 6] =
        ["localhost", "LOCALHOST:80", "localhost.:8080", "127.0.0.1", "127.8.9.1:1", "[::1]:8080"];
    const FOREIGN: [&str; 12] = [
        "",
        "evil.example",
        "localhost.evil.example",
        "evil.localhost",
        "127.0.0.1.evil.example",
        "127.0.0.1:80:80",
        "127.0.0.1@evil.example",
        "[::1",
        "::1",
        "[::1].evil.example",
        "0x7f000001",
        "localhost:80/evil",
    ];

    #[test]
    fn a_local_server_has_loopback_addresses_and_localhost() {
        let hosts = Hosts::new([127, 0, 0, 1].into(), &[]);
        for host in LOCAL {
            assert!(hosts.contain(host), "{host}");
        }
        for host in FOREIGN.into_iter().chain(["192.168.1.2", "[fe80::1]:80", "0.0.0.0"]) {
            assert!(!hosts.contain(host), "{host}");
        }
    }

    #[test]
    fn a_server_in_the_network_has_every_address_but_no_name() {
        let hosts = Hosts::new([0, 0, 0, 0].into(), &[]);
        for host in LOCAL.into_iter().chain(["192.168.1.2:8080", "[fd00::1]:80"]) {
            assert!(hosts.contain(host), "{host}");
        }
        for host in FOREIGN {
            assert!(!hosts.contain(host), "{host}");
        }
    }

    #[test]
    fn a_name_can_be_added() {
        let hosts = Hosts::new([127, 0, 0, 1].into(), &["NAS.example".to_owned()]);
        assert!(hosts.contain("nas.example:443") && hosts.contain("Nas.Example"));
        assert!(!hosts.contain("nas.example.evil.example") && !hosts.contain("xnas.example"));
    }
}
