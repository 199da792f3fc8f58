//! The sources of groups of identical files: the catalog, a report, or a list of files to compare.
//!
//! The files of a group may have changed since they were compared. The run therefore compares them again before it
//! acts.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use action::{Reason, Refusal};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use catalog::Loaded;
use content::{Digest, Fingerprints};
use dupes::{Attributes, ContentKeys};
use serde::Deserialize;
use walk::{FileId, Filter, PathOpener, Tree};

use crate::error::CommandError;
use crate::monitor::monitored;
use crate::output::formats::FORMAT_VERSION;
use crate::paths::path_list;
use crate::quantity::counted;
use crate::questions::work::{files, work_on};
use crate::settings::{Resources, Settings};

/// Maximum number of directories that are kept open to look up files.
const OPEN_DIRS: usize = 64;

/// Groups of files that may be identical.
#[derive(Debug)]
pub(crate) enum Source {
    /// The files of a catalog.
    Catalog(Box<Loaded>),
    /// Files from a report or a list. `groups` contains the number of each file's group. `refused` lists the files that
    /// have changed or must not be changed.
    Named { tree: Box<Tree>, groups: HashMap<FileId, u32>, refused: Vec<Refusal> },
}

impl Source {
    /// Returns the files.
    pub(crate) fn tree(&self) -> &Tree {
        match self {
            Source::Catalog(loaded) => &loaded.tree,
            Source::Named { tree, .. } => tree,
        }
    }

    /// Returns the catalog, if it is the source of the groups.
    pub(crate) fn loaded(&self) -> Option<&Loaded> {
        match self {
            Source::Catalog(loaded) => Some(loaded),
            Source::Named { .. } => None,
        }
    }

    /// Returns the number of a file's group.
    pub(crate) fn group_of(&self, file: FileId) -> Option<u32> {
        match self {
            Source::Catalog(loaded) => number(&loaded.fingerprints, file),
            Source::Named { groups, .. } => groups.get(&file).copied(),
        }
    }

    /// Returns the digest of a file's content, if the catalog has it.
    pub(crate) fn digest(&self, file: FileId) -> Option<Digest> {
        let loaded = self.loaded()?;
        loaded.fingerprints.content(file.0).and_then(|content| loaded.content(content).0)
    }

    /// Returns the number of a file's content in the catalog, if the catalog is the source of the groups.
    pub(crate) fn content_number(&self, file: FileId) -> Option<i64> {
        let loaded = self.loaded()?;
        loaded.fingerprints.content(file.0).map(|content| loaded.number(content))
    }

    /// Returns each file that belongs to a group, with the group's number, in no particular order.
    pub(crate) fn members(&self) -> Vec<(u32, FileId)> {
        files(self.tree())
            .into_iter()
            .filter_map(|file| self.group_of(file).map(|group| (group, file)))
            .collect()
    }

    /// Returns the current attributes of each file, or `None` for a file that has changed.
    ///
    /// # Errors
    ///
    /// Fails on an interrupt.
    pub(crate) fn inspect(
        &self,
        settings: &Settings,
    ) -> Result<Vec<Option<Attributes>>, CommandError> {
        let none = Fingerprints::default();
        let fingerprints = self.loaded().map_or(&none, |loaded| &loaded.fingerprints);
        let all = files(self.tree());
        work_on(self.tree(), fingerprints, settings, |work| Ok(dupes::unchanged(work, &all)?))
    }

    /// Returns the files of a report or a list that were refused.
    pub(crate) fn refused(&self) -> &[Refusal] {
        match self {
            Source::Catalog(_) => &[],
            Source::Named { refused, .. } => refused,
        }
    }

    /// Compares the files of a list.
    ///
    /// # Errors
    ///
    /// Fails if the list cannot be read, or on an interrupt.
    pub(crate) fn from_list(
        list: &Path,
        null: bool,
        settings: &Settings,
    ) -> Result<Source, CommandError> {
        let (mut tree, fingerprints, found) = monitored(settings, |progress| {
            let tree = path_list::find_files(list, null, &Filter::default(), progress)?;
            let fingerprints = Fingerprints::new(tree.files().len());
            let mut options = Resources::automatic().compare();
            options.digests = false;
            let keys = Some(ContentKeys::new(options.digests));
            let found = dupes::find(&tree, &fingerprints, keys, &options, progress)?;
            Ok((tree, fingerprints, found))
        })?;
        let directories = tree.skipped.directories;
        if directories > 0 {
            let directories = counted(directories, "directory", "directories");
            let text = format!("{directories} in the list were not entered");
            settings.complain(text.as_bytes());
        }
        tree.problems.extend(found.problems);
        let group = |file| number(&fingerprints, file).map(|group| (file, group));
        let mut groups = files(&tree).into_iter().filter_map(group).collect();
        let refused = refuse_own(&tree, &mut groups, settings);
        Ok(Source::Named { tree: Box::new(tree), groups, refused })
    }

