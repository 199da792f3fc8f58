//! Protected folders, in which commands remove and replace nothing.
//!
//! `--protect` and the configuration protect folders. lop recognises a folder by its path, with and without links, and
//! by its location on its file system, so a folder is also protected where a bind mount shows it. Commands check paths
//! with this module before they act. The module itself changes no files.

use std::path::PathBuf;

use fsops::{DirLocation, Mounts};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::paths::{is_at_or_below, possible_paths, resolve_all};
use crate::settings::{Settings, Verbosity};

/// The protected folders of a run.
#[derive(Debug, Default)]
pub(crate) struct Protected {
    folders: Vec<Folder>,
    mounts: Mounts,
}

/// A protected folder or file.
#[derive(Debug)]
pub(crate) struct Folder {
    /// The absolute paths of the folder, with links resolved and as typed.
    paths: Vec<Vec<u8>>,
    /// The location of the folder, and the locations of the mounts in it.
    locations: Vec<DirLocation>,
    /// The option or the line of the configuration that protects the folder.
    by: String,
}

impl Protected {
    /// Returns the folders that the configuration protects. The folders need not exist, because they may be on a disk
    /// that is not mounted.
    ///
    /// # Errors
    ///
    /// Fails only if the configuration contains a relative path, which the parser of the configuration prevents.
    pub(crate) fn configured(settings: &Settings) -> Result<Protected, CommandError> {
        Protected::new(&[], settings)
    }

    /// Returns the folders that the configuration and `--protect` protect.
    ///
    /// # Errors
    ///
    /// Fails if a path of `--protect` does not exist.
    pub(crate) fn new(typed: &[PathBuf], settings: &Settings) -> Result<Protected, CommandError> {
        let mut known = Vec::new();
        for path in resolve_all(typed)? {
            known.push((vec![path], "--protect".to_string()));
        }
        for folder in &settings.config().protect {
            known.push((possible_paths(&folder.value)?, folder.place.to_string()));
        }
        if known.is_empty() {
            return Ok(Protected::default());
        }
        let mounts = Mounts::read();
        let folder = |(paths, by): (Vec<Vec<u8>>, String)| {
            let locations = paths.iter().flat_map(|path| mounts.locations_below(path)).collect();
            Folder { paths, locations, by }
        };
        Ok(Protected { folders: known.into_iter().map(folder).collect(), mounts })
    }

    /// Returns whether nothing is protected.
    pub(crate) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// Returns the protected folder that contains an absolute path without links, or that is at this path.
    pub(crate) fn folder_of(&self, path: &[u8]) -> Option<&Folder> {
        let here = self.locations(path);
        self.folders.iter().find(|folder| {
            folder.paths.iter().any(|dir| is_at_or_below(dir, path))
                || here.iter().any(|here| folder.locations.iter().any(|dir| here.is_below(dir)))
        })
    }

    /// Returns the reason why a command may not remove an absolute path without links, as the rest of a sentence.
    /// Returns `None` if no protected folder contains the path or is below it.
    pub(crate) fn objection(&self, path: &[u8]) -> Option<String> {
        if let Some(folder) = self.folder_of(path) {
            return Some(format!("is protected by {}", folder.by));
        }
        let folder = self.below(path).next()?;
        Some(format!("contains {}, which is protected by {}", folder.shown(), folder.by))
    }

    /// Returns the protected folders that are at or below an absolute path without links, and those of which a mount
    /// shows a part there.
    pub(crate) fn below<'p>(&'p self, path: &[u8]) -> impl Iterator<Item = &'p Folder> {
        let mut here = self.locations(path);
        if !self.is_empty() {
            here.extend(self.mounts.points_below(path).flat_map(|point| self.locations(point)));
        }
        let path = path.to_vec();
        self.folders.iter().filter(move |folder| {
            folder.paths.iter().any(|dir| is_at_or_below(&path, dir))
                || folder.locations.iter().any(|dir| here.iter().any(|here| dir.is_below(here)))
                || here.iter().any(|here| folder.locations.iter().any(|dir| here.is_below(dir)))
        })
    }

    /// Returns the paths of all folders.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &[u8]> {
        self.folders.iter().flat_map(|folder| &folder.paths).map(Vec::as_slice)
    }

    /// Checks whether a command may remove or replace files at or below a path. The path need not exist.
    ///
    /// # Errors
    ///
    /// Fails if a protected folder contains the path or is at or below it, and if the path is relative and the current
    /// directory is unknown.
    pub(crate) fn check(&self, path: &std::path::Path) -> Result<(), CommandError> {
        if self.is_empty() {
            return Ok(());
        }
        let objection = possible_paths(path)?.iter().find_map(|path| self.objection(path));
        objection.map_or(Ok(()), |why| {
            let text = format!("{} {why}; nothing was changed", path.display());
            Err(CommandError::new(Exit::Refused, text))
        })
    }

    fn locations(&self, path: &[u8]) -> Vec<DirLocation> {
        if self.is_empty() {
            return Vec::new();
        }
        [self.mounts.location(path), self.mounts.location_shown(path)]
            .into_iter()
            .flatten()
            .collect()
    }
}

impl Folder {
    /// Returns the path of the folder for messages.
    pub(crate) fn shown(&self) -> String {
        String::from_utf8_lossy(&self.paths[0]).into_owned()
    }

    /// Prints that a command leaves the folder alone, unless `--quiet` is given.
    pub(crate) fn note(&self, settings: &Settings) {
        if settings.verbosity != Verbosity::Quiet {
            settings.note(&format!(
                "left alone {}, which is protected by {}",
                self.shown(),
                self.by
            ));
        }
    }

    /// Returns the option or the line of the configuration that protects the folder.
    pub(crate) fn by(&self) -> &str {
        &self.by
    }
}
