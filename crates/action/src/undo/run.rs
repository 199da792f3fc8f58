//! Undoes a run in batches.
//!
//! A file in quarantine is moved back. A file that was removed or replaced by a link becomes a copy
//! of the kept file with the former metadata. The run had compared the two files byte by byte. If
//! the kept file has changed since then, it is not copied. Names that were hard links to one inode
//! become hard links to one inode again.
//!
//! An undo replaces only the link that the run made. If any other entry has the name, the file is
//! refused. Copies are on the disk before they get their names.
//!
//! # After a kill or a power failure
//!
//! An undo can be repeated. A file that already has its name counts as restored, regardless of the
//! journal.
//!
//! The journal records a file as restored only after its file system has written the change to the
//! disk ([`Unsynced`](super::state::Unsynced)). The journal may be on a different disk. Without
//! this order, it could record a file as restored that a power failure put back into the staging
//! directory.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::rc::Rc;

use content::Scratch;
use fsops::{Context, Dir, Op};
use runtime::epoch::now_ms;
use runtime::{Progress, Stage};

use crate::error::{Error, Reason, Refusal, clone_io_error, worse};
use crate::journal::lines::Lines;
use crate::journal::locate::IntentLocator;
use crate::journal::log::Journal;
use crate::journal::record::{Intent, Record};
use crate::journal::replay::{Fate, LoggedIntent, Replay};
use crate::plan::kind::Amount;
use crate::recover::remove_undo_leftovers;
use crate::run::meter::Meter;
use crate::undo::method::{FilePreview, Finder};
use crate::undo::outcome::UndoOutcome;
use crate::undo::state::{MAX_UNSYNCED_NAMES, Preparation, PreparedSubstitute, Undo};

/// Number of copies to make before the disk is synced.
const MAX_UNSYNCED_COPIES: usize = 256;

/// Restores the files of a run. If `paths` is not empty, restores only files at or below one of the
/// paths.
///
/// # Errors
///
/// The outer error means that the journal cannot be read or written, and nothing was restored. The
/// inner error means that the undo stopped early. Files restored before the error stay restored.
pub(crate) fn undo_run(
    replay: &Replay,
    paths: &[Vec<u8>],
    journal: &Journal,
    progress: &Progress,
) -> Result<(UndoOutcome, Result<(), Error>), Error> {
    progress.enter(Stage::Restore);
    journal.append_record(&Record::UndoBegin)?;
    let mut locator = IntentLocator::new(replay);
    for &n in &replay.undo_leftovers {
        remove_undo_leftovers(&mut locator, &replay.intent(n)?);
    }
    let mut undo = Undo {
        replay,
        finder: Finder::new(replay)?,
        journal,
        progress,
        meter: Meter::new(progress),
        scratch: Scratch::default(),
        lines: Lines::default(),
        unsynced: BTreeMap::new(),
        undone: UndoOutcome { damaged: replay.damaged, ..UndoOutcome::default() },
        trees_left: HashSet::new(),
    };
    let answer = undo.run(paths);
    let logged = undo.finish(answer.is_ok());
    undo.undone.refused.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((undo.undone, worse(answer, logged)))
}

/// Calls `each` with a preview for each file that an undo would restore. Returns the given paths
/// that match none of the files.
///
/// # Errors
///
/// Fails if the journal cannot be read. Nothing on disk changes.
pub(crate) fn preview_undo(
    replay: &Replay,
    paths: &[Vec<u8>],
    each: impl FnMut(FilePreview),
) -> Result<Vec<Vec<u8>>, Error> {
    let (todo, unmatched) = todo(replay, paths)?;
    Finder::new(replay)?.previews(&todo, each)?;
    Ok(unmatched)
}

/// Returns the numbers of the files to restore, and the given paths that match none of them. If
/// `paths` is empty, returns all files.
fn todo(replay: &Replay, paths: &[Vec<u8>]) -> Result<(Vec<u64>, Vec<Vec<u8>>), Error> {
    let all = replay.with_fate(Fate::Done).rev();
    if paths.is_empty() {
        return Ok((all.collect(), Vec::new()));
    }
    let mut matched = vec![false; paths.len()];
    let mut todo = Vec::new();
    for n in all {
        let path = replay.intent(n)?.intent.path.0;
        let mut is_wanted = false;
        for (above, matched) in paths.iter().zip(&mut matched) {
            let is_below = is_at_or_below(&path, above);
            *matched |= is_below;
            is_wanted |= is_below;
        }
        todo.extend(is_wanted.then_some(n));
    }
    let unmatched = paths.iter().zip(matched).filter(|(_, matched)| !matched);
    Ok((todo, unmatched.map(|(path, _)| path.clone()).collect()))
}

