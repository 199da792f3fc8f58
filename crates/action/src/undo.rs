//! Brings back what a run changed.
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

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use content::Scratch;
use fsops::{Context, Dir, FileKey, Kind as Entry, Op, Stage, Stat, Watch};

use crate::error::{Error, Reason, Refusal, again};
use crate::journal::{Former, Intent, Journal, Record};
use crate::kind::Kind;
use crate::lines::Lines;
use crate::past::{Fate, Noted, Past};
use crate::place::{New, Place};
use crate::recover::{Site, Sites, is, is_inode, made, new_of, settle_copy, sweep_copies};
use crate::store;

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
}

/// A copy that is ready to take a place.
struct Ready<'b> {
    noted: &'b Noted,
    site: Site,
    inode: u64,
    /// What is in the place, if anything.
    there: Option<New>,
    /// Whether it has the owner that the file had.
    has_owner: bool,
}

/// What came of looking at a file that is to be brought back.
enum Step<'b> {
    /// It is back; this is its directory.
    Back(Rc<Dir>),
    /// A copy takes its place once it is on the disk.
    Copied(Ready<'b>),
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
    pub(crate) sites: Sites<'p>,
    journal: &'p Journal,
    pub(crate) watch: &'p Watch,
    pub(crate) scratch: Scratch,
    lines: Lines,
    /// By store.
    unsynced: BTreeMap<u32, Unsynced>,
    /// By former inode, the path where that file is again.
    pub(crate) back: HashMap<FileKey, (Vec<u8>, u64)>,
    undone: Undone,
}

/// Brings back what a run changed.
pub(crate) fn undo(past: &Past, journal: &Journal, watch: &Watch) -> (Undone, Result<(), Error>) {
    watch.enter(Stage::Act);
    let mut undo = Undo {
        past,
        sites: Sites::new(past),
        journal,
        watch,
        scratch: Scratch::default(),
        lines: Lines::default(),
        unsynced: BTreeMap::new(),
        back: HashMap::new(),
        undone: Undone { damaged: past.damaged, ..Undone::default() },
    };
    let answer = undo.run();
    let noted = undo.finish(answer.is_ok());
    undo.undone.refused.sort_by(|a, b| a.path.cmp(&b.path));
    (undo.undone, answer.and(noted))
}

