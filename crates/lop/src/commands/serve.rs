//! `lop serve`: serves the pages for reviewing duplicates until a signal arrives.

use std::path::Path;
use std::process::{Command, Stdio};

use catalog::Catalog;
use serve::{Options, RateLimits, Server};

use super::serving::{
    Announcement, failed, listen_hint, reachable, stop_on_signal, token_file_hint, total_rate,
};
use crate::args::ServeArgs;
use crate::error::{CommandError, io_text};
use crate::exit::Exit;
use crate::monitor::interrupt;
use crate::settings::Settings;

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
        rates: RateLimits {
            connection: args.rates.limit_rate,
            total: total_rate(&args.rates, settings.config().rates.serve.as_ref(), settings),
        },
        program,
    })?;
    let stopper = server.stopper();
    stop_on_signal(move || stopper.stop())?;
    let url = server.url_at(reachable(server.address()));
    let announcement = Announcement {
        url: &url,
        unix: None,
        fingerprint: server.fingerprint(),
        listen: Some(server.address()),
        qr: args.qr,
    };
    announcement.print(settings)?;
    if args.open {
        open_browser(&url, settings);
    }
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

impl From<serve::Error> for CommandError {
    fn from(error: serve::Error) -> CommandError {
        let text = error.to_string();
        match error {
            serve::Error::Listen { source, .. } => {
                let hint = listen_hint(&source);
                failed(text, source, hint)
            }
            serve::Error::TokenFile { source, .. } => {
                let hint = token_file_hint(&source);
                failed(text, source, hint)
            }
            serve::Error::Certificate { source, .. } | serve::Error::Start(source) => {
                failed(text, source, "")
            }
            _ => CommandError::failed(text),
        }
    }
}
