//! The catalog as the commands use it: opened, loaded, and held against the files as they are now.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use catalog::{Catalog, Entry, Loaded, Rows};
use content::{ContentId, Digest};
use dupes::{State, Work};
use fsops::{Interrupted, Watch};
use walk::FileId;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::look::Looker;
use crate::monitor::Monitor;
use crate::settings::{Settings, Workers};
use crate::sources::files;
use device::Io;

impl From<catalog::Error> for CommandError {
    fn from(error: catalog::Error) -> Self {
        use catalog::Error;
        let (message, full) = (error.to_string(), error.is_full());
        let exit = if full { Exit::Failed } else { Exit::Catalog };
        let room = "its file system is full: make room there, name another place with \
                    --catalog FILE, or use --no-catalog";
        match error {
            Error::Missing(_) => {
                CommandError::new(exit, message).hint("scan something first: lop scan DIR")
            }
            Error::TooNew { .. } => CommandError::new(exit, message)
                .hint("use the newer lop, or another catalog: --catalog FILE"),
            Error::Damaged { source, .. } => {
                let error = CommandError::new(exit, message)
                    .hint("move it away and scan again, or use another: --catalog FILE");
                match source {
                    Some(source) => error.because(source),
                    None => error,
                }
            }
            Error::File(error) => {
                let place =
                    "name a place you can write to with --catalog FILE, or use --no-catalog";
                CommandError::new(exit, format!("the catalog: {error}"))
                    .because(error.source)
                    .hint(if full { room } else { place })
            }
            Error::Database { source, .. } => {
                let other = "check that you may read it, or name another with --catalog FILE";
                CommandError::new(exit, message).because(source).hint(if full {
                    room
                } else {
                    other
                })
            }
            _ => CommandError::new(exit, message),
        }
    }
}

/// Opens the catalog for questions.
pub(crate) fn open(settings: &Settings) -> Result<Catalog, CommandError> {
    Ok(Catalog::open(&settings.catalog()?)?)
}

/// Returns what to say while another process has the catalog.
pub(crate) fn waiting(holder: Option<u32>) -> String {
    match holder {
        Some(process) => format!("waiting for process {process}, which is changing the catalog"),
        None => "waiting for another process, which is changing the catalog".into(),
    }
}

/// Remembered files and their state now.
pub(crate) struct Live {
    pub(crate) loaded: Loaded,
    states: Vec<State>,
}

/// A group that still holds.
pub(crate) struct LiveGroup {
    pub(crate) size: u64,
    pub(crate) digest: Option<Digest>,
    pub(crate) reclaimable: u64,
    /// One name of each inode, sorted by path.
    pub(crate) files: Vec<FileId>,
    /// Members that changed or are gone, sorted by path.
    pub(crate) stale: Vec<(FileId, State)>,
}

impl Live {
    /// Loads files of the catalog and looks at each.
    pub(crate) fn load(which: Rows, settings: &Settings) -> Result<Live, CommandError> {
        Live::check(open(settings)?.load(which)?, settings)
    }

    /// Looks at each of some remembered files.
    pub(crate) fn check(loaded: Loaded, settings: &Settings) -> Result<Live, CommandError> {
        let states = work_on(&loaded, settings, |work| dupes::states(work, &files(&loaded.tree)))?;
        Ok(Live { loaded, states })
    }

    /// Returns what has become of each file.
    pub(crate) fn states(&self) -> &[State] {
        &self.states
    }

    /// Returns what has become of a file.
    pub(crate) fn state(&self, file: FileId) -> State {
        self.states[file.0 as usize]
    }

    /// Returns the files that are in this state.
    pub(crate) fn in_state(&self, state: State) -> Vec<FileId> {
        files(&self.loaded.tree).into_iter().filter(|&f| self.state(f) == state).collect()
    }

    /// Returns the groups that still have two members or more, in no particular order.
    pub(crate) fn groups(&self) -> Vec<LiveGroup> {
        let facts = &self.loaded.facts;
        let content = |file: FileId| facts.content(file.0);
        let mut members: Vec<(ContentId, FileId)> = files(&self.loaded.tree)
            .into_iter()
            .filter_map(|f| content(f).map(|c| (c, f)))
            .collect();
        members.sort_unstable();
        let same = |a: &(ContentId, FileId), b: &(ContentId, FileId)| a.0 == b.0;
        members.chunk_by(same).filter_map(|group| self.group(group)).collect()
    }

    fn group(&self, members: &[(ContentId, FileId)]) -> Option<LiveGroup> {
        let tree = &self.loaded.tree;
        let mut paths: Vec<(Vec<u8>, FileId)> =
            members.iter().map(|&(_, file)| (tree.path(file), file)).collect();
        paths.sort_unstable();
        let (mut seen, mut files, mut stale) = (HashSet::new(), Vec::new(), Vec::new());
        for (_, file) in paths {
            match self.state(file) {
                State::Same if seen.insert(tree.key(file)) => files.push(file),
                State::Same => {}
                other => stale.push((file, other)),
            }
        }
        if files.len() < 2 {
            return None;
        }
        let size = tree.file(files[0]).size;
        let (digest, stored) = self.loaded.content(members[0].0);
        let others = size.saturating_mul(files.len() as u64 - 1);
        let reclaimable = if stale.is_empty() { stored } else { stored.min(others) };
        Some(LiveGroup { size, digest, reclaimable, files, stale })
    }
}

/// Works on remembered files, with progress and until interrupted.
pub(crate) fn work_on<T>(
    loaded: &Loaded,
    settings: &Settings,
    work: impl FnOnce(&Work<'_>) -> Result<T, Interrupted>,
) -> Result<T, CommandError> {
    let watch = Arc::new(Watch::default());
    let monitor = Monitor::begin(&watch, settings)?;
    let workers = Workers::new(None, Io::Auto);
    let done = work(&Work::new(&loaded.tree, &loaded.facts, &workers.compare, &watch))?;
    monitor.finish()?;
    Ok(done)
}

/// Who else has a content: the inodes of its files that are there and unchanged.
#[derive(Default)]
pub(crate) struct Sharers {
    looker: Looker,
    inodes: HashMap<i64, HashSet<(i64, u64)>>,
}

impl Sharers {
    /// Returns how many other inodes have the content of a file.
    pub(crate) fn of(&mut self, catalog: &Catalog, file: &Entry) -> Result<u64, CommandError> {
        let Some(content) = file.content.filter(|_| file.copies > 1) else { return Ok(0) };
        if !self.inodes.contains_key(&content) {
            let mut live = catalog.files_with(content)?;
            live.retain(|entry| self.looker.state(entry) == State::Same);
            let inodes = live.iter().map(|entry| (entry.volume, entry.inode)).collect();
            self.inodes.insert(content, inodes);
        }
        let own = (file.volume, file.inode);
        Ok(self.inodes[&content].iter().filter(|inode| **inode != own).count() as u64)
    }
}

/// Returns a state in a word or two; nothing for a file that is as it was.
pub(crate) fn mark(state: State) -> Option<&'static str> {
    match state {
        State::Same => None,
        State::Changed => Some("changed since the scan"),
        State::Gone => Some("gone"),
        State::Offline => Some("offline"),
        State::Unknown => Some("cannot be looked at"),
    }
}
