//! `lop config`: shows each setting and where it comes from, or all errors in the configuration.

use std::io::{self, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::formats::{JsonPath, document};
use crate::output::names::Names;
use crate::output::stdout;
use crate::output::terminal::width;
use crate::quantity::{counted, size};
use crate::settings::{Config, ConfigFile, Configured, Origin, Rates, Settings};

/// An example of a configuration. `docs/config.md` contains the same text, and a test compares the two.
const EXAMPLE: &str = include_str!("config/example.toml");

/// Maximum width of the column of values, so that the lines of most configurations fit on a terminal.
const MAX_VALUE_WIDTH: usize = 40;

/// Runs the command. If there are errors in the configuration, prints all of them.
pub(crate) fn run(settings: &Settings) -> Result<Exit, CommandError> {
    let config = match Config::read() {
        Ok(config) => config,
        Err(errors) => return Ok(report_all(&errors, settings)),
    };
    let settings = settings.clone().with_config(config);
    let shown = shown(&settings)?;
    stdout::print(|out| {
        if settings.json {
            return writeln!(out, "{}", document(&Document::new(&shown, settings.config())));
        }
        write_text(out, &shown, settings.config())
    })?;
    Ok(Exit::Done)
}

/// Prints all errors and the exit record.
fn report_all(errors: &[CommandError], settings: &Settings) -> Exit {
    for error in errors {
        settings.report(error);
    }
    let texts: Vec<String> = errors.iter().map(CommandError::text).collect();
    settings.print_exit_record(Exit::Usage, &texts.join("; "));
    Exit::Usage
}

/// A setting with its values.
struct Setting {
    key: &'static str,
    values: Vec<Value>,
}

/// A value of a setting. If the setting is a list, each element is a value.
struct Value {
    /// The value as people read it.
    text: String,
    /// The value as programs read it. `None` if the setting is not set; `text` then describes the default.
    plain: Option<String>,
    origin: Origin,
}

/// Returns the settings that a configuration can change.
fn shown(settings: &Settings) -> Result<Vec<Setting>, CommandError> {
    let config = settings.config();
    let (catalog, origin) = settings.catalog_and_origin()?;
    let text = shown_path(&catalog);
    let catalog = Value { plain: Some(text.clone()), text, origin };
    let Rates { mirror, purge, serve, share } = &config.rates;
    let bytes = |rate: NonZeroU64| format!("{}/s", size(rate.get()));
    let entries =
        |rate: NonZeroU64| format!("{} per second", counted(rate.get(), "entry", "entries"));
    Ok(vec![
        Setting { key: "catalog", values: vec![catalog] },
        Setting { key: "roots", values: paths(config.roots(), ". (the working directory)") },
        Setting { key: "exclude", values: texts(&config.exclude, "nothing") },
        Setting { key: "keep", values: texts(config.keep(), "local, tidy, oldest, shortest-path") },
        Setting { key: "protect", values: paths(&config.protect, "nothing") },
        Setting { key: "rates.mirror", values: rate(mirror.as_ref(), bytes) },
        Setting { key: "rates.purge", values: rate(purge.as_ref(), entries) },
        Setting { key: "rates.serve", values: rate(serve.as_ref(), bytes) },
        Setting { key: "rates.share", values: rate(share.as_ref(), bytes) },
    ])
}

fn paths(configured: &[Configured<PathBuf>], default: &str) -> Vec<Value> {
    let show = |path: &PathBuf| shown_path(path);
    values(configured, default, show, show)
}

fn shown_path(path: &Path) -> String {
    path.display().to_string()
}

fn texts(configured: &[Configured<String>], default: &str) -> Vec<Value> {
    values(configured, default, String::clone, String::clone)
}

fn rate(
    configured: Option<&Configured<NonZeroU64>>,
    show: impl Fn(NonZeroU64) -> String,
) -> Vec<Value> {
    let configured = configured.map(std::slice::from_ref).unwrap_or_default();
    values(configured, "unlimited", |rate| show(*rate), NonZeroU64::to_string)
}

/// Returns the configured values, or the default if there are none.
fn values<T>(
    configured: &[Configured<T>],
    default: &str,
    show: impl Fn(&T) -> String,
    plain: impl Fn(&T) -> String,
) -> Vec<Value> {
    if configured.is_empty() {
        return vec![Value { text: default.to_string(), plain: None, origin: Origin::Default }];
    }
    let value = |one: &Configured<T>| Value {
        text: show(&one.value),
        plain: Some(plain(&one.value)),
        origin: Origin::Configured(one.place.clone()),
    };
    configured.iter().map(value).collect()
}

/// Writes the settings as text. If no configuration file exists, also writes an example.
fn write_text(out: &mut impl Write, shown: &[Setting], config: &Config) -> io::Result<()> {
    let found = config.files.iter().filter(|(_, exists)| *exists).count();
    if found == 0 {
        let looked_for: Vec<_> = config.files.iter().map(|(file, _)| file.to_string()).collect();
        let text = match &looked_for[..] {
            [] => "No configuration, because LOP_CONFIG is empty.".to_string(),
            files => format!("No configuration. lop looked for {}.", files.join(" and ")),
        };
        writeln!(out, "{}\n", shown_text(&text))?;
    }
    let texts = || shown.iter().flat_map(|setting| &setting.values).map(|value| width(&value.text));
    let columns = texts().filter(|&width| width <= MAX_VALUE_WIDTH).max().unwrap_or(0);
    for Setting { key, values } in shown {
        let mut title = *key;
        for Value { text, origin, .. } in values {
            let text = shown_text(text);
            let gap = columns.saturating_sub(width(&text));
            let origin = match origin {
                Origin::Named(name) => (*name).to_string(),
                Origin::Configured(place) => shown_text(&place.to_string()),
                Origin::Default => "default".to_string(),
            };
            writeln!(out, "{title:<12}  {text}{:gap$}  {origin}", "")?;
            title = "";
        }
    }
    if let (0, Some((first, _))) = (found, config.files.first()) {
        write!(out, "\nAn example of {}:\n\n{EXAMPLE}", shown_text(&first.to_string()))?;
    }
    Ok(())
}

/// Escapes a text so that it fits on one line, even in a pipe. Programs read the JSON document instead.
fn shown_text(text: &str) -> String {
    String::from_utf8_lossy(&Names::Escaped.show_text(text.as_bytes())).into_owned()
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    configuration: Vec<FileDocument<'a>>,
    settings: Vec<SettingDocument<'a>>,
}

/// A configuration file.
#[derive(Serialize)]
struct FileDocument<'a> {
    #[serde(flatten)]
    path: JsonPath<'a>,
    exists: bool,
}

