//! Everything that the commands with a web server have in common: the announcement of the address, the end by a
//! signal, and advice for errors.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde::Serialize;

use crate::args::RateArgs;
use crate::error::CommandError;
use crate::monitor::interrupt;
use crate::output::formats::document;
use crate::output::stdout;
use crate::quantity::size;
use crate::settings::{Configured, Settings, Verbosity};

/// Interval at which lop checks whether a signal has arrived.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The address of a server, as it is announced.
#[derive(Serialize)]
pub(super) struct Announcement<'a> {
    pub(super) url: &'a str,
    /// The Unix socket through which the server is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unix: Option<&'a Path>,
    /// The SHA-256 fingerprint of the certificate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) fingerprint: Option<&'a str>,
    /// The address that the server listens on. `None` for a Unix socket.
    #[serde(skip)]
    pub(super) listen: Option<SocketAddr>,
    /// True if the URL is also printed as a QR code.
    #[serde(skip)]
    pub(super) qr: bool,
}

impl Announcement<'_> {
    /// Prints the URL, and notes about the connections.
    pub(super) fn print(&self, settings: &Settings) -> Result<(), CommandError> {
        stdout::print(|out| {
            if settings.json {
                writeln!(out, "{}", document(self))?;
            } else {
                writeln!(out, "{}", self.url)?;
                if self.qr {
                    let code = QrCode::new(self.url).map_err(io::Error::other)?;
                    // Scanners want dark modules on a light ground, and most terminals are dark.
                    let mut image = code.render::<Dense1x2>();
                    image.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark);
                    writeln!(out, "{}", image.build())?;
                }
            }
            out.flush()
        })?;
        if settings.verbosity != Verbosity::Quiet && !settings.json {
            self.note(settings);
        }
        Ok(())
    }

    fn note(&self, settings: &Settings) {
        let is_local = self.listen.is_none_or(|address| address.ip().is_loopback());
        if let Some(path) = self.unix {
            settings.note(&format!("connect through the Unix socket {}", path.display()));
        }
        match self.fingerprint {
            Some(fingerprint) => settings.note(&format!("certificate SHA-256 {fingerprint}")),
            None if is_local => {}
            None => settings
                .note("connections are not encrypted: use --tls, or only a network that you trust"),
        }
        if let Some(address) = self.listen.filter(|_| self.qr && is_local) {
            settings.note(&format!(
                "the QR code works only on this machine; for other devices, use --listen 0.0.0.0:{}",
                address.port()
            ));
        }
        settings.note("press Ctrl-C to stop");
    }
}

/// Returns the limit for all connections together: the value of the option, or else that of the configuration.
pub(super) fn total_rate(
    rates: &RateArgs,
    configured: Option<&Configured<NonZeroU64>>,
    settings: &Settings,
) -> Option<NonZeroU64> {
    if rates.limit_rate_total.is_some() {
        return rates.limit_rate_total;
    }
    let Configured { value, place } = configured?;
    settings.note_configured(&format!("sending at most {}/s", size(value.get())), place);
    Some(*value)
}

/// Returns the address that other machines can use, if the server listens on all addresses.
pub(super) fn reachable(address: SocketAddr) -> SocketAddr {
    if !address.ip().is_unspecified() {
        return address;
    }
    // Connecting a UDP socket sends nothing. The kernel chooses the address that it would send from. The destination
    // is reserved for documentation (RFC 5737).
    let chosen = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    let ip = chosen.map_or(IpAddr::from([127, 0, 0, 1]), |chosen| chosen.ip());
    SocketAddr::new(ip, address.port())
}

/// Prepares for signals, and calls `stop` on another thread when one arrives.
pub(super) fn stop_on_signal(stop: impl FnOnce() + Send + 'static) -> Result<(), CommandError> {
    interrupt::arm().map_err(|e| CommandError::failed("cannot catch signals").because(e))?;
    std::thread::spawn(move || {
        while interrupt::caught().is_none() {
            std::thread::sleep(CHECK_INTERVAL);
        }
        stop();
    });
    Ok(())
}

/// Returns advice for an address that cannot be used.
pub(super) fn listen_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program uses the port; choose another one with --listen PORT, or any free one with --listen 0"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 are reserved; choose a higher one with --listen PORT"
        }
        io::ErrorKind::AddrNotAvailable => {
            "this machine does not have the address; --listen 0.0.0.0:PORT listens on all that it has"
        }
        _ => "",
    }
}

/// Returns advice for a token file that cannot be used.
pub(super) fn token_file_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "lop creates the file, but not its directory",
        io::ErrorKind::PermissionDenied => "choose a file that you can read and write",
        _ => "",
    }
}

/// Returns the error of a server that cannot start.
pub(super) fn failed(text: String, source: io::Error, hint: &'static str) -> CommandError {
    let failed = CommandError::failed(text).because(source);
    if hint.is_empty() { failed } else { failed.hint(hint) }
}
