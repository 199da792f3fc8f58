//! Resolved settings, worked out once per run from the parsed arguments of [`crate::args`].
//!
//! [`Settings`] holds what applies to every command, and prints the messages on standard error. [`Config`] holds the
//! values of the configuration files. [`ScanSettings`], [`Patterns`] and [`Resources`] hold the rest. Only this module
//! reads the environment and checks whether the standard streams are terminals, so no other module can make a command
//! behave differently because of them.

mod config;
mod environment;
mod patterns;
mod resources;
mod scan;

use std::path::PathBuf;
use std::sync::Arc;

use catalog::Catalog;
use serde::Serialize;
use walk::OwnFiles;

use crate::args::{Format, GlobalArgs, Show};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::document_with;
use crate::output::stream::{Stream, write_line};

pub(crate) use config::{Config, ConfigFile, Configured, Place, Rates};
pub(crate) use environment::{home_dirs, is_dumb_terminal, notify_socket};
pub(crate) use patterns::Patterns;
pub(crate) use resources::Resources;
pub(crate) use scan::ScanSettings;

/// The variable with the path of the catalog.
const CATALOG_VARIABLE: &str = "LOP_CATALOG";

/// The amount of output besides the results of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// How progress is shown on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgressStyle {
    Hidden,
    /// As text: one line that is redrawn on a terminal, or several lines in a log.
    Text,
    /// As lines of JSON.
    Json,
}

/// Settings that apply to every command.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) verbosity: Verbosity,
    pub(crate) json: bool,
    pub(crate) progress: ProgressStyle,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    /// The path of the catalog in the arguments or in a variable, and its origin.
    catalog: Option<(PathBuf, Origin)>,
    config: Arc<Config>,
}

/// Where a setting comes from.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// An option or an environment variable.
    Named(&'static str),
    /// A line of the configuration.
    Configured(Place),
    /// Nobody set it.
    Default,
}

impl Settings {
    /// Resolves the global arguments.
    pub(crate) fn new(args: GlobalArgs) -> Settings {
        let stderr = Stream::stderr(args.color);
        let verbosity = match (args.quiet, args.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        };
        let progress = match args.progress {
            Show::Auto if stderr.terminal && verbosity != Verbosity::Quiet => ProgressStyle::Text,
            Show::Auto | Show::Never => ProgressStyle::Hidden,
            Show::Always => ProgressStyle::Text,
            Show::Json => ProgressStyle::Json,
        };
        Settings {
            verbosity,
            json: args.json,
            progress,
            stdout: Stream::stdout(args.color),
            stderr,
            catalog: args.catalog.map(|path| (path, Origin::Named("--catalog"))).or_else(|| {
                environment::path(CATALOG_VARIABLE)
                    .map(|path| (path, Origin::Named(CATALOG_VARIABLE)))
            }),
            config: Arc::default(),
        }
    }

    /// Returns the same settings with the values of the configuration.
    pub(crate) fn with_config(self, config: Config) -> Settings {
        Settings { config: Arc::new(config), ..self }
    }

    /// Reads the configuration, and returns the same settings with its values.
    ///
    /// # Errors
    ///
    /// Returns the first error in the configuration.
    pub(crate) fn configured(self) -> Result<Settings, CommandError> {
        match Config::read() {
            Ok(config) => Ok(self.with_config(config)),
            Err(mut errors) => {
                let more = errors.len() - 1;
                let first = errors.swap_remove(0);
                Err(if more > 0 { first.hint("'lop config' shows all errors") } else { first })
            }
        }
    }

    /// Returns the configuration. It is empty for the commands that do not use it.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns whether progress is shown, and totals for it are therefore worth counting.
    pub(crate) fn shows_progress(&self) -> bool {
        self.progress != ProgressStyle::Hidden
    }

    /// Returns the same settings with the progress turned off.
    pub(crate) fn without_progress(&self) -> Settings {
        Settings { progress: ProgressStyle::Hidden, ..self.clone() }
    }

    /// Returns the absolute path of the catalog.
    ///
    /// # Errors
    ///
    /// Fails as described at [`Settings::catalog_and_origin`].
    pub(crate) fn catalog(&self) -> Result<PathBuf, CommandError> {
        self.catalog_and_origin().map(|(path, _)| path)
    }

