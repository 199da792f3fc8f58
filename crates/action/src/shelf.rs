//! Stores that are looked at for themselves, without the journals of the runs that filled them: each run's directory in
//! them has a manifest.
//!
//! A disk may be mounted elsewhere than it was. Files are then restored below the directory that the store is in
//! now, as they were below the one that it was in.

use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use fsops::{Context, DirBuffer, Kind as Entry, Op, check_private};
use runtime::Progress;
use walk::{Reach, STORE_PREFIX, split};

use crate::deeds::Deeds;
use crate::error::{Error, Refusal};
use crate::journal::Journal;
use crate::leftovers::Found;
use crate::manifest::MANIFEST;
use crate::past::Past;
use crate::purge::{self, Purged, Quarantined};
use crate::staging;
use crate::statuses::Statuses;
use crate::undo;

/// Directories kept open.
const OPEN_DIRS: usize = 4;

/// The runs that have files in one or several stores.
#[derive(Debug)]
pub struct Shelf {
    runs: Vec<Shelved>,
}

/// What a run has in a store.
#[derive(Debug)]
struct Shelved {
    manifest: PathBuf,
    past: Past,
}

/// What came of restoring files from a store.
#[derive(Debug, Default)]
pub struct Restored {
    /// Files that have their names again.
    pub done: u64,
    /// Files that do not, with the reason.
    pub refused: Vec<Refusal>,
    /// Paths that were named and that no file in the store was at or below.
    pub unmatched: Vec<Vec<u8>>,
    /// The first, by run (in a shelf: by its place there) and number of the intent.
    pub(crate) back: Vec<(u64, Vec<u64>)>,
    /// The status change times that this gave to inodes.
    pub statuses: Statuses,
}

impl Shelf {
    /// Opens a store, or the stores that are in a directory, at an absolute path with no link in it.
    ///
    /// `unreadable` is told of stores, runs and files of which nothing can be known.
    ///
    /// # Errors
    ///
    /// That the directory cannot be listed.
    pub fn open(dir: &[u8], mut unreadable: impl FnMut(Error)) -> Result<Shelf, Error> {
        let mut reach = Reach::new(OPEN_DIRS);
        let is_store = |path: &[u8]| split(path).1.starts_with(STORE_PREFIX.as_bytes());
        let stores = if is_store(dir) {
            vec![dir.to_vec()]
        } else {
            let mut below = dirs_in(dir, &mut reach)?;
            below.retain(|path| is_store(path));
            below
        };
        let mut runs = Vec::new();
        for store in stores {
            // A store of somebody else tells what they want it to tell.
            let own = reach.dir(&store).and_then(check_private).context(Op::Open, || shown(&store));
            let listed = own.map_err(Error::File).and_then(|()| dirs_in(&store, &mut reach));
            for run in listed.unwrap_or_else(|error| {
                unreadable(error);
                Vec::new()
            }) {
                match shelved(&run, &mut reach, &mut unreadable) {
                    Ok(shelved) => runs.extend(shelved),
                    Err(error) => unreadable(error),
                }
            }
        }
        runs.sort_by_key(|shelved| shelved.past.started_ms);
        Ok(Shelf { runs })
    }

    /// Returns the files in quarantine, those of the oldest run first.
    pub fn list(&self) -> Result<Vec<Quarantined>, Error> {
        let mut all = Vec::new();
        for Shelved { past, .. } in &self.runs {
            all.extend(purge::list(past.run, past)?);
        }
        Ok(all)
    }

    /// Gives files their names back; with paths only those that were at or below one of them.
    ///
    /// # Errors
    ///
    /// As for [`crate::Runs::undo`].
    pub fn restore(
        &self,
        paths: &[Vec<u8>],
        progress: &Progress,
    ) -> Result<(Restored, Result<(), Error>), Error> {
        let mut all = Restored { unmatched: paths.to_vec(), ..Restored::default() };
        for (at, Shelved { manifest, past }) in (0..).zip(&self.runs) {
            let journal = Journal::open(manifest.clone(), past.next())?;
            let (undone, ended) = undo::undo(past, paths, &journal, progress)?;
            all.add(at, undone);
            if ended.is_err() {
                return Ok((all, ended));
            }
        }
        Ok((all, Ok(())))
    }

