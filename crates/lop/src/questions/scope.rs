//! The paths to which the user limited a question or an action, resolved and looked up in the catalog.

use std::path::{Path, PathBuf};

use catalog::Catalog;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::paths::{is_at_or_below, resolve_all, shell_word};
use crate::settings::Settings;

/// The absolute paths that limit an answer. If there are none, the answer covers the whole catalog.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    paths: Vec<Vec<u8>>,
    /// True if some of the paths are not in the catalog.
    is_partial: bool,
}

impl Scope {
    /// Resolves the paths that the user typed, and reports each path that is not in the catalog.
    ///
    /// # Errors
    ///
    /// Fails if a path does not exist, or if none of the paths is in the catalog.
    pub(crate) fn new(
        typed: &[PathBuf],
        catalog: &Catalog,
        settings: &Settings,
    ) -> Result<Scope, CommandError> {
        let paths = resolve_all(typed)?;
        let roots = catalog.roots()?;
        let mut unknown = Vec::new();
        for (path, typed) in paths.iter().zip(typed) {
            // The catalog also contains roots without files.
            if !roots.contains(path) && !catalog.remembers(path)? {
                unknown.push(typed);
            }
        }
        match unknown.as_slice() {
            [first, ..] if unknown.len() == paths.len() => return Err(nothing_remembered(first)),
            _ => {}
        }
        for path in &unknown {
            let path = path.as_os_str().as_encoded_bytes();
            settings.complain(&[path, b": not in the catalog; scan it first"].concat());
        }
        Ok(Scope { paths, is_partial: !unknown.is_empty() })
    }

    /// Returns whether a path is in the scope.
    pub(crate) fn has(&self, path: &[u8]) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|dir| is_at_or_below(dir, path))
    }

    /// Returns `exit`, or the code for a partial result if some of the paths are not in the catalog.
    pub(crate) fn exit(&self, exit: Exit, settings: &Settings) -> Exit {
        settings.partial_if(self.is_partial, exit, "some of the paths are not in the catalog")
    }
}

/// Returns the error for a path that is not in the catalog. The hint can be pasted into a shell.
pub(crate) fn nothing_remembered(path: &Path) -> CommandError {
    let error = CommandError::new(Exit::Catalog, format!("{}: not in the catalog", path.display()));
    match shell_word(path).filter(|_| path.is_dir() || path.is_file()) {
        Some(word) => error.hint(format!("scan it first: lop scan {word}")),
        None => error,
    }
}
