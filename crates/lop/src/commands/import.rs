//! `lop import`: makes a catalog of an export.

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
        export::import(&args.dir, writer, progress).map_err(CommandError::from)
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
