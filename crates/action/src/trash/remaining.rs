//! Lists the trees that are still in the trash, verifies them, and moves them back.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use fsops::{Context, Dir, DirBuffer, File, Op};
use walk::PathOpener;

use crate::error::{Error, Reason, Refusal};
use crate::journal::ids::{TREES_SUFFIX, journal_path, parse_number, staged_name};
use crate::staging::dir::{Staging, open_staging};
use crate::trash::journal::{TrashRecord, TrashReplay, TreeIdentity, TreeRecord};
use crate::trash::run::{MAX_OPEN_DIRS, TrashRun};

/// A tree in the trash.
#[derive(Debug)]
pub struct TrashedTree {
    record: TreeRecord,
    /// The former path of the tree.
    pub path: Vec<u8>,
    /// The current path of the tree.
    pub at: Vec<u8>,
    /// The staging directory that contains the tree.
    pub dir: Rc<Dir>,
}

impl TrashRun {
    /// Returns the trees that are still in the trash. Also returns the entries that must not be
    /// removed, because they are unknown or are not the expected ones.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read. An entry that was renamed by mistake may have been moved
    /// back.
    pub fn remaining(&self) -> Result<(Vec<TrashedTree>, Vec<Refusal>), Error> {
        Ok(self.remaining_of(&self.replay()?))
    }

    pub(crate) fn remaining_of(&self, replay: &TrashReplay) -> (Vec<TrashedTree>, Vec<Refusal>) {
        let (mut left, mut unknown) = (Vec::new(), Vec::new());
        let mut reach = PathOpener::new(MAX_OPEN_DIRS);
        for tree in replay.trees.values().filter(|tree| !tree.is_settled) {
            let found = self
                .staging(replay, tree, &mut reach)
                .and_then(|staging| self.verify_arrived(tree, &staging, &mut reach, None));
            match found {
                Ok(found) => left.extend(found),
                Err(reason) => unknown.push(Refusal { path: tree.path.0.clone(), reason }),
            }
        }
        for (&number, path) in &replay.staging_dirs {
            unknown.extend(unknown_entries(replay, (number, path), &mut reach));
        }
        (left, unknown)
    }

    /// Opens the staging directory of a tree. The directory exists until the run is over. If it is
    /// missing, the state of the tree is unknown, because its file system may not be mounted.
    fn staging(
        &self,
        replay: &TrashReplay,
        tree: &TreeRecord,
        reach: &mut PathOpener,
    ) -> Result<Staging, Reason> {
        let path = replay.staging_dirs.get(&tree.store).ok_or(Reason::StagingUnknown)?;
        open_staging(tree.store, path, reach).map_err(|source| match source.kind() {
            ErrorKind::NotFound => Reason::StagingMissing {
                at: path.clone(),
                journal: journal_path(&self.folder, self.run, TREES_SUFFIX),
            },
            _ => Reason::Failed { op: Op::Open, source },
        })
    }

    /// Verifies the entry that arrived in the staging directory, and moves it back if it is not the
    /// expected one.
    ///
    /// If `held` is given, the entry must be that file. Otherwise it must have the tree's identity
    /// in the journal. On a file system where the inode number of a directory depends on its path
    /// (mergerfs), the identity never matches, so the tree is moved back too.
    pub(crate) fn verify_arrived(
        &self,
        tree: &TreeRecord,
        staging: &Staging,
        reach: &mut PathOpener,
        held: Option<&File>,
    ) -> Result<Option<TrashedTree>, Reason> {
        let name = staging.name_of(tree.n);
        let arrived = match staging.dir.stat_child(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            arrived => arrived.map_err(Reason::failed(Op::Stat))?,
        };
        let (path, at) = (tree.path.0.clone(), staging.path_of(&name));
        let left = TrashedTree { record: tree.clone(), path, at, dir: Rc::clone(&staging.dir) };
        if tree.is_verified {
            return Ok(Some(left));
        }
        let is_held = |held: &File| held.stat().is_ok_and(|held| held.key() == arrived.key());
        if !held.map_or_else(|| TreeIdentity::from(&arrived) == tree.is, is_held) {
            return Err(self.move_back_swapped(&left, reach));
        }
        // If recording fails, the entry is verified again next time.
        let _recorded = self.journal.append_record(&TrashRecord::Moved { n: tree.n });
        Ok(Some(left))
    }

    /// Moves back an entry that was renamed by mistake. Returns the reason why the entry is not
    /// removed.
    fn move_back_swapped(&self, left: &TrashedTree, reach: &mut PathOpener) -> Reason {
        match move_to_former_name(left, reach) {
            Ok(()) => {
                // If recording fails, the entry is later found to be missing.
                let _recorded = self.journal.append_record(&TrashRecord::Not { n: left.record.n });
                Reason::Swapped
            }
            Err(_) => Reason::Stranded { at: left.at.clone() },
        }
    }

    /// Moves a tree (or what is left of it) back to its path, if no other entry has that path.
    ///
    /// # Errors
    ///
    /// Fails if the tree cannot be moved back, it stays in the trash. If only the write to the journal
    /// fails, the tree has been moved back.
    pub fn move_back(&self, left: &TrashedTree) -> Result<(), Error> {
        let context = || Path::new(OsStr::from_bytes(&left.path));
        move_to_former_name(left, &mut PathOpener::new(MAX_OPEN_DIRS))
            .context(Op::Rename, context)?;
        self.journal.append_record(&TrashRecord::Back { n: left.record.n })
    }
}

/// Moves an entry of the staging directory back to its name. Fails if another entry has the name,
/// or if the parent directory is not the former one. A different directory might give other users
/// access.
fn move_to_former_name(left: &TrashedTree, reach: &mut PathOpener) -> io::Result<()> {
    let (dir, name) = reach.parent_and_name(&left.path)?;
    if TreeIdentity::from(&dir.stat()?) != left.record.was_in {
        return Err(ErrorKind::NotFound.into());
    }
    left.dir.move_new(&staged_name(left.record.n), &dir, &name)
}

/// Returns the entries of a staging directory that are not in the journal.
fn unknown_entries(
    replay: &TrashReplay,
    (number, path): (u32, &[u8]),
    reach: &mut PathOpener,
) -> Vec<Refusal> {
    let Ok(staging) = open_staging(number, path, reach) else { return Vec::new() };
    let mut found = Vec::new();
    let listed = staging.dir.open_below_same_mount(b".").and_then(|dir| {
        dir.for_each(&mut DirBuffer::default(), |item| {
            let number = item.name.to_str().ok().and_then(parse_number);
            let known = number.is_some_and(|n| replay.trees.contains_key(&n));
            let reason = Reason::NotInJournal;
            found.extend((!known).then(|| Refusal { path: staging.path_of(item.name), reason }));
        })
    });
    let failed = |source| Reason::Failed { op: Op::List, source };
    found.extend(listed.err().map(|e| Refusal { path: path.to_vec(), reason: failed(e) }));
    found
}
