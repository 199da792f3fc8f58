//! `lop import`: makes a catalog of an export.

use std::io::ErrorKind;
use std::path::Path;

use serde::Serialize;

use crate::args::ImportArgs;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::monitored;
use crate::output::formats::JsonPath;
use crate::output::stdout;
use crate::quantity::counted;
use crate::questions::catalog::open_writer;
use crate::settings::Settings;

/// Runs the command.
pub(crate) fn run(args: &ImportArgs, settings: &Settings) -> Result<Exit, CommandError> {
    let path = settings.catalog()?;
    let writer = open_writer(&path, settings)?;
    let imported = monitored(settings, |progress| {
        export::import(&args.dir, writer, progress).map_err(|error| explained(error, &args.dir))
    })?;
    let catalog = JsonPath::new(path.as_os_str().as_encoded_bytes());
    let summary = Summary { host: &imported.host, catalog, names: imported.names };
    let text = format!(
        "{} of {} imported into {}",
        counted(summary.names, "name", "names"),
        summary.host,
        path.display()
    );
    stdout::print_summary_or_text(&summary, &text, settings)?;
    Ok(Exit::Done)
}

#[derive(Serialize)]
struct Summary<'a> {
    host: &'a str,
    #[serde(flatten)]
    catalog: JsonPath<'a>,
    /// Names of files.
    names: u64,
}

/// Returns the error of an import of the folder `dir`, with advice.
fn explained(error: export::Error, dir: &Path) -> CommandError {
    use export::Error;
    const DAMAGED: &str = "the export is damaged: copy it again, or export the host again";
    let cannot = || format!("cannot import {}", dir.display());
    let message = error.to_string();
    match error {
        Error::Catalog(error) if error.is_full() => CommandError::failed(cannot())
            .because(error)
            .hint("free some space, or choose another place: --catalog FILE"),
        Error::Catalog(error @ catalog::Error::Exists(_)) => CommandError::new(
            Exit::Catalog,
            format!("cannot import into an existing catalog: {error}"),
        )
        .hint("name a new file: --catalog FILE"),
        Error::Catalog(error) => error.into(),
        Error::Interrupted(error) => error.into(),
        Error::File(error) => {
            let kind = error.source.kind();
            let is_missing_table = kind == ErrorKind::NotFound && error.path != dir;
            let error = CommandError::from(error);
            match kind {
                ErrorKind::PermissionDenied => {
                    error.hint("an export is private: run as the user who exported it")
                }
                _ if is_missing_table => error.hint(DAMAGED),
                _ => error,
            }
        }
        Error::Table { source, .. } => {
            CommandError::failed(format!("cannot read {message}")).because(source).hint(DAMAGED)
        }
        Error::Unreadable { .. } => CommandError::failed(format!("cannot import {message}"))
            .hint("export the host again, without --key and --names"),
        Error::Invalid { path, .. } => {
            let error = CommandError::failed(format!("cannot import {message}"));
            match path == dir {
                true if dir.join("_MANIFEST.json").exists() => error,
                true => error.hint("give the folder of one export, HOST/EXPORT"),
                false => error.hint(DAMAGED),
            }
        }
        _ => CommandError::failed(message),
    }
}
