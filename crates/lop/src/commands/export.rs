//! `lop export`: writes the catalog as Parquet files.

use std::io::ErrorKind;
use std::path::Path;

use export::{Exported, Key, Names, Options};
use fsops::{File, Kind};
use runtime::epoch::now_ms;
use serde::Serialize;

use crate::args::{ExportArgs, ExportNames};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::monitored;
use crate::output::formats::JsonPath;
use crate::output::stdout;
use crate::quantity::{counted, size};
use crate::questions::catalog::open;
use crate::settings::Settings;

/// Largest key file that is read, in bytes.
const LARGEST_KEY: u64 = 64 << 10;

/// Runs the command.
pub(crate) fn run(args: &ExportArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let url = args.out.to_str().filter(|out| out.contains("://"));
    if let Some(url) = url {
        let message = format!("cannot export to {url}: lop exports only to folders");
        return Err(CommandError::usage(message).hint("export to a folder, and copy that folder"));
    }
    let key = args.key.as_deref().map(read_key).transpose()?;
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
    let options = Options { host, names, key, created_ms: now_ms() };
    let catalog = open(settings)?;
    let exported = monitored(settings, |progress| {
        export::export(&catalog, &args.out, &options, progress).map_err(explained)
    })?;
    let summary = Summary::new(&exported, &options.host);
    stdout::print_summary_or_text(&summary, &summary.text(&exported.path), settings)?;
    Ok(Exit::Done)
}

/// Returns the name of this host. Whether an export may have this name is checked later.
fn host_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

fn read_key(path: &Path) -> Result<Key, CommandError> {
    let hint = "to make one: head -c 32 /dev/urandom > FILE";
    let cannot = || CommandError::failed(format!("cannot read the key {}", path.display()));
    // A link is followed, because the user named it.
    let file = path.canonicalize().and_then(|path| File::open(&path));
    let file = file.map_err(|e| cannot().because(e).hint(hint))?;
    let stat = file.stat().map_err(|e| cannot().because(e))?;
    if stat.kind != Kind::File || stat.size > LARGEST_KEY {
        let message = format!("cannot use the key {}", path.display());
        let reason = "it is not a regular file of at most 64 KiB";
        return Err(CommandError::failed(format!("{message}: {reason}")).hint(hint));
    }
    let mut secret = vec![0; usize::try_from(stat.size).unwrap_or_default()];
    let read = file.read_at(&mut secret, 0).map_err(|e| cannot().because(e))?;
    Key::new(&secret[..read])
        .map_err(|e| CommandError::failed(format!("the key {} {e}", path.display())).hint(hint))
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

/// Returns the error of an export, with advice.
fn explained(error: export::Error) -> CommandError {
    use export::Error;
    let message = error.to_string();
    match error {
        Error::Catalog(error) => error.into(),
        Error::Interrupted(error) => error.into(),
        Error::Host(_) => CommandError::usage(message).hint("name this host: --host NAME"),
        Error::Busy(_) => CommandError::failed(message).hint("try again when it has ended"),
        Error::File(error) => {
            let hint = match error.source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    "free some space, or export to another file system"
                }
                _ => "export to a folder in which you can create folders",
            };
            CommandError::from(error).hint(hint)
        }
        Error::Table { source, .. } => {
            CommandError::failed(format!("cannot write {message}")).because(source)
        }
        _ => CommandError::failed(message),
    }
}