    /// Reads the groups of a report in JSON. A file whose size differs from the report is refused as changed.
    ///
    /// # Errors
    ///
    /// Fails if the report cannot be read, has another format version, or contains a file in two groups.
    pub(crate) fn from_report(report: &Path, settings: &Settings) -> Result<Source, CommandError> {
        let unreadable = |e: io::Error| {
            CommandError::failed(format!("cannot read the report {}", report.display())).because(e)
        };
        let text = if report == Path::new("-") {
            io::read_to_string(io::stdin())
        } else {
            std::fs::read_to_string(report)
        };
        let text = text.map_err(unreadable)?;
        let parsed: Report = serde_json::from_str(&text).map_err(|e| unreadable(e.into()))?;
        if parsed.format_version != FORMAT_VERSION {
            let (file, format) = (report.display(), parsed.format_version);
            let text =
                format!("{file}: another version of lop wrote this report (format {format})");
            return Err(CommandError::failed(text));
        }
        let mut groups_of_paths: HashMap<Vec<u8>, (u32, u64)> = HashMap::new();
        for (number, group) in (0u32..).zip(parsed.groups) {
            for file in group.files {
                let path = file.bytes().map_err(&unreadable)?;
                let known = groups_of_paths.insert(path, (number, group.size));
                if known.is_some_and(|(other, _)| other != number) {
                    let text = "a file is in two groups of the report";
                    return Err(CommandError::failed(text));
                }
            }
        }
        let mut paths: Vec<PathBuf> =
            groups_of_paths.keys().map(|path| OsString::from_vec(path.clone()).into()).collect();
        paths.sort_unstable();
        let tree = monitored(settings, |progress| {
            Ok(walk::from_list(paths.into_iter(), &Filter::default(), progress)?)
        })?;
        let (mut groups, mut refused) = (HashMap::new(), Vec::new());
        for file in files(&tree) {
            let path = tree.path(file);
            match groups_of_paths.get(&path) {
                Some(&(group, size)) if tree.file(file).size == size => {
                    groups.insert(file, group);
                }
                Some(_) => refused.push(Refusal { path, reason: Reason::Changed }),
                None => {}
            }
        }
        refused.extend(refuse_own(&tree, &mut groups, settings));
        Ok(Source::Named { tree: Box::new(tree), groups, refused })
    }
}

/// The fields of a report that lop reads. A file is treated as changed if its size differs from `size`. The digests are
/// ignored.
#[derive(Deserialize)]
struct Report {
    format_version: u32,
    groups: Vec<Reported>,
}

#[derive(Deserialize)]
struct Reported {
    size: u64,
    files: Vec<ReportedFile>,
}

#[derive(Deserialize)]
struct ReportedFile {
    path: String,
    path_base64: Option<String>,
}

impl ReportedFile {
    fn bytes(self) -> io::Result<Vec<u8>> {
        match self.path_base64 {
            Some(text) => STANDARD.decode(text).map_err(io::Error::other),
            None => Ok(self.path.into_bytes()),
        }
    }
}

/// Removes lop's own files from their groups, and returns a refusal for each of them.
fn refuse_own(tree: &Tree, groups: &mut HashMap<FileId, u32>, settings: &Settings) -> Vec<Refusal> {
    let (own, mut reach, mut refused) = (settings.own(), PathOpener::new(OPEN_DIRS), Vec::new());
    groups.retain(|&file, _| {
        let path = tree.absolute_path(file);
        // A file that cannot be reached stays in its group, and the run reports it.
        let Ok((dir, _)) = reach.parent_and_name(&path) else { return true };
        let reason = action::plan::check_not_own(&own, &dir, &path).err();
        let is_own = reason.is_some();
        refused.extend(reason.map(|reason| Refusal { path: tree.path(file), reason }));
        !is_own
    });
    refused.sort_by(|a, b| a.path.cmp(&b.path));
    refused
}

fn number(fingerprints: &Fingerprints, file: FileId) -> Option<u32> {
    fingerprints.content(file.0).and_then(|content| u32::try_from(content.index()).ok())
}