fn is_at_or_below(path: &[u8], above: &[u8]) -> bool {
    let above = above.strip_suffix(b"/").unwrap_or(above);
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

impl Undo<'_> {
    fn run(&mut self, paths: &[Vec<u8>]) -> Result<(), Error> {
        let replay = self.replay;
        let (todo, unmatched) = todo(replay, paths)?;
        self.undone.unmatched = unmatched;
        let files = todo.len() as u64;
        // Of a file with several names, only the first name gets a copy. The other names become
        // links to the copy.
        let mut firsts = HashSet::new();
        let (first, linked): (Vec<u64>, Vec<u64>) = todo.into_iter().partition(|n| {
            let key = replay.linked.get(n);
            key.is_none_or(|key| !self.finder.back.contains_key(key) && firsts.insert(*key))
        });
        let bytes = first.iter().fold(0u64, |sum, &n| sum.saturating_add(replay.copied_bytes(n)));
        Amount { files, bytes }.expect(self.progress);
        for batch in first.chunks(MAX_UNSYNCED_COPIES) {
            self.batch(batch)?;
        }
        let is_back =
            |n: &u64| replay.linked.get(n).is_some_and(|key| self.finder.back.contains_key(key));
        let (linked, copied): (Vec<u64>, Vec<u64>) = linked.into_iter().partition(is_back);
        for batch in linked.chunks(MAX_UNSYNCED_COPIES) {
            self.batch(batch)?;
        }
        // The first name of these files could not be restored, but another name may be.
        for n in copied {
            self.batch(&[n])?;
        }
        Ok(())
    }

    /// Syncs the restored files and records them, even if the user asked to stop. Removes empty
    /// staging directories.
    fn finish(&mut self, went_through: bool) -> Result<(), Error> {
        self.finder.locator.cleanup();
        let failed = self.sync_file_systems(&BTreeMap::new()).into_iter().next();
        let is_left = self.undone.refused.iter().any(|refusal| refusal.reason.is_stranded());
        if went_through && failed.is_none() && !is_left {
            self.lines.push(&Record::UndoEnd { ended_ms: Some(now_ms()) });
        }
        self.flush_lines(true)?;
        let Some((number, source)) = failed else { return Ok(()) };
        let path =
            self.replay.staging_dirs.get(&number).map(|(path, _)| OsString::from_vec(path.clone()));
        Err(source).context(Op::Sync, || path.unwrap_or_default()).map_err(Error::File)
    }

    fn batch(&mut self, batch: &[u64]) -> Result<(), Error> {
        self.progress.check()?;
        let batch: Vec<LoggedIntent> =
            batch.iter().map(|&n| self.replay.intent(n)).collect::<Result<_, _>>()?;
        let mut ready = Vec::with_capacity(batch.len());
        for logged in &batch {
            let bytes = self.copied_bytes(logged);
            let prepared = self.prepare(logged);
            self.meter.complete(Amount { files: 0, bytes });
            match prepared {
                Ok(Preparation::Prepared(copy)) => ready.push(copy),
                Ok(Preparation::Restored(dir)) => self.record_restored(logged, &dir),
                Err(reason) => self.refuse(logged, reason),
            }
        }
        for copy in self.sync(ready)? {
            match self.put(&copy) {
                Ok(()) => {
                    let Intent { n, path, .. } = &copy.logged.intent;
                    if let Some(&key) = self.replay.linked.get(n) {
                        self.finder.back.insert(key, (path.0.clone(), copy.inode));
                    }
                    self.record_restored(copy.logged, &copy.dir);
                    if !copy.has_owner {
                        let path = path.0.clone();
                        self.undone
                            .refused
                            .push(Refusal { path, reason: Reason::OwnerNotRestored });
                    }
                }
                Err(reason) => self.refuse(copy.logged, reason),
            }
        }
        self.flush_lines(false)
    }

    /// Returns the maximum number of bytes that are copied to restore a file.
    fn copied_bytes(&self, logged: &LoggedIntent) -> u64 {
        let n = logged.intent.n;
        let linked = self.replay.linked.get(&n);
        let is_back = linked.is_some_and(|key| self.finder.back.contains_key(key));
        if is_back { 0 } else { self.replay.copied_bytes(n) }
    }

    /// Syncs prepared substitutes to the disk, and then records their inodes in the journal.
    /// Returns the substitutes that are on the disk.
    fn sync<'b>(
        &mut self,
        ready: Vec<PreparedSubstitute<'b>>,
    ) -> Result<Vec<PreparedSubstitute<'b>>, Error> {
        let dir =
            |copy: &PreparedSubstitute<'_>| (copy.staging.number, Rc::clone(&copy.staging.dir));
        let staging_dirs: BTreeMap<u32, Rc<Dir>> = ready.iter().map(dir).collect();
        let waiting = self.unsynced.values().any(|unsynced| unsynced.names >= MAX_UNSYNCED_NAMES);
        if staging_dirs.is_empty() && !waiting {
            return Ok(ready);
        }
        let failed = self.sync_file_systems(&staging_dirs);
        let mut safe = Vec::with_capacity(ready.len());
        for copy in ready {
            let Some(error) = failed.get(&copy.staging.number) else {
                self.lines.push(&Record::Made { n: copy.logged.intent.n, inode: copy.inode });
                safe.push(copy);
                continue;
            };
            copy.names().remove_temp();
            let source = clone_io_error(error);
            self.refuse(copy.logged, Reason::Failed { op: Op::Sync, source });
        }
        if !safe.is_empty() {
            self.flush_lines(true)?;
        }
        Ok(safe)
    }
}
