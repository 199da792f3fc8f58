//! `lop export`: writes the catalog as Parquet files.

mod store;

use std::io::ErrorKind;
use std::path::Path;

use export::{Exported, Key, Names, Options};
use runtime::epoch::now_ms;
use serde::Serialize;

use self::store::{Place, Scratch};
use crate::args::{ExportArgs, ExportNames};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::monitored;
use crate::output::formats::JsonPath;
use crate::output::stdout;
use crate::quantity::{counted, size};
use crate::questions::catalog::open;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &ExportArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let url = args.out.to_str().filter(|out| out.contains("://"));
    let place = url.map(|url| Place::new(url, args.replace)).transpose()?;
    let key = args.key.as_deref().map(Key::read).transpose().map_err(explained)?;
    let names = match (args.names, &key) {
        (Some(ExportNames::Keyed), None) => {
            let error = CommandError::usage("--names keyed needs a key");
            return Err(error.hint("give the key that all hosts use: --key FILE"));
        }
        (Some(ExportNames::Plain), _) | (None, None) => Names::Plain,
        (Some(ExportNames::Keyed) | None, Some(_)) => Names::Keyed,
        (Some(ExportNames::None), _) => Names::None,
    };
    let host = args.host.clone().unwrap_or_else(host_name);
    let options = Options { host, names, key, created_ms: now_ms(), replaces: args.replace };
    let catalog = open(settings)?;
    let scratch = place.as_ref().map(|_| Scratch::create(&options.host)).transpose()?;
    let out = scratch.as_ref().map_or(args.out.as_path(), Scratch::path);
    let exported = monitored(settings, |progress| {
        let mut exported = export::export(&catalog, out, &options, progress).map_err(explained)?;
        if let Some(place) = &place {
            place.upload(out, progress)?;
            exported.path = place.url(&exported.path);
        }
        Ok(exported)
    })?;
    drop(scratch);
    let summary = Summary::new(&exported, &options.host);
    stdout::print_summary_or_text(&summary, &summary.text(&exported.path), settings)?;
    if exported.without_digest > exported.undigested {
        let files = counted(exported.without_digest, "file has", "files have");
        settings.hint(&format!(
            "{files} no digest, so they cannot be compared with other hosts; lop scan --hash-all adds digests"
        ));
    }
    Ok(Exit::Done)
}

/// Returns the name of this host. Whether an export may have this name is checked later.
pub(super) fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

#[derive(Serialize)]
struct Summary<'a> {
    host: &'a str,
    #[serde(flatten)]
    path: JsonPath<'a>,
    /// Names of files.
    names: u64,
    files: u64,
    /// Files that are identical to another one, but have no digest.
    undigested: u64,
    /// Files, except empty ones, that have no digest.
    without_digest: u64,
    bytes: u64,
}

impl<'a> Summary<'a> {
    fn new(exported: &'a Exported, host: &'a str) -> Summary<'a> {
        Summary {
            host,
            path: JsonPath::new(exported.path.as_os_str().as_encoded_bytes()),
            names: exported.names,
            files: exported.inodes,
            undigested: exported.undigested,
            without_digest: exported.without_digest,
            bytes: exported.bytes,
        }
    }

    fn text(&self, path: &Path) -> String {
        let mut text = format!(
            "{} of {} exported to {}, {}",
            counted(self.files, "file", "files"),
            self.host,
            path.display(),
            size(self.bytes)
        );
        if self.undigested > 0 {
            text.push_str(&format!(
                "\n{} identical to another one, but without a digest because of large holes",
                counted(self.undigested, "file is", "files are")
            ));
        }
        text
    }
}

/// Returns the error of an export or a survey, with advice.
pub(super) fn explained(error: export::Error) -> CommandError {
    use export::Error;
    let message = error.to_string();
    match error {
        Error::Catalog(error) => error.into(),
        Error::Interrupted(error) => error.into(),
        Error::Key { .. } => {
            CommandError::failed(message).hint("to make a key: head -c 32 /dev/urandom > FILE")
        }
        Error::Host(_) => CommandError::usage(message).hint("name this host: --host NAME"),
        Error::Busy(_) => CommandError::failed(message).hint("try again when it has ended"),
        Error::File(error) => {
            let hint = match error.source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    "free some space, or choose a folder on another file system"
                }
                _ => "choose a folder in which you can create folders",
            };
            CommandError::from(error).hint(hint)
        }
        Error::Table { source, .. } => {
            CommandError::failed(format!("cannot write {message}")).because(source)
        }
        _ => CommandError::failed(message),
    }
}
