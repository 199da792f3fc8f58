//! Restores what a run changed.
//!
//! A file in quarantine gets its name back. Where a link took a file's place, or nothing, a copy of the
//! kept file becomes what the file was: its bytes were compared with the kept file's when the run took
//! it, and a kept file that has changed since is not copied. Names that were names of one file become
//! so again.
//!
//! Nothing is overwritten: what is in the place is what the run put there, or the file stays as it is.
//! Copies are on the disk before they take a place.
//!
//! # After a kill or a power failure
//!
//! An undo can be repeated. A file that is in its place again counts as back, whatever the journal says. That a
//! file is back is noted only when its file system has written the change to its disk ([`Unsynced`]): the journal
//! may be on another disk, and else would call a file undone that a power failure took back to the store.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use content::Scratch;
use fsops::{Context, Dir, Op};
use runtime::{Progress, Stage};

use crate::error::{Error, Reason, Refusal, again};
use crate::journal::{Intent, Journal, Record};
use crate::kind::Kind;
use crate::lines::Lines;
use crate::means::{Finder, Means, Prospect, what_is_there};
use crate::meter::{Amount, Meter};
use crate::nothing_left::NothingLeft;
use crate::past::{Fate, Noted, Past};
use crate::place::{New, Place};
use crate::ready::Ready;
use crate::recover::{Site, Sites, new_of, settle_copy, sweep_copies};
use crate::runs::now_ms;
use crate::statuses::{Leased, Statuses};

/// Copies that are made before the disk is waited for.
const BATCH: usize = 256;

/// Names that are changed on a file system before its disk is waited for only to note them.
const MOST_UNSYNCED: usize = 10_000;

/// What came of an undo.
#[derive(Debug, Default)]
pub struct Undone {
    /// Files that are what they were before the run.
    pub done: u64,
    /// Files that are not, with the reason.
    pub refused: Vec<Refusal>,
    /// Lines of the journal that are damaged: nothing was done about the files that they tell of.
    pub damaged: u64,
    /// Paths that were named and that no file of the run is at or below.
    pub unmatched: Vec<Vec<u8>>,
    /// Why there was nothing to restore, if that is so.
    pub nothing_left: Option<NothingLeft>,
    /// The files that are what they were, by the numbers of their intents.
    pub(crate) back: Vec<u64>,
    /// The status change times that the undo gave to inodes.
    pub statuses: Statuses,
}

/// What came of looking at a file that is to be brought back.
enum Step<'b> {
    /// It is back; this is its directory.
    Back(Rc<Dir>),
    /// This takes its place once it is on the disk.
    Made(Ready<'b>),
}

/// Names that were changed on one file system, and may not be on its disk yet.
struct Unsynced {
    /// Any directory there.
    dir: Rc<Dir>,
    /// What to note once they are.
    lines: Lines,
    names: usize,
}

pub(crate) struct Undo<'p> {
    past: &'p Past,
    pub(crate) finder: Finder<'p>,
    journal: &'p Journal,
    progress: &'p Progress,
    pub(crate) meter: Meter<'p>,
    pub(crate) scratch: Scratch,
    lines: Lines,
    /// By store.
    unsynced: BTreeMap<u32, Unsynced>,
    pub(crate) undone: Undone,
}

/// Brings back what a run changed.
///
/// With paths only files at or below one of those.
pub(crate) fn undo(
    past: &Past,
    paths: &[Vec<u8>],
    journal: &Journal,
    progress: &Progress,
) -> Result<(Undone, Result<(), Error>), Error> {
    progress.enter(Stage::Restore);
    journal.note(&Record::UndoBegin)?;
    let mut sites = Sites::new(past);
    for &n in &past.copies {
        sweep_copies(&mut sites, &past.noted(n)?);
    }
    let mut undo = Undo {
        past,
        finder: Finder::new(past)?,
        journal,
        progress,
        meter: Meter::new(progress),
        scratch: Scratch::default(),
        lines: Lines::default(),
        unsynced: BTreeMap::new(),
        undone: Undone { damaged: past.damaged, ..Undone::default() },
    };
    let answer = undo.run(paths);
    let noted = undo.finish(answer.is_ok());
    undo.undone.refused.sort_by(|a, b| a.path.cmp(&b.path));
    Ok((undo.undone, answer.and(noted)))
}

