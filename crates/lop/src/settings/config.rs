//! The configuration: values that apply unless an argument overrides them.
//!
//! The system has a configuration file, and each user may have another one. A value of the user replaces the same value
//! of the system. Patterns and protected folders are exceptions: those of both files apply, because a user who protects
//! a folder must not remove the protection that the administrator has configured. If no file exists, no value is set.
//!
//! Each value contains its file and line, so that messages can name them. This module reads and checks the values. The
//! commands apply them, and MUST give precedence to arguments.

mod document;
mod file;
mod value;

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error::CommandError;
use document::Document;

pub(crate) use file::ConfigFile;

/// The configuration of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Config {
    /// The files that lop looked for, each with a flag that is true if the file exists. Earlier files have precedence.
    pub(crate) files: Vec<(Arc<ConfigFile>, bool)>,
    /// The catalog.
    pub(crate) catalog: Option<Configured<PathBuf>>,
    /// The directories that `lop scan` scans by default. `None` if no file has this key.
    roots: Option<Vec<Configured<PathBuf>>>,
    /// Patterns of files and directories that `lop scan` skips.
    pub(crate) exclude: Vec<Configured<String>>,
    /// The rules that choose the kept file. `None` if no file has this key.
    keep: Option<Vec<Configured<String>>>,
    /// Folders in which lop removes and replaces nothing.
    pub(crate) protect: Vec<Configured<PathBuf>>,
    pub(crate) rates: Rates,
}

/// Limits of the rates of commands.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rates {
    /// Bytes per second that `lop mirror` copies.
    pub(crate) mirror: Option<Configured<NonZeroU64>>,
    /// Entries per second that `lop purge` removes.
    pub(crate) purge: Option<Configured<NonZeroU64>>,
    /// Bytes per second that `lop serve` sends on all connections together.
    pub(crate) serve: Option<Configured<NonZeroU64>>,
    /// Bytes per second that `lop share` sends on all connections together.
    pub(crate) share: Option<Configured<NonZeroU64>>,
}

/// A value, and the place where it is set.
#[derive(Clone, Debug)]
pub(crate) struct Configured<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

/// A line of a configuration file.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) file: Arc<ConfigFile>,
    pub(crate) line: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Config {
    /// Reads the files that exist.
    ///
    /// # Errors
    ///
    /// Fails with all errors in all files, in the order of the files and lines.
    pub(crate) fn read() -> Result<Config, Vec<CommandError>> {
        let (mut config, mut errors) = (Config::default(), Vec::new());
        for file in file::candidates().map_err(|error| vec![error])? {
            let file = Arc::new(file);
            match file.read() {
                Ok(None) => config.files.push((file, false)),
                Ok(Some(bytes)) => {
                    let document = Document::parse(&file, &bytes);
                    config.files.push((file, true));
                    match document {
                        Ok(document) => config.add(document),
                        Err(more) => errors.extend(more),
                    }
                }
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(config) } else { Err(errors) }
    }

    /// Returns the directories that `lop scan` scans by default. If the list is empty, it scans the working directory.
    pub(crate) fn roots(&self) -> &[Configured<PathBuf>] {
        self.roots.as_deref().unwrap_or_default()
    }

    /// Returns the configured rules that choose the kept file. They apply before the default rules.
    pub(crate) fn keep(&self) -> &[Configured<String>] {
        self.keep.as_deref().unwrap_or_default()
    }

    /// Adds the values of a file. Files that were added before have precedence.
    fn add(&mut self, document: Document) {
        let Document { catalog, roots, exclude, keep, protect, rates } = document;
        let Rates { mirror, purge, serve, share } = rates;
        self.catalog = self.catalog.take().or(catalog);
        self.roots = self.roots.take().or(roots);
        self.keep = self.keep.take().or(keep);
        self.exclude.extend(exclude);
        self.protect.extend(protect);
        self.rates.mirror = self.rates.mirror.take().or(mirror);
        self.rates.purge = self.rates.purge.take().or(purge);
        self.rates.serve = self.rates.serve.take().or(serve);
        self.rates.share = self.rates.share.take().or(share);
    }
}

#[cfg(test)]
mod tests;
