//! The catalog as the commands use it: opened, loaded, and held against the files as they are now.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use catalog::{Catalog, Entry, Loaded};
use content::{ContentId, Digest};
use dupes::{AliasKeyReader, State, Work, aliases_among, may_have_aliases};
use runtime::{Interrupted, Progress};
use walk::FileId;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::look::{Looker, state_of};
use crate::monitor::Monitor;
use crate::settings::{Settings, Workers};
use crate::sources::files;
use crate::unknown::Standing;
use crate::views::Distinct;
use device::Io;

impl From<catalog::Error> for CommandError {
    fn from(error: catalog::Error) -> Self {
        use catalog::Error;
        let (message, full, cut_off) = (error.to_string(), error.is_full(), error.needs_rollback());
        let exit = if full { Exit::Failed } else { Exit::Catalog };
        let room = "its file system is full: make room there, name another place with \
                    --catalog FILE, or use --no-catalog";
        match error {
            Error::Missing(_) => {
                CommandError::new(exit, message).hint("scan something first: lop scan DIR")
            }
            Error::TooNew { .. } => CommandError::new(exit, message)
                .hint("use the newer lop, or another catalog: --catalog FILE"),
            Error::Orphans { .. } => CommandError::new(exit, message)
                .hint("move it away and scan again, or use another: --catalog FILE"),
            Error::TooOld { .. } => {
                CommandError::new(exit, message).hint("the next 'lop scan' brings it up to date")
            }
            Error::Damaged { source, .. } => {
                let error = CommandError::new(exit, message)
                    .hint("name another with --catalog FILE; a damaged catalog can be moved away and made anew");
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
                let writable = "a change to it was cut off; any command of somebody who may write \
                                to it takes that back";
                CommandError::new(exit, message).because(source).hint(match (full, cut_off) {
                    (true, _) => room,
                    (false, true) => writable,
                    (false, false) => other,
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

/// What is left of the groups of a catalog.
#[derive(Default)]
pub(crate) struct Groups {
    /// Those that still hold: two members or more are what they were.
    pub(crate) live: Vec<LiveGroup>,
    /// Members of the others that are not what they were.
    pub(crate) lost: Vec<(FileId, State)>,
}

/// A group that still holds.
pub(crate) struct LiveGroup {
    pub(crate) size: u64,
    pub(crate) digest: Option<Digest>,
    pub(crate) reclaimable: u64,
    /// One name of each inode, sorted by path.
    pub(crate) files: Vec<FileId>,
    /// Members that are not what they were, sorted by path.
    pub(crate) stale: Vec<(FileId, State)>,
}

impl Live {
    /// Looks at each of some remembered files.
    pub(crate) fn check(loaded: Loaded, settings: &Settings) -> Result<Live, CommandError> {
        let all = files(&loaded.tree);
        let mut states = work_on(&loaded, settings, |work| dupes::states(work, &all))?;
        for (state, &file) in
            states.iter_mut().zip(&all).filter(|(state, _)| **state == State::Same)
        {
            *state = state_of(loaded.state(file));
        }
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

    /// Marks files that may be second paths to a file that counts. Files below `distinct` are not marked.
    pub(crate) fn mark_views(&mut self, distinct: &Distinct) {
        let tree = &self.loaded.tree;
        if !may_have_aliases(tree) {
            return;
        }
        let (facts, sights) = (&self.loaded.fingerprints, AliasKeyReader::read());
        let content = |file: &FileId| Some((facts.content(file.0)?, tree.path(*file), *file));
        let mut members: Vec<_> = self.in_state(State::Same).iter().filter_map(content).collect();
        members.sort_unstable();
        for equal in members.chunk_by(|a, b| a.0 == b.0) {
            let sight =
                |file| (!distinct.has(&tree.absolute_path(file))).then(|| sights.of(tree, file));
            let sights: Vec<_> = equal.iter().map(|(.., file)| sight(*file)).collect();
            for ((.., file), is_view) in equal.iter().zip(aliases_among(&sights)) {
                if is_view {
                    self.states[file.0 as usize] = State::Alias;
                }
            }
        }
    }

    /// Returns the files that are in this state.
    pub(crate) fn in_state(&self, state: State) -> Vec<FileId> {
        files(&self.loaded.tree).into_iter().filter(|&f| self.state(f) == state).collect()
    }

    /// Returns the groups, in no particular order.
    pub(crate) fn groups(&self, settings: &Settings) -> Result<Groups, CommandError> {
        let (facts, loaded) = (&self.loaded.fingerprints, &self.loaded);
        let before = |file: FileId| loaded.unreliable(file).and_then(|doubt| doubt.content);
        let content = |file: FileId| facts.content(file.0).or_else(|| before(file));
        let mut members: Vec<(ContentId, FileId)> = files(&self.loaded.tree)
            .into_iter()
            .filter_map(|f| content(f).map(|c| (c, f)))
            .collect();
        members.sort_unstable();
        let same = |a: &(ContentId, FileId), b: &(ContentId, FileId)| a.0 == b.0;
        let mut groups = Groups::default();
        for group in members.chunk_by(same) {
            match self.group(group) {
                group if group.files.len() < 2 => groups.lost.extend(group.stale),
                group => groups.live.push(group),
            }
        }
        self.measure(&mut groups.live, settings)?;
        Ok(groups)
    }

    /// Finds out what those groups would free of which the catalog remembers more files than are left.
    fn measure(&self, groups: &mut [LiveGroup], settings: &Settings) -> Result<(), CommandError> {
        let mut fewer: Vec<&mut LiveGroup> =
            groups.iter_mut().filter(|group| !group.stale.is_empty()).collect();
        if fewer.is_empty() {
            return Ok(());
        }
        let lists: Vec<&[FileId]> = fewer.iter().map(|group| &group.files[..]).collect();
        let freed = work_on(&self.loaded, settings, |work| dupes::reclaimable(work, &lists))?;
        for (group, freed) in fewer.iter_mut().zip(freed) {
            group.reclaimable = freed;
        }
        Ok(())
    }

    fn group(&self, members: &[(ContentId, FileId)]) -> LiveGroup {
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
        let size = tree.file(members[0].1).size;
        let (digest, reclaimable) = self.loaded.content(members[0].0);
        LiveGroup { size, digest, reclaimable, files, stale }
    }
}

/// Works on remembered files, with progress and until interrupted.
pub(crate) fn work_on<T>(
    loaded: &Loaded,
    settings: &Settings,
    work: impl FnOnce(&Work<'_>) -> Result<T, Interrupted>,
) -> Result<T, CommandError> {
    let progress = Arc::new(Progress::default());
    let monitor = Monitor::begin(&progress, settings)?;
    let workers = Workers::new(None, Io::Auto);
    let done = work(&Work::new(&loaded.tree, &loaded.fingerprints, &workers.compare, &progress))?;
    monitor.finish()?;
    Ok(done)
}

/// Sizes of which files wait to be compared: whether another file of such a size is a copy is not known.
pub(crate) struct BlockedThread {
    /// By size, whether there is one; nothing is looked up if none waits at all.
    sizes: Option<HashMap<u64, bool>>,
}

impl BlockedThread {
    pub(crate) fn new(catalog: &Catalog) -> Result<BlockedThread, CommandError> {
        Ok(BlockedThread { sizes: (catalog.unreliable_counts()?.pending > 0).then(HashMap::new) })
    }

    /// Returns whether a file of this size that is there waits to be compared.
    pub(crate) fn has(
        &mut self,
        size: u64,
        catalog: &Catalog,
        looker: &mut Looker,
    ) -> Result<bool, CommandError> {
        let Some(sizes) = &mut self.sizes else { return Ok(false) };
        if let Some(&waits) = sizes.get(&size) {
            return Ok(waits);
        }
        let pending = catalog.pending(size)?;
        let waits = pending.iter().any(|file| looker.state(file) == State::Pending);
        sizes.insert(size, waits);
        Ok(waits)
    }
}

/// Who else has the content of a file.
#[derive(Clone, Copy, Default)]
pub(crate) struct Others {
    /// Other inodes that have it: those that are there and unchanged.
    pub(crate) duplicates: u64,
    /// Why it is unknown whether there are any, if none is found.
    pub(crate) doubt: Option<Standing>,
}

/// Who has each content.
#[derive(Default)]
pub(crate) struct Sharers {
    pub(crate) looker: Looker,
    distinct: Distinct,
    /// By content, the number of files that have it, and why it is unknown whether there are more.
    files: HashMap<i64, (u64, Option<Standing>)>,
}

impl Sharers {
    /// Makes one that never takes files below `distinct` for views.
    pub(crate) fn new(distinct: Distinct) -> Sharers {
        Sharers { distinct, ..Sharers::default() }
    }

    /// Returns who else has the content of a file.
    pub(crate) fn of(&mut self, catalog: &Catalog, file: &Entry) -> Result<Others, CommandError> {
        let Some(content) = file.content.filter(|_| file.copies > 1) else {
            return Ok(Others::default());
        };
        if !self.files.contains_key(&content) {
            let (mut same, mut changed) = (Vec::new(), false);
            let entries = catalog.files_with(content)?;
            for entry in &entries {
                let state = self.looker.state(entry);
                same.extend((state == State::Same).then_some(entry));
                changed |= matches!(state, State::Changed | State::Unknown);
            }
            let are_views = self.looker.aliases_among(&same, &self.distinct);
            let counted = same.iter().zip(&are_views).filter(|(_, is_view)| !**is_view);
            let inodes: HashSet<_> = counted.map(|(e, _)| (e.volume, e.inode)).collect();
            let doubt = match (changed, are_views.contains(&true)) {
                (true, _) => Some(Standing::CopiesChanged),
                (false, true) => Some(Standing::CopiesAreViews),
                (false, false) => None,
            };
            self.files.insert(content, (inodes.len() as u64, doubt));
        }
        // The file itself is one of them, or a view of one of them.
        let (files, doubt) = self.files[&content];
        Ok(Others { duplicates: files.saturating_sub(1), doubt })
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
        State::Alias => Some("may be the same file under another path"),
        State::Pending => Some("not compared yet"),
        State::Damaged => Some("damaged"),
        State::Unreadable => Some("unreadable"),
    }
}