#[derive(Serialize)]
struct SettingDocument<'a> {
    key: &'a str,
    /// The values. The list is empty if the setting is not set. The catalog always has a value.
    values: Vec<ValueDocument<'a>>,
}

#[derive(Serialize)]
struct ValueDocument<'a> {
    value: &'a str,
    /// The name of the option or variable that sets the value, or `file`, or `default`.
    origin: &'a str,
    #[serde(flatten)]
    path: Option<JsonPath<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
}

impl<'a> Document<'a> {
    fn new(shown: &'a [Setting], config: &'a Config) -> Document<'a> {
        let files = config.files.iter();
        Document {
            configuration: files
                .map(|(file, exists)| FileDocument { path: of_file(file), exists: *exists })
                .collect(),
            settings: shown.iter().map(SettingDocument::of).collect(),
        }
    }
}

impl<'a> SettingDocument<'a> {
    fn of(setting: &'a Setting) -> SettingDocument<'a> {
        let value = |value: &'a Value| {
            let (origin, place) = match &value.origin {
                Origin::Named(name) => (*name, None),
                Origin::Configured(place) => ("file", Some(place)),
                Origin::Default => ("default", None),
            };
            Some(ValueDocument {
                value: value.plain.as_deref()?,
                origin,
                path: place.map(|place| of_file(&place.file)),
                line: place.map(|place| place.line),
            })
        };
        SettingDocument {
            key: setting.key,
            values: setting.values.iter().filter_map(value).collect(),
        }
    }
}

fn of_file(file: &ConfigFile) -> JsonPath<'_> {
    JsonPath::new(file.path.as_os_str().as_encoded_bytes())
}