    /// Returns the absolute path of the catalog, and where it comes from.
    ///
    /// `--catalog` takes precedence over `LOP_CATALOG`, `LOP_CATALOG` over the configuration, and all of them over the
    /// location that the XDG base directory specification defines. That specification requires a relative
    /// `XDG_STATE_HOME` to be ignored.
    ///
    /// # Errors
    ///
    /// Fails if none of these gives a path, or if the path is relative and the current directory is unknown.
    pub(crate) fn catalog_and_origin(&self) -> Result<(PathBuf, Origin), CommandError> {
        if let Some((path, origin)) = &self.catalog {
            let unknown =
                |e| CommandError::failed("cannot determine the current directory").because(e);
            return Ok((std::path::absolute(path).map_err(unknown)?, origin.clone()));
        }
        if let Some(Configured { value, place }) = &self.config.catalog {
            return Ok((value.clone(), Origin::Configured(place.clone())));
        }
        let home = || environment::absolute_path("HOME").map(|home| home.join(".local/state"));
        let state = environment::absolute_path("XDG_STATE_HOME").or_else(home);
        let usual = state.map(|state| (state.join("lop/catalog.db"), Origin::Default));
        usual.ok_or_else(|| {
            let is_set = environment::path("HOME").is_some();
            let problem = if is_set { "not an absolute path" } else { "not set" };
            let message = format!("no place for the catalog: HOME is {problem}");
            CommandError::new(Exit::Catalog, message)
                .hint("give its path with --catalog FILE or in the variable LOP_CATALOG")
        })
    }

    /// Returns lop's own files: the catalog and its journals. The set is empty if there is no place for a catalog.
    pub(crate) fn own(&self) -> OwnFiles {
        OwnFiles::new(&self.own_paths())
    }

    /// Returns the paths of lop's own files, whether they exist or not.
    pub(crate) fn own_paths(&self) -> Vec<PathBuf> {
        self.catalog().map(|path| Catalog::own_paths(&path)).unwrap_or_default()
    }

    /// Prints which value of the configuration has an effect, if the user wants to know more.
    pub(crate) fn note_configured(&self, what: &str, place: &Place) {
        if self.verbosity == Verbosity::Verbose {
            self.note(&format!("{what} ({place})"));
        }
    }

    /// Returns the output format that is used if the user did not choose one.
    pub(crate) fn default_format(&self) -> Format {
        if self.json { Format::Json } else { Format::Text }
    }

    /// Prints a message to standard error, prefixed with `lop: `.
    pub(crate) fn complain(&self, text: &[u8]) {
        self.stderr.complain(text);
    }

    /// Prints a line to standard error without the prefix `lop: `.
    pub(crate) fn note(&self, text: &str) {
        self.stderr.note(text.as_bytes());
    }

    /// Prints the summary of a command to standard error, unless `--quiet` or `--json` is given.
    pub(crate) fn summarize(&self, text: &[u8]) {
        if !self.json && self.verbosity != Verbosity::Quiet {
            self.stderr.note(text);
        }
    }

    /// Ends a command with the summary `text`. Prints the exit record and returns the exit code.
    ///
    /// # Errors
    ///
    /// Returns the error in `ended`, which stopped the work early.
    pub(crate) fn finish(
        &self,
        ended: Result<(), CommandError>,
        exit: Exit,
        text: &[u8],
    ) -> Result<Exit, CommandError> {
        ended?;
        self.print_exit_record(exit, &String::from_utf8_lossy(text));
        Ok(exit)
    }

    /// Does the same as [`Exit::partial_if`], and prints the exit record with the reason `why` if the exit code
    /// changes.
    pub(crate) fn partial_if(&self, is_partial: bool, exit: Exit, why: &str) -> Exit {
        let partial = exit.partial_if(is_partial);
        if partial != exit {
            self.print_exit_record(partial, why);
        }
        partial
    }

    /// Suggests the next command, if standard error is a terminal.
    pub(crate) fn hint(&self, text: &str) {
        if self.stderr.terminal && !self.json && self.verbosity != Verbosity::Quiet {
            self.note(text);
        }
    }

    /// Prints an error and its hints to standard error. The run continues.
    pub(crate) fn report(&self, error: &CommandError) {
        self.complain(error.text().as_bytes());
        for hint in error.hints() {
            self.note(&format!("hint: {hint}"));
        }
    }

    /// Prints the error that ends the run, and the exit record.
    pub(crate) fn report_last(&self, error: &CommandError) {
        self.report(error);
        self.print_exit_record(error.exit, &error.text());
    }

    /// With `--json`, prints how the run ended as a line of JSON. Prints nothing for exit codes that report success or
    /// answer a question with no.
    pub(crate) fn print_exit_record(&self, exit: Exit, message: &str) {
        if self.json && !matches!(exit, Exit::Done | Exit::No) {
            write_line(&[exit_record(exit, message).as_bytes()]);
        }
    }
}

/// Prints the exit record for wrong arguments. They are found before there are any settings.
pub(crate) fn print_usage_record(message: &str) {
    write_line(&[exit_record(Exit::Usage, message).as_bytes()]);
}

fn exit_record(exit: Exit, message: &str) -> String {
    #[derive(Serialize)]
    struct Error<'m> {
        code: u8,
        message: &'m str,
    }
    document_with("error", &Error { code: exit.code(), message })
}