    /// Returns what the runs did with the files that were given their names back.
    pub fn restored(self, restored: &Restored) -> Vec<Deeds> {
        let runs = (0..).zip(self.runs);
        let of = |(at, Shelved { past, .. }): (u64, Shelved)| {
            let back = restored.back.iter().find(|(run, _)| *run == at);
            Deeds::of(past, back.map(|(_, back)| back.clone()).unwrap_or_default())
        };
        runs.map(of).collect()
    }

    /// Removes files for good that were moved there before `before_ms`, milliseconds since the epoch.
    ///
    /// # Errors
    ///
    /// As for [`crate::Runs::purge`].
    pub fn purge(
        &self,
        before_ms: i64,
        progress: &Progress,
    ) -> Result<(Purged, Result<(), Error>), Error> {
        let mut purged = Purged::default();
        for Shelved { manifest, past } in &self.runs {
            if past.started_ms >= before_ms || !past.has_done() {
                continue;
            }
            let journal = Journal::open(manifest.clone(), past.next())?;
            if let Err(error) = purge::purge(past, &journal, progress, &mut purged) {
                return Ok((purged, Err(error)));
            }
        }
        Ok((purged, Ok(())))
    }
}

impl Restored {
    pub(crate) fn add(&mut self, run: u64, undone: undo::Undone) {
        self.back.push((run, undone.back));
        self.statuses.add(undone.statuses);
        self.done += undone.done;
        self.refused.extend(undone.refused);
        self.unmatched.retain(|path| undone.unmatched.contains(path));
    }
}

/// Returns what a run has in its directory in a store; nothing if that is nothing.
fn shelved(
    path: &[u8],
    reach: &mut Reach,
    unreadable: &mut impl FnMut(Error),
) -> Result<Option<Shelved>, Error> {
    let staging = staging::open(0, path, reach).context(Op::Open, || shown(path))?;
    let mut found = Found::default();
    found.look_into(&staging);
    if found.files.is_empty() {
        return Ok(None);
    }
    let manifest = PathBuf::from(OsString::from_vec(staging.path_of(MANIFEST)));
    let bad = |why: String| Error::Journal { path: manifest.clone(), why };
    let past = Past::read(&manifest)?;
    let mut past = past.ok_or_else(|| bad("it was cut off before it began".into()))?;
    let unknown = past.settle_by_store(path, &found.files);
    if unknown > 0 {
        let are = if unknown == 1 { "is" } else { "are" };
        let why = format!("it does not tell of all files beside it: {unknown} {are} unknown");
        unreadable(bad(why));
    }
    Ok(Some(Shelved { manifest, past }))
}

/// Returns the paths of the directories in a directory.
fn dirs_in(path: &[u8], reach: &mut Reach) -> Result<Vec<Vec<u8>>, Error> {
    let dir = reach.dir(path).context(Op::Open, || shown(path))?;
    let mut found: Vec<CString> = Vec::new();
    let listed = dir.open_below_within(b".").and_then(|list| {
        list.for_each(&mut DirBuffer::default(), |item| {
            if matches!(item.kind, Entry::Dir | Entry::Unknown) {
                found.push(item.name.into());
            }
        })
    });
    listed.context(Op::List, || shown(path))?;
    found.retain(|name| dir.stat_child(name).is_ok_and(|stat| stat.kind == Entry::Dir));
    let above = path.strip_suffix(b"/").unwrap_or(path);
    Ok(found.into_iter().map(|name| [above, b"/", name.to_bytes()].concat()).collect())
}

fn shown(path: &[u8]) -> PathBuf {
    OsStr::from_bytes(path).into()
}