impl Undo<'_> {
    fn run(&mut self) -> Result<(), Error> {
        let past = self.past;
        self.journal.note(&Record::UndoBegin)?;
        for &n in &past.copies {
            sweep_copies(&mut self.sites, &past.noted(n)?);
        }
        for &n in past.linked.keys() {
            self.find_former(&past.noted(n)?);
        }
        let todo: Vec<u64> = past.with_fate(Fate::Done).rev().collect();
        self.watch.files_total.store(todo.len() as u64, Relaxed);
        // A file with several names is copied once; its other names become links to that.
        let mut firsts = HashSet::new();
        let (first, linked): (Vec<u64>, Vec<u64>) = todo.into_iter().partition(|n| {
            let key = past.linked.get(n);
            key.is_none_or(|key| !self.back.contains_key(key) && firsts.insert(*key))
        });
        for batch in first.chunks(BATCH) {
            self.batch(batch)?;
        }
        let is_back = |n: &u64| past.linked.get(n).is_some_and(|key| self.back.contains_key(key));
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
        let failed = self.sync_stores(&BTreeMap::new()).into_iter().next();
        for (path, _) in self.past.stores.values() {
            store::remove_empty(path, &mut self.sites.reach);
        }
        let is_left = self.undone.refused.iter().any(|refusal| refusal.reason.is_left());
        if went_through && failed.is_none() && !is_left {
            self.lines.push(&Record::UndoEnd);
        }
        self.note(true)?;
        let Some((number, source)) = failed else { return Ok(()) };
        let path = self.past.stores.get(&number).map(|(path, _)| OsString::from_vec(path.clone()));
        Err(source).context(Op::Sync, || path.unwrap_or_default()).map_err(Error::File)
    }

    /// Notes where a file with several names is to be had: under a name that the run did not change, or
    /// one that was brought back before.
    fn find_former(&mut self, noted: &Noted) {
        let Intent { was, path, .. } = &noted.intent;
        let Ok(now) = self.sites.reach.stat(&path.0) else { return };
        let is_former = now.inode == was.version.inode || Some(now.inode) == noted.made;
        if is_former && is_like(was, &now) {
            self.back.insert(was.key(), (path.0.clone(), now.inode));
        }
    }

    fn note(&mut self, urgent: bool) -> Result<(), Error> {
        self.journal.append(&self.lines, urgent)?;
        self.lines.clear();
        Ok(())
    }

    fn batch(&mut self, batch: &[u64]) -> Result<(), Error> {
        self.watch.check()?;
        let batch: Vec<Noted> =
            batch.iter().map(|&n| self.past.noted(n)).collect::<Result<_, _>>()?;
        let mut ready = Vec::with_capacity(batch.len());
        for noted in &batch {
            match self.prepare(noted) {
                Ok(Step::Copied(copy)) => ready.push(copy),
                Ok(Step::Back(dir)) => self.is_back(noted, &dir),
                Err(reason) => self.refuse(noted, reason),
            }
        }
        for copy in self.sync(ready)? {
            match put(&copy) {
                Ok(()) => {
                    let Intent { n, path, .. } = &copy.noted.intent;
                    if let Some(&key) = self.past.linked.get(n) {
                        self.back.insert(key, (path.0.clone(), copy.inode));
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

    fn is_back(&mut self, noted: &Noted, dir: &Rc<Dir>) {
        self.undone.done += 1;
        self.watch.files_done.fetch_add(1, Relaxed);
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
        self.watch.files_done.fetch_add(1, Relaxed);
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
        let site = self.sites.made_for(intent).map_err(Reason::failed(Op::Open))?;
        if intent.kind != Kind::Quarantine && self.give_back_itself(noted, &site)? {
            return Ok(Step::Back(site.dir));
        }
        let there = match site.dir.stat_child(&site.name) {
            Ok(there) => Some(there),
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(Reason::Failed { op: Op::Stat, source }),
        };
        if intent.kind == Kind::Quarantine {
            self.put_back(intent, &site, there)?;
            return Ok(Step::Back(site.dir));
        }
        let fsid = self.sites.fsid(intent);
        let is_back = |now: &Stat| {
            is(now, &site.dir, &intent.was, fsid)
                || Some(now.inode) == noted.made && is_like(&intent.was, now)
        };
        if there.as_ref().is_some_and(is_back) {
            return Ok(Step::Back(site.dir));
        }
        if intent.kind == Kind::Separate {
            let there = New::copy(&there.ok_or(Reason::Missing)?);
            let site = self.with_staging(intent, site)?;
            let inode = self.link_again(intent, &site)?;
            return Ok(Step::Copied(Ready {
                noted,
                site,
                inode,
                there: Some(there),
                has_owner: true,
            }));
        }
        let there = there.map(|now| what_is_there(noted, &site, &now)).transpose()?;
        let site = self.with_staging(intent, site)?;
        let (inode, has_owner) = match self.link_to_former(intent, &site)? {
            Some(inode) => (inode, true),
            None => self.copy(intent, &site)?,
        };
        Ok(Step::Copied(Ready { noted, site, inode, there, has_owner }))
    }

    /// Gives a file its name back that should have been removed but is still in the store, as a power failure
    /// leaves it. Returns whether there was one.
    fn give_back_itself(&self, noted: &Noted, site: &Site) -> Result<bool, Reason> {
        let intent = &noted.intent;
        let Some(staging) = &site.staging else { return Ok(false) };
        let place = Place::of(&site.dir, &site.name, staging, intent.n);
        if intent.kind == Kind::Separate {
            // What is in the store is a further name, or a copy that never got one.
            let _cannot_be_told = settle_copy(&self.sites, intent, site, &place);
            return Ok(false);
        }
        let fsid = self.sites.fsid(intent);
        let is_file = |name| {
            let stat = staging.dir.stat_child(name).ok()?;
            is(&stat, &staging.dir, &intent.was, fsid).then_some(stat)
        };
        let Some(file) = is_file(&place.new).or_else(|| is_file(&place.old)) else {
            return Ok(false);
        };
        place.roll_back(&new_of(noted, file.device)).map(|()| true)
    }

    /// Gives a file in quarantine its name back, unless it has it already: an undo that was killed may have
    /// done that, or a power failure have undone the run. It may have changed since, and is the file all the same.
    fn put_back(&self, intent: &Intent, site: &Site, there: Option<Stat>) -> Result<(), Reason> {
        let fsid = self.sites.fsid(intent);
        let is_it = there.filter(|now| is_inode(now, &site.dir, &intent.was, fsid));
        let lost = || match is_it {
            Some(_) => Ok(()),
            None => Err(self.sites.not_in_store(intent)),
        };
        let Some(staging) = &site.staging else { return lost() };
        let place = Place::of(&site.dir, &site.name, staging, intent.n);
        match staging.dir.move_new(&place.new, &site.dir, &site.name) {
            Ok(()) => Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => lost(),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                let here = staging.dir.stat_child(&place.new).map_err(Reason::failed(Op::Stat))?;
                // Two names of it, as a move in two steps leaves them.
                if is_it.is_some_and(|there| there.key() == here.key()) {
                    return staging.dir.remove_name(&place.new).map_err(Reason::failed(Op::Remove));
                }
                Err(Reason::Taken)
            }
            Err(source) => Err(Reason::Failed { op: Op::Rename, source }),
        }
    }

    /// Makes the run's private directory again if it is gone, as it is when a run left nothing in it.
    fn with_staging(&mut self, intent: &Intent, site: Site) -> Result<Site, Reason> {
        let staging = match site.staging {
            Some(staging) => Some(staging),
            None => self.sites.staging_again(intent).map_err(Reason::failed(Op::Create))?,
        };
        let site = Site { staging, ..site };
        if let Some(staging) = &site.staging {
            // An undo that failed may have left one.
            Place::of_undo(&site.dir, &site.name, staging, intent.n).remove_part();
        }
        Ok(site)
    }
}

impl Ready<'_> {
    fn place<'a>(&'a self, staging: &'a store::Staging) -> Place<'a> {
        Place::of_undo(&self.site.dir, &self.site.name, staging, self.noted.intent.n)
    }
}

/// Gives a copy its place.
fn put(copy: &Ready<'_>) -> Result<(), Reason> {
    let Some(staging) = &copy.site.staging else { return Err(Reason::NoStore) };
    let place = copy.place(staging);
    let moved = match &copy.there {
        None => staging.dir.move_new(&place.part, &copy.site.dir, &copy.site.name),
        // From now on something else may get this name, which is known by what it is.
        Some(_) => staging.dir.move_new(&place.part, &staging.dir, &place.new),
    };
    if let Err(source) = moved {
        place.remove_part();
        return Err(match source.kind() {
            io::ErrorKind::AlreadyExists => Reason::Taken,
            _ => Reason::Failed { op: Op::Rename, source },
        });
    }
    let Some(there) = &copy.there else { return Ok(()) };
    let intent = &copy.noted.intent;
    let swapped = place.swap().and_then(|taken| {
        // The link may be the last name of the kept file by now: not if that was written to.
        let is_whole = !matches!(there, New::Link(_)) || is_as_kept(intent, &taken.stat);
        if is_whole && place.is_expected(&taken, there) {
            place.remove(&taken)
        } else {
            Err(Reason::Taken)
        }
    });
    swapped.or_else(|reason| place.roll_back(&made(intent, copy.inode)).and(Err(reason)))
}

/// Returns what the run put in a place, if that is what is there.
fn what_is_there(noted: &Noted, site: &Site, now: &Stat) -> Result<New, Reason> {
    let new = new_of(noted, now.device);
    let is = match &new {
        New::Link(keys) if keys.contains(&now.key()) => now.kind == Entry::File,
        // With other numbers after each mount there is no telling of which file it is a name. It is none
        // that would be the last one.
        New::Link(_) => {
            let may_be = now.links > 1 && is_as_kept(&noted.intent, now);
            let is_numbered_anew = site.dir.volume().is_ok_and(|volume| !volume.keeps_numbers());
            return if may_be && is_numbered_anew {
                Ok(New::Link(vec![now.key()]))
            } else {
                Err(Reason::Taken)
            };
        }
        New::Symlink(target) => {
            now.kind == Entry::Symlink
                && site.dir.read_symlink(&site.name).is_ok_and(|text| text == *target)
        }
        New::Nothing | New::Copy { .. } => false,
    };
    if is { Ok(new) } else { Err(Reason::Taken) }
}

/// Returns whether a file has the size and time that a former one had.
pub(crate) fn is_like(was: &Former, now: &Stat) -> bool {
    now.kind == Entry::File
        && (now.size, now.mtime_ns()) == (was.version.size, was.version.mtime_ns)
}

/// Returns whether a file is the kept one with the content that was compared.
pub(crate) fn is_kept(intent: &Intent, now: &Stat) -> bool {
    now.inode == intent.kept.inode && is_as_kept(intent, now)
}

/// Returns whether a file has the size and time of the kept one.
fn is_as_kept(intent: &Intent, now: &Stat) -> bool {
    let kept = &intent.kept;
    now.kind == Entry::File && (now.size, now.mtime_ns()) == (kept.size, kept.mtime_ns)
}
