//! Loads remembered files and checks each one on disk.

use std::collections::HashSet;

use catalog::Loaded;
use content::{ContentId, Digest};
use dupes::{AliasKeyReader, State, aliases_among, may_have_aliases};
use walk::FileId;

use crate::error::CommandError;
use crate::questions::aliases::Distinct;
use crate::questions::knowledge::state_of;
use crate::questions::work::{files, work_on};
use crate::settings::Settings;

/// Remembered files with their current states.
pub(crate) struct Live {
    pub(crate) loaded: Loaded,
    states: Vec<State>,
}

/// The groups of a catalog, with the current state of their files.
#[derive(Default)]
pub(crate) struct Groups {
    /// Groups that still have at least two unchanged files.
    pub(crate) live: Vec<LiveGroup>,
    /// Changed members of the other groups.
    pub(crate) lost: Vec<(FileId, State)>,
}

/// A group with at least two unchanged files.
pub(crate) struct LiveGroup {
    pub(crate) size: u64,
    pub(crate) digest: Option<Digest>,
    pub(crate) reclaimable: u64,
    /// One name of each unchanged inode, sorted by path.
    pub(crate) files: Vec<FileId>,
    /// Members that have changed, sorted by path.
    pub(crate) stale: Vec<(FileId, State)>,
}

impl Live {
    /// Examines all remembered files in `loaded`.
    ///
    /// # Errors
    ///
    /// Fails on an interrupt.
    pub(crate) fn check(loaded: Loaded, settings: &Settings) -> Result<Live, CommandError> {
        let all = files(&loaded.tree);
        let mut states = work_on(&loaded.tree, &loaded.fingerprints, settings, |work| {
            Ok(dupes::states(work, &all)?)
        })?;
        for (state, &file) in
            states.iter_mut().zip(&all).filter(|(state, _)| **state == State::Same)
        {
            *state = state_of(loaded.state(file));
        }
        Ok(Live { loaded, states })
    }

    /// Returns the current state of each file.
    pub(crate) fn states(&self) -> &[State] {
        &self.states
    }

    /// Returns the current state of a file.
    pub(crate) fn state(&self, file: FileId) -> State {
        self.states[file.0 as usize]
    }

    /// Marks files that may be aliases of another file with the same content. In each set of aliases, one file stays
    /// unmarked. Files below `distinct` are never marked.
    pub(crate) fn mark_aliases(&mut self, distinct: &Distinct) {
        let tree = &self.loaded.tree;
        if !may_have_aliases(tree) {
            return;
        }
        let (fingerprints, sights) = (&self.loaded.fingerprints, AliasKeyReader::read());
        let content =
            |file: &FileId| Some((fingerprints.content(file.0)?, tree.path(*file), *file));
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

    /// Returns the files in this state.
    pub(crate) fn in_state(&self, state: State) -> Vec<FileId> {
        files(&self.loaded.tree).into_iter().filter(|&f| self.state(f) == state).collect()
    }

    /// Returns the groups, in no particular order.
    ///
    /// # Errors
    ///
    /// Fails on an interrupt.
    pub(crate) fn groups(&self, settings: &Settings) -> Result<Groups, CommandError> {
        let (fingerprints, loaded) = (&self.loaded.fingerprints, &self.loaded);
        let before = |file: FileId| loaded.unreliable(file).and_then(|doubt| doubt.content);
        let content = |file: FileId| fingerprints.content(file.0).or_else(|| before(file));
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

    /// Recomputes the reclaimable space of groups in which files have changed or disappeared since the scan.
    fn measure(&self, groups: &mut [LiveGroup], settings: &Settings) -> Result<(), CommandError> {
        let mut fewer: Vec<&mut LiveGroup> =
            groups.iter_mut().filter(|group| !group.stale.is_empty()).collect();
        if fewer.is_empty() {
            return Ok(());
        }
        let lists: Vec<&[FileId]> = fewer.iter().map(|group| &group.files[..]).collect();
        let Loaded { tree, fingerprints, .. } = &self.loaded;
        let freed =
            work_on(tree, fingerprints, settings, |work| Ok(dupes::reclaimable(work, &lists)?))?;
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
