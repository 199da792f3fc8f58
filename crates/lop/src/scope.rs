//! The PATHs that limit a question or an action, resolved and looked up in the catalog.

use std::path::PathBuf;

use catalog::Catalog;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::plans::{absolute, is_in};
use crate::settings::Settings;

/// The absolute paths that an answer covers; an empty list covers the whole catalog.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    paths: Vec<Vec<u8>>,
    /// Of these, those of which nothing is remembered.
    unknown: usize,
}

impl Scope {
    /// Resolves paths as they were typed, and complains of each of which nothing is remembered.
    pub(crate) fn new(
        typed: &[PathBuf],
        catalog: &Catalog,
        settings: &Settings,
    ) -> Result<Scope, CommandError> {
        let paths = absolute(typed)?;
        let roots = catalog.roots()?;
        let mut unknown = 0;
        for (path, typed) in paths.iter().zip(typed) {
            // A scanned directory may have no file.
            if !roots.contains(path) && !catalog.remembers(path)? {
                unknown += 1;
                let typed = typed.as_os_str().as_encoded_bytes();
                settings
                    .complain(&[typed, b": nothing is remembered there; scan it first"].concat());
            }
        }
        Ok(Scope { paths, unknown })
    }

    /// Returns whether a path is one of them, or below one.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|dir| is_in(dir, path))
    }

    /// Returns the exit code of a run that ended with `exit` for the paths that the catalog knows.
    pub(crate) fn exit(&self, exit: Exit, settings: &Settings) -> Exit {
        let exit = match (self.unknown, exit) {
            (1.., Exit::Done | Exit::Partial) if self.unknown == self.paths.len() => Exit::Catalog,
            (1.., Exit::Done) => Exit::Partial,
            _ => return exit,
        };
        settings.print_exit_record(exit, "nothing is remembered of some of the paths");
        exit
    }
}
