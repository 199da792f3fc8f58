//! Where groups of equal files come from: the catalog, a report, or a list of files that are compared
//! now.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use action::{Reason, Refusal};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use catalog::Loaded;
use content::{Digest, Facts};
use dupes::Attributes;
use runtime::Progress;
use serde::Deserialize;
use walk::{FileId, Filter, Problem, Reach, Tree};

use crate::error::CommandError;
use crate::monitor::Monitor;
use crate::output::formats::FORMAT_VERSION;
use crate::paths::path_list;
use crate::quantity::counted;
use crate::settings::{Resources, Settings};

/// How many directories a lookup keeps open.
const OPEN_DIRS: usize = 64;

/// Groups of files, of which nothing more is believed than that they are worth comparing.
#[derive(Debug)]
pub(crate) enum Source {
    /// What a catalog knows.
    Catalog(Box<Loaded>),
    /// Files that were named, each with the number of its group, and files that were refused, because they have changed
    /// or must not be acted on.
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

    /// Returns the catalog, if they come from one.
    pub(crate) fn loaded(&self) -> Option<&Loaded> {
        match self {
            Source::Catalog(loaded) => Some(loaded),
            Source::Named { .. } => None,
        }
    }

    /// Returns the group of a file.
    pub(crate) fn group_of(&self, file: FileId) -> Option<u32> {
        match self {
            Source::Catalog(loaded) => number(&loaded.facts, file),
            Source::Named { groups, .. } => groups.get(&file).copied(),
        }
    }

    /// Returns the digest of a file's content, if it is known.
    pub(crate) fn digest(&self, file: FileId) -> Option<Digest> {
        let loaded = self.loaded()?;
        loaded.facts.content(file.0).and_then(|content| loaded.content(content).0)
    }

    /// Returns the files that are in a group, with its number, in no order.
    pub(crate) fn members(&self) -> Vec<(u32, FileId)> {
        files(self.tree())
            .into_iter()
            .filter_map(|file| self.group_of(file).map(|group| (group, file)))
            .collect()
    }

    /// Looks at each file; returns nothing for one that is not what it was.
    pub(crate) fn inspect(
        &self,
        settings: &Settings,
    ) -> Result<Vec<Option<Attributes>>, CommandError> {
        let none = Facts::default();
        let facts = self.loaded().map_or(&none, |loaded| &loaded.facts);
        let progress = Arc::new(Progress::default());
        let monitor = Monitor::begin(&progress, settings)?;
        let options = Resources::automatic().compare();
        let work = dupes::Work::new(self.tree(), facts, &options, &progress);
        let stats = dupes::unchanged(&work, &files(self.tree()))?;
        monitor.finish()?;
        Ok(stats)
    }

    /// Returns the files that were named but are refused.
    pub(crate) fn refused(&self) -> &[Refusal] {
        match self {
            Source::Catalog(_) => &[],
            Source::Named { refused, .. } => refused,
        }
    }

    /// Returns what could not be looked at.
    pub(crate) fn problems(&self) -> &[Problem] {
        &self.tree().problems
    }

    /// Compares the files of a list.
    pub(crate) fn from_list(
        list: &Path,
        end: u8,
        settings: &Settings,
    ) -> Result<Source, CommandError> {
        let progress = Arc::new(Progress::default());
        let monitor = Monitor::begin(&progress, settings)?;
        let mut tree = path_list::find_files(list, end, &Filter::default(), &progress)?;
        let directories = tree.skipped.directories;
        let facts = Facts::new(tree.files().len());
        let mut options = Resources::automatic().compare();
        options.digests = false;
        let found = dupes::find(&tree, &facts, &options, &progress)?;
        monitor.finish()?;
        if directories > 0 {
            let directories = counted(directories, "directory", "directories");
            let text = format!("{directories} in the list were not entered");
            settings.complain(text.as_bytes());
        }
        tree.problems.extend(found.problems);
        let group = |file| number(&facts, file).map(|group| (file, group));
        let mut groups = files(&tree).into_iter().filter_map(group).collect();
        let refused = refuse_own(&tree, &mut groups, settings);
        Ok(Source::Named { tree: Box::new(tree), groups, refused })
    }

    /// Takes the groups of a report in JSON. Files that have another size than the report says are no
    /// longer what it compared.
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
        let progress = Arc::new(Progress::default());
        let monitor = Monitor::begin(&progress, settings)?;
        let mut paths: Vec<PathBuf> =
            groups_of_paths.keys().map(|path| OsString::from_vec(path.clone()).into()).collect();
        paths.sort_unstable();
        let tree = walk::from_list(paths.into_iter(), &Filter::default(), &progress)?;
        monitor.finish()?;
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

/// A report, as far as it is needed. Sizes tell what has changed; digests are not believed.
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

/// Returns all files of a tree.
pub(crate) fn files(tree: &Tree) -> Vec<FileId> {
    (0u32..).zip(tree.files()).map(|(id, _)| FileId(id)).collect()
}

/// Removes lop's own files from their groups, and returns why each was refused.
fn refuse_own(tree: &Tree, groups: &mut HashMap<FileId, u32>, settings: &Settings) -> Vec<Refusal> {
    let (own, mut reach, mut refused) = (settings.own(), Reach::new(OPEN_DIRS), Vec::new());
    groups.retain(|&file, _| {
        let path = tree.absolute_path(file);
        // A file that cannot be reached is reported later, by the run.
        let Ok((dir, _)) = reach.site(&path) else { return true };
        let reason = action::check_not_own(&own, &dir, &path).err();
        let is_own = reason.is_some();
        refused.extend(reason.map(|reason| Refusal { path: tree.path(file), reason }));
        !is_own
    });
    refused.sort_by(|a, b| a.path.cmp(&b.path));
    refused
}

fn number(facts: &Facts, file: FileId) -> Option<u32> {
    facts.content(file.0).and_then(|content| u32::try_from(content.index()).ok())
}
