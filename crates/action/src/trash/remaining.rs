//! REMAINING

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;

use fsops::{Context, Dir, DirBuffer, File, Op};
use walk::Reach;

use crate::error::{Error, Reason, Refusal};
use crate::journal::ids::{TREES_SUFFIX, journal_path, number_of_name, staged_name};

use crate::staging::dir::{Staging, open_staging};
use crate::trash::journal::{StagingRecord, TrashRecord, TrashReplay, TreeIdentity, TreeRecord};

use crate::trash::run::{OPEN_DIRS, TrashRun};

/// A tree that was moved aside and is still there.
#[derive(Debug)]
pub struct TrashedTree {
    noted: TreeRecord,
    /// Where it was.
    pub path: Vec<u8>,
    /// Where it is.
    pub at: Vec<u8>,
    /// The private directory that it is in.
    pub dir: Rc<Dir>,
}

impl TrashRun {
    /// Returns the trees that are still there, and what cannot be removed, as nothing can be told of it or it
    /// is something else.
    pub fn remaining(&self) -> Result<(Vec<TrashedTree>, Vec<Refusal>), Error> {
        Ok(self.remaining_of(&self.replay()?))
    }

    pub(crate) fn remaining_of(&self, replay: &TrashReplay) -> (Vec<TrashedTree>, Vec<Refusal>) {
        let (mut left, mut unknown) = (Vec::new(), Vec::new());
        let mut reach = Reach::new(OPEN_DIRS);
        for tree in replay.trees.values().filter(|tree| !tree.over) {
            let found = self
                .staging(replay, tree, &mut reach)
                .and_then(|staging| self.look_at(tree, &staging, &mut reach, None));
            match found {
                Ok(found) => left.extend(found),
                Err(reason) => unknown.push(Refusal { path: tree.path.0.clone(), reason }),
            }
        }
        for store in &replay.stores {
            unknown.extend(strangers(replay, store, &mut reach));
        }
        (left, unknown)
    }

    /// Opens the private directory that a tree was moved to. It is there until the run is over, so if it is not
    /// to be found nothing is known of the tree: something else may be mounted there now.
    fn staging(
        &self,
        replay: &TrashReplay,
        tree: &TreeRecord,
        reach: &mut Reach,
    ) -> Result<Staging, Reason> {
        let store = replay.store_of(tree).ok_or(Reason::StagingUnknown)?;
        open_staging(store.number, &store.path, reach).map_err(|source| match source.kind() {
            ErrorKind::NotFound => Reason::StagingMissing {
                at: store.path.clone(),
                journal: journal_path(&self.folder, self.run, TREES_SUFFIX),
            },
            _ => Reason::Failed { op: Op::Open, source },
        })
    }

    /// Looks at what came to the private directory. If it is not what was to come, it goes back.
    ///
    /// What was to come is what is held, if that is given. Otherwise it is known by its mark, but not on a file
    /// system where the number of a directory follows from its path (mergerfs): then it goes back too.
    pub(crate) fn look_at(
        &self,
        tree: &TreeRecord,
        staging: &Staging,
        reach: &mut Reach,
        held: Option<&File>,
    ) -> Result<Option<TrashedTree>, Reason> {
        let name = staging.name_of(tree.n);
        let came = match staging.dir.stat_child(&name) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            came => came.map_err(Reason::failed(Op::Stat))?,
        };
        let (path, at) = (tree.path.0.clone(), staging.path_of(&name));
        let left = TrashedTree { noted: tree.clone(), path, at, dir: Rc::clone(&staging.dir) };
        if tree.moved {
            return Ok(Some(left));
        }
        let is_held = |held: &File| held.stat().is_ok_and(|held| held.key() == came.key());
        if !held.map_or_else(|| TreeIdentity::from(&came) == tree.is, is_held) {
            return Err(self.swapped(&left, reach));
        }
        // If that cannot be noted, it is looked at again the next time.
        let _noted = self.journal.note(&TrashRecord::Moved { n: tree.n });
        Ok(Some(left))
    }

    /// Gives back what came by mistake, and returns why it is not removed.
    fn swapped(&self, left: &TrashedTree, reach: &mut Reach) -> Reason {
        match put_back(left, reach) {
            Ok(()) => {
                // If that cannot be noted, it is seen that it is not there.
                let _noted = self.journal.note(&TrashRecord::Not { n: left.noted.n });
                Reason::Swapped
            }
            Err(_) => Reason::Stranded { at: left.at.clone() },
        }
    }

    /// Gives a tree back, or what is left of it, if its name is free.
    ///
    /// # Errors
    ///
    /// It stays where it is, and known.
    pub fn give_back(&self, left: &TrashedTree) -> Result<(), Error> {
        let context = || Path::new(OsStr::from_bytes(&left.path));
        put_back(left, &mut Reach::new(OPEN_DIRS)).context(Op::Rename, context)?;
        self.journal.note(&TrashRecord::Back { n: left.noted.n })
    }
}

/// Gives what is in the private directory its name back, if that is free and in the same directory as it was:
/// another one may let others in.
fn put_back(left: &TrashedTree, reach: &mut Reach) -> io::Result<()> {
    let (dir, name) = reach.site(&left.path)?;
    if TreeIdentity::from(&dir.stat()?) != left.noted.was_in {
        return Err(ErrorKind::NotFound.into());
    }
    left.dir.move_new(&staged_name(left.noted.n), &dir, &name)
}

/// Returns what is in a private directory and not in the journal.
fn strangers(replay: &TrashReplay, store: &StagingRecord, reach: &mut Reach) -> Vec<Refusal> {
    let Ok(staging) = open_staging(store.number, &store.path, reach) else { return Vec::new() };
    let mut found = Vec::new();
    let listed = staging.dir.open_below_within(b".").and_then(|dir| {
        dir.for_each(&mut DirBuffer::default(), |item| {
            let known = number_of_name(item.name).is_some_and(|n| replay.trees.contains_key(&n));
            let reason = Reason::NotInJournal;
            found.extend((!known).then(|| Refusal { path: staging.path_of(item.name), reason }));
        })
    });
    let failed = |source| Reason::Failed { op: Op::List, source };
    found.extend(listed.err().map(|e| Refusal { path: store.path.clone(), reason: failed(e) }));
    found
}
