//! `lop share`: serves folders over HTTP until a signal arrives.

use std::io;
use std::path::PathBuf;

use catalog::Catalog;
use runtime::Throttle;
use share::{Address, Options, Rates, Share, Statistics};

use super::serving::{
    Announcement, failed, listen_hint, reachable, stop_on_signal, token_file_hint, total_rate,
};
use crate::args::ShareArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::settings::{Settings, Verbosity};

/// The host in the URL of a Unix socket. Programs that use one need some name.
const UNIX_HOST: &str = "localhost";

/// Runs the command. A signal ends it normally.
pub(crate) fn run(args: &ShareArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let share = Share::bind(options(args, settings)?)?;
    let statistics = args.stats.then(|| share.statistics_reader());
    let stopper = share.stopper();
    stop_on_signal(move || stopper.stop())?;
    announce(&share, args, settings)?;
    share.run()?;
    crate::monitor::interrupt::disarm();
    if let Some(statistics) = statistics {
        print_statistics(&statistics.read(), settings);
    }
    Ok(Exit::Done)
}

fn options(args: &ShareArgs, settings: &Settings) -> Result<Options, CommandError> {
    let certificate = if args.tls { Some(certificate(settings)?) } else { None };
    // Without a place for it, there is no catalog.
    let catalog = settings.catalog().ok();
    let mut own = catalog.as_deref().map(Catalog::own_paths).unwrap_or_default();
    own.extend(args.token_file.clone());
    let listen = match &args.unix {
        Some(path) => Address::Unix(path.clone()),
        None => Address::Tcp(args.listen),
    };
    let rates = Rates {
        connection: args.rates.limit_rate,
        after: args.limit_rate_after.unwrap_or(0),
        total: Throttle::new(total_rate(
            &args.rates,
            settings.config().rates.share.as_ref(),
            settings,
        )),
    };
    let warnings = settings.clone();
    Ok(Options {
        directories: args.dirs.clone(),
        listen,
        rates,
        is_public: args.public,
        token_file: args.token_file.clone(),
        certificate,
        hosts: args.allow_host.clone(),
        catalog,
        own,
        has_statistics_page: args.stats,
        warn: Box::new(move |text| {
            if warnings.verbosity != Verbosity::Quiet {
                warnings.complain(text.as_bytes());
            }
        }),
    })
}

/// Returns the path of the certificate, which is the one of `lop serve`. Creates its directory.
fn certificate(settings: &Settings) -> Result<PathBuf, CommandError> {
    let file = Catalog::certificate(&settings.catalog()?);
    if let Some(dir) = file.parent() {
        fsops::create_dir_private(dir)?;
    }
    Ok(file)
}

fn announce(share: &Share, args: &ShareArgs, settings: &Settings) -> Result<(), CommandError> {
    let (listen, host) = match share.address() {
        Address::Tcp(address) => (Some(*address), reachable(*address).to_string()),
        Address::Unix(_) => (None, UNIX_HOST.to_owned()),
    };
    let is_open = args.public && listen.is_some_and(|address| !address.ip().is_loopback());
    if is_open && !settings.json && settings.verbosity != Verbosity::Quiet {
        settings.note("everyone in the network can read these folders");
    }
    let announcement = Announcement {
        url: &share.url_at(&host),
        unix: args.unix.as_deref(),
        fingerprint: share.fingerprint(),
        listen,
        qr: args.qr,
    };
    announcement.print(settings)
}

fn print_statistics(statistics: &Statistics, settings: &Settings) {
    let rows = statistics.rows();
    let width = rows.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
    for (label, value) in rows {
        settings.summarize(format!("{label:width$}  {value}").as_bytes());
    }
}

impl From<share::Error> for CommandError {
    fn from(error: share::Error) -> CommandError {
        use share::Error::{Certificate, Directory, Listen, NoName, SameName, Start, TokenFile};
        let text = error.to_string();
        match error {
            Directory { source, .. } if source.kind() == io::ErrorKind::NotADirectory => {
                failed(text, source, "share the folder that contains it")
            }
            Directory { source, .. } | Certificate { source, .. } | Start(source) => {
                failed(text, source, "")
            }
            SameName { .. } | NoName(_) => CommandError::new(Exit::Usage, text)
                .hint("share the folder that contains them, or start lop share once for each"),
            Listen { address: Address::Tcp(_), source } => {
                let hint = listen_hint(&source);
                failed(text, source, hint)
            }
            Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                failed(text, source, "another server or another file has this path")
            }
            Listen { source, .. } => failed(text, source, ""),
            TokenFile { source, .. } => {
                let hint = token_file_hint(&source);
                failed(text, source, hint)
            }
            _ => CommandError::failed(text),
        }
    }
}
