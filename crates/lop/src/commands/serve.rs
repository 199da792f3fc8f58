//! `lop serve`: serves the pages for reviewing duplicates until a signal arrives.

use std::io::Write;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use catalog::Catalog;
use qrcode::QrCode;
use qrcode::render::unicode::Dense1x2;
use serde::Serialize;
use serve::{Options, RateLimits, Server, Stopper};

use crate::args::ServeArgs;
use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::monitor::interrupt;
use crate::output::formats::document;
use crate::output::stdout;
use crate::settings::{Settings, Verbosity};

/// Interval at which lop checks whether a signal has arrived.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// The message if the page could not be opened.
const NO_BROWSER: &str = "no browser was found; open the address yourself";

/// Runs the command. A signal ends it normally.
pub(crate) fn run(args: &ServeArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let catalog = settings.catalog()?;
    check_catalog(&catalog)?;
    let program = std::env::current_exe()
        .map_err(|e| CommandError::failed("cannot find the program itself").because(e))?;
    let server = Server::bind(Options {
        certificate: args.tls.then(|| Catalog::certificate(&catalog)),
        token_file: args.token_file.clone(),
        catalog,
        listen: args.listen,
        hosts: args.allow_host.clone(),
        allow_actions: args.allow_actions,
        rates: RateLimits { connection: args.rates.limit_rate, total: args.rates.limit_rate_total },
        program,
    })?;
    interrupt::arm().map_err(|e| CommandError::failed("cannot catch signals").because(e))?;
    let url = server.url_at(reachable(server.address()));
    announce(&url, server.fingerprint(), args, settings)?;
    if args.open {
        open_browser(&url, settings);
    }
    let stopper = server.stopper();
    std::thread::spawn(move || wait_for_signal(&stopper));
    server.run()?;
    interrupt::disarm();
    Ok(Exit::Done)
}

/// Refuses a path at which there can be no catalog, because no page would work. The catalog itself may be missing: the
/// first scan creates it.
fn check_catalog(path: &Path) -> Result<(), CommandError> {
    if path.is_dir() {
        let text = format!("the catalog {} is a directory", path.display());
        let hint = "name a file in it, such as --catalog DIR/catalog.db";
        return Err(CommandError::new(Exit::Catalog, text).hint(hint));
    }
    Ok(())
}

#[derive(Serialize)]
struct Announcement<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a str>,
}

fn announce(
    url: &str,
    fingerprint: Option<&str>,
    args: &ServeArgs,
    settings: &Settings,
) -> Result<(), CommandError> {
    stdout::print(|out| {
        if settings.json {
            writeln!(out, "{}", document(&Announcement { url, fingerprint }))?;
        } else {
            writeln!(out, "{url}")?;
            if args.qr {
                let code = QrCode::new(url).map_err(std::io::Error::other)?;
                // Scanners want dark modules on a light ground, and most terminals are dark.
                let mut image = code.render::<Dense1x2>();
                image.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark);
                writeln!(out, "{}", image.build())?;
            }
        }
        out.flush()
    })?;
    if settings.verbosity != Verbosity::Quiet && !settings.json {
        match fingerprint {
            Some(fingerprint) => settings.note(&format!("certificate SHA-256 {fingerprint}")),
            None if args.listen.ip().is_loopback() => {}
            None => settings
                .note("connections are not encrypted: use --tls, or only a network that you trust"),
        }
        if args.qr && args.listen.ip().is_loopback() {
            let text = "the QR code works only on this machine; for other devices, use --listen 0.0.0.0:8420";
            settings.note(text);
        }
        settings.note("press Ctrl-C to stop");
    }
    Ok(())
}

/// Returns the address that other machines can use, if the server listens on all addresses.
fn reachable(address: SocketAddr) -> SocketAddr {
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

fn open_browser(url: &str, settings: &Settings) {
    let mut command = Command::new("xdg-open");
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        // xdg-open may take as long as the browser is open.
        Ok(mut opener) => {
            let settings = settings.clone();
            std::thread::spawn(move || {
                if opener.wait().is_ok_and(|status| !status.success()) {
                    settings.complain(NO_BROWSER.as_bytes());
                }
            });
        }
        Err(error) => {
            let why = io_text(&error);
            settings.complain(format!("{NO_BROWSER} (xdg-open: {why})").as_bytes());
        }
    }
}

fn wait_for_signal(stopper: &Stopper) {
    while interrupt::caught().is_none() {
        std::thread::sleep(CHECK_INTERVAL);
    }
    stopper.stop();
}

impl From<serve::Error> for CommandError {
    fn from(error: serve::Error) -> CommandError {
        use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, NotFound, PermissionDenied};
        let failed = CommandError::failed(error.to_string());
        let (source, hint) = match error {
            serve::Error::Listen { source, .. } => {
                let hint = match source.kind() {
                    AddrInUse => {
                        "another program uses the port; choose another one with --listen PORT, or any free one with \
                         --listen 0"
                    }
                    PermissionDenied => {
                        "ports below 1024 are reserved; choose a higher one with --listen PORT"
                    }
                    AddrNotAvailable => {
                        "this machine does not have the address; --listen 0.0.0.0:PORT listens on all that it has"
                    }
                    _ => "",
                };
                (source, hint)
            }
            serve::Error::TokenFile { source, .. } => {
                let hint = match source.kind() {
                    NotFound => "lop creates the file, but not its directory",
                    PermissionDenied => "choose a file that you can read and write",
                    _ => "",
                };
                (source, hint)
            }
            serve::Error::Certificate { source, .. } | serve::Error::Start(source) => (source, ""),
            _ => return failed,
        };
        let failed = failed.because(source);
        if hint.is_empty() { failed } else { failed.hint(hint) }
    }
}