/// Returns how the files of a run would be restored, and the paths that none of them is at or below.
pub(crate) fn preview(
    past: &Past,
    paths: &[Vec<u8>],
    each: impl FnMut(Prospect),
) -> Result<Vec<Vec<u8>>, Error> {
    let (todo, unmatched) = todo(past, paths)?;
    Finder::new(past)?.prospects(&todo, each)?;
    Ok(unmatched)
}

/// Returns the files that are to be restored, and the paths that none of them is at or below. With no paths it
/// is all of them.
fn todo(past: &Past, paths: &[Vec<u8>]) -> Result<(Vec<u64>, Vec<Vec<u8>>), Error> {
    let all = past.with_fate(Fate::Done).rev();
    if paths.is_empty() {
        return Ok((all.collect(), Vec::new()));
    }
    let mut matched = vec![false; paths.len()];
    let mut todo = Vec::new();
    for n in all {
        let path = past.noted(n)?.intent.path.0;
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
        let past = self.past;
        let (todo, unmatched) = todo(past, paths)?;
        self.undone.unmatched = unmatched;
        let files = todo.len() as u64;
        // A file with several names is copied once; its other names become links to that.
        let mut firsts = HashSet::new();
        let (first, linked): (Vec<u64>, Vec<u64>) = todo.into_iter().partition(|n| {
            let key = past.linked.get(n);
            key.is_none_or(|key| !self.finder.back.contains_key(key) && firsts.insert(*key))
        });
        let bytes = first.iter().fold(0u64, |sum, &n| sum.saturating_add(past.copied_bytes(n)));
        Amount { files, bytes }.expect(self.progress);
        for batch in first.chunks(BATCH) {
            self.batch(batch)?;
        }
        let is_back =
            |n: &u64| past.linked.get(n).is_some_and(|key| self.finder.back.contains_key(key));
        let (linked, copied): (Vec<u64>, Vec<u64>) = linked.into_iter().partition(is_back);
        for batch in linked.chunks(BATCH) {
            self.batch(batch)?;
        }
        // The first name could not be brought back, but one of these may.
        for n in copied {
            self.batch(&[n])?;
        }
        Ok(())
    }

    /// Notes what is back and on the disk, also after a stop, and removes directories that are empty.
    fn finish(&mut self, went_through: bool) -> Result<(), Error> {
        self.finder.sites.tidy();
        let failed = self.sync_stores(&BTreeMap::new()).into_iter().next();
        let is_left = self.undone.refused.iter().any(|refusal| refusal.reason.is_left());
        if went_through && failed.is_none() && !is_left {
            self.lines.push(&Record::UndoEnd { ended_ms: Some(now_ms()) });
        }
        self.note(true)?;
        let Some((number, source)) = failed else { return Ok(()) };
        let path = self.past.stores.get(&number).map(|(path, _)| OsString::from_vec(path.clone()));
        Err(source).context(Op::Sync, || path.unwrap_or_default()).map_err(Error::File)
    }

    fn note(&mut self, urgent: bool) -> Result<(), Error> {
        self.journal.append(&self.lines, urgent)?;
        self.lines.clear();
        Ok(())
    }

    fn batch(&mut self, batch: &[u64]) -> Result<(), Error> {
        self.progress.check()?;
        let batch: Vec<Noted> =
            batch.iter().map(|&n| self.past.noted(n)).collect::<Result<_, _>>()?;
        let mut ready = Vec::with_capacity(batch.len());
        for noted in &batch {
            let bytes = self.copied_bytes(noted);
            let prepared = self.prepare(noted);
            self.meter.complete(Amount { files: 0, bytes });
            match prepared {
                Ok(Step::Made(copy)) => ready.push(copy),
                Ok(Step::Back(dir)) => self.is_back(noted, &dir),
                Err(reason) => self.refuse(noted, reason),
            }
        }
        for copy in self.sync(ready)? {
            match self.put(&copy) {
                Ok(()) => {
                    let Intent { n, path, .. } = &copy.noted.intent;
                    if let Some(&key) = self.past.linked.get(n) {
                        self.finder.back.insert(key, (path.0.clone(), copy.inode));
                    }
                    self.is_back(copy.noted, &copy.site.dir);
                    if !copy.has_owner {
                        let path = path.0.clone();
                        self.undone.refused.push(Refusal { path, reason: Reason::Owner });
                    }
                }
                Err(reason) => self.refuse(copy.noted, reason),
            }
        }
        self.note(false)
    }

    /// Returns how many bytes are copied to restore a file, at most.
    fn copied_bytes(&self, noted: &Noted) -> u64 {
        let n = noted.intent.n;
        let linked = self.past.linked.get(&n);
        let is_back = linked.is_some_and(|key| self.finder.back.contains_key(key));
        if is_back { 0 } else { self.past.copied_bytes(n) }
    }

    fn is_back(&mut self, noted: &Noted, dir: &Rc<Dir>) {
        self.undone.done += 1;
        self.undone.back.push(noted.intent.n);
        self.progress.files_done.fetch_add(1, Relaxed);
        let Intent { n, store, .. } = noted.intent;
        let unsynced = self.unsynced.entry(store.unwrap_or_default()).or_insert_with(|| Unsynced {
            dir: Rc::clone(dir),
            lines: Lines::default(),
            names: 0,
        });
        unsynced.lines.push(&Record::Undone { n });
        unsynced.names += 1;
    }

    fn refuse(&mut self, noted: &Noted, reason: Reason) {
        self.progress.files_done.fetch_add(1, Relaxed);
        self.undone.refused.push(Refusal { path: noted.intent.path.0.clone(), reason });
    }

    /// Has copies on the disk, and then their numbers in the journal; returns those that are.
    fn sync<'b>(&mut self, ready: Vec<Ready<'b>>) -> Result<Vec<Ready<'b>>, Error> {
        let dir = |copy: &Ready<'_>| {
            let staging = copy.site.staging.as_ref()?;
            Some((staging.number, Rc::clone(&staging.dir)))
        };
        let stores: BTreeMap<u32, Rc<Dir>> = ready.iter().filter_map(dir).collect();
        let waiting = self.unsynced.values().any(|unsynced| unsynced.names >= MOST_UNSYNCED);
        if stores.is_empty() && !waiting {
            return Ok(ready);
        }
        let failed = self.sync_stores(&stores);
        let mut safe = Vec::with_capacity(ready.len());
        for copy in ready {
            let Some(staging) = &copy.site.staging else { continue };
            let Some(error) = failed.get(&staging.number) else {
                self.lines.push(&Record::Made { n: copy.noted.intent.n, inode: copy.inode });
                safe.push(copy);
                continue;
            };
            copy.place(staging).remove_part();
            self.refuse(copy.noted, Reason::Failed { op: Op::Sync, source: again(error) });
        }
        if !safe.is_empty() {
            self.note(true)?;
        }
        Ok(safe)
    }

    /// Waits until all that was changed is on its disk, also on the file systems of some stores, and notes what is
    /// back by that. Returns the stores for which that failed.
    fn sync_stores(&mut self, others: &BTreeMap<u32, Rc<Dir>>) -> BTreeMap<u32, io::Error> {
        let changed = self.unsynced.iter().map(|(&number, unsynced)| (number, &unsynced.dir));
        let dirs: BTreeMap<u32, Rc<Dir>> = others
            .iter()
            .map(|(&number, dir)| (number, dir))
            .chain(changed)
            .map(|(n, dir)| (n, Rc::clone(dir)))
            .collect();
        let mut failed = BTreeMap::new();
        for (number, dir) in dirs {
            match dir.sync_file_system() {
                Ok(()) => {
                    if let Some(unsynced) = self.unsynced.remove(&number) {
                        self.lines.append(&unsynced.lines);
                    }
                }
                Err(error) => drop(failed.insert(number, error)),
            }
        }
        failed
    }

    /// Does what can be done at once, or makes the copy that is needed.
    fn prepare<'b>(&mut self, noted: &'b Noted) -> Result<Step<'b>, Reason> {
        let intent = &noted.intent;
        let site = self.finder.sites.made_for(intent).map_err(Reason::failed(Op::Open))?;
        if let (Kind::Separate, Some(staging)) = (intent.kind, &site.staging) {
            // What is in the store is a further name, or a copy that never got one.
            let place = Place::of(&site.dir, &site.name, staging, intent.n);
            let _cannot_be_told = settle_copy(&self.finder.sites, intent, &site, &place);
        }
        let place = (&*site.dir, &*site.name);
        match self.finder.means(noted, Some(place), site.staging.as_ref())? {
            Means::Back => {}
            Means::Moved => self.give_back(noted, &site)?,
            Means::Linked { .. } | Means::Copied { .. } => {
                return self.make(noted, site).map(Step::Made);
            }
        }
        Ok(Step::Back(site.dir))
    }

    /// Gives a file its name back that is in the store.
    fn give_back(&mut self, noted: &Noted, site: &Site) -> Result<(), Reason> {
        let intent = &noted.intent;
        let staging = site.staging.as_ref().ok_or(Reason::NoStore)?;
        let place = Place::of(&site.dir, &site.name, staging, intent.n);
        if let Some(file) = self.finder.stored_itself(intent, Some(staging))
            && intent.kind != Kind::Quarantine
        {
            return place.roll_back(&new_of(noted, file.device));
        }
        let file = staging.dir.open_file(&place.new).ok();
        let leased = file.as_ref().and_then(Leased::new);
        match staging.dir.move_new(&place.new, &site.dir, &site.name) {
            Ok(()) => {
                self.note_status(intent.n, leased);
                Ok(())
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Err(self.finder.sites.not_in_store(intent))
            }
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let stat = Reason::failed(Op::Stat);
                let here = staging.dir.stat_child(&place.new).map_err(&stat)?;
                let there = site.dir.stat_child(&site.name).map_err(&stat)?;
                // Two names of it, as a move in two steps leaves them.
                if here.key() != there.key() {
                    return Err(Reason::Taken);
                }
                staging.dir.remove_name(&place.new).map_err(Reason::failed(Op::Remove))
            }
            Err(source) => Err(Reason::Failed { op: Op::Rename, source }),
        }
    }

    /// Records the status change time that a change of name gave to a file, if nobody else has changed its status since
    /// the run.
    pub(crate) fn note_status(&mut self, n: u64, leased: Option<Leased<'_>>) {
        let Some((before, after)) = leased.map(Leased::end) else { return };
        let statuses = &mut self.undone.statuses;
        let is_known = statuses.has(&before) || self.past.status(n) == Some(before.ctime_ns);
        statuses.note(&before, after.filter(|_| is_known));
    }

    /// Makes what is to take a file's place: a link to it, or a copy.
    fn make<'b>(&mut self, noted: &'b Noted, site: Site) -> Result<Ready<'b>, Reason> {
        let intent = &noted.intent;
        let there = match site.dir.stat_child(&site.name) {
            Ok(there) => Some(there),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(Reason::Failed { op: Op::Stat, source }),
        };
        if intent.kind == Kind::Separate {
            let there = New::copy(&there.ok_or(Reason::Missing)?);
            let site = self.with_staging(intent, site)?;
            let inode = self.link_again(intent, &site)?;
            return Ok(Ready { noted, site, inode, there: Some(there), has_owner: true });
        }
        let there =
            there.map(|now| what_is_there(noted, (&site.dir, &site.name), &now)).transpose()?;
        let site = self.with_staging(intent, site)?;
        let (inode, has_owner) = match self.link_to_former(intent, &site)? {
            Some(inode) => (inode, true),
            None => self.copy(intent, &site)?,
        };
        Ok(Ready { noted, site, inode, there, has_owner })
    }

    /// Makes the run's private directory again if it is gone, as it is when a run left nothing in it.
    fn with_staging(&mut self, intent: &Intent, site: Site) -> Result<Site, Reason> {
        let staging = match site.staging {
            Some(staging) => Some(staging),
            None => self.finder.sites.staging_again(intent).map_err(Reason::failed(Op::Create))?,
        };
        let site = Site { staging, ..site };
        if let Some(staging) = &site.staging {
            // An undo that failed may have left one.
            Place::of_undo(&site.dir, &site.name, staging, intent.n).remove_part();
        }
        Ok(site)
    }
}
