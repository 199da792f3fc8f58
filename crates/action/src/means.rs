//! How a file can be restored, found out without changing anything: for an undo that goes on to do it, and for
//! one that only says what it would do.

use std::collections::HashMap;
use std::ffi::CStr;
use std::io;

use fsops::{Dir, File, FileKey, Kind as Entry, Op, Stat};

use crate::error::{Error, Reason};
use crate::journal::{Former, Intent};
use crate::kind::Kind;
use crate::numbering::name_of;
use crate::past::{Noted, Past};
use crate::place::{New, Place, leads_to};
use crate::recover::{Sites, is, is_inode, new_of};
use crate::staging::Staging;

/// How a file is restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// It has its name already.
    Back,
    /// It is in the store, and gets its name back.
    Moved,
    /// Its name becomes a further one of the file at this path.
    Linked {
        /// Another name of the file.
        to: Vec<u8>,
    },
    /// A copy of the file that was kept takes its place.
    Copied {
        /// The kept file.
        from: Vec<u8>,
    },
}

/// A file of a run, and how it would be restored, or why it cannot be.
#[derive(Debug)]
pub struct Prospect {
    /// Where it was.
    pub path: Vec<u8>,
    /// How.
    pub means: Result<Means, Reason>,
}

/// Finds what a file can be restored from.
pub(crate) struct Finder<'p> {
    past: &'p Past,
    pub(crate) sites: Sites<'p>,
    /// By former inode, the path where that file is again, and its inode.
    pub(crate) back: HashMap<FileKey, (Vec<u8>, u64)>,
}

impl<'p> Finder<'p> {
    /// Returns one that knows where files with several names are to be had.
    pub(crate) fn new(past: &'p Past) -> Result<Finder<'p>, Error> {
        let mut finder = Finder { past, sites: Sites::new(past), back: HashMap::new() };
        for &n in past.linked.keys() {
            finder.find_former(&past.noted(n)?);
        }
        Ok(finder)
    }

    /// Returns how each of some files of the run would be restored.
    pub(crate) fn prospects(
        mut self,
        todo: &[u64],
        mut each: impl FnMut(Prospect),
    ) -> Result<(), Error> {
        let mut again: HashMap<FileKey, Vec<u8>> = HashMap::new();
        for &n in todo {
            let noted = self.past.noted(n)?;
            let path = noted.intent.path.0.clone();
            let mut means = self.prospect(&noted);
            if let (Some(key), Ok(Means::Copied { .. })) = (self.past.linked.get(&n), &means) {
                match again.get(key) {
                    Some(to) => means = Ok(Means::Linked { to: to.clone() }),
                    None => drop(again.insert(*key, path.clone())),
                }
            }
            each(Prospect { path, means });
        }
        Ok(())
    }

    fn prospect(&mut self, noted: &Noted) -> Result<Means, Reason> {
        let place = match self.sites.reach.site(&noted.intent.path.0) {
            // Directories that are gone are made again.
            Err(e) if e.kind() == io::ErrorKind::NotFound => None,
            place => Some(place.map_err(Reason::failed(Op::Open))?),
        };
        let staging = self.sites.staging(&noted.intent).map_err(Reason::failed(Op::Open))?;
        let place = place.as_ref().map(|(dir, name)| (&**dir, &**name));
        self.means(noted, place, staging.as_ref())
    }

    /// Returns how a file can be restored; `place` is its directory and name, as far as there is one, and
    /// `staging` the run's private directory.
    pub(crate) fn means(
        &mut self,
        noted: &Noted,
        place: Option<(&Dir, &CStr)>,
        staging: Option<&Staging>,
    ) -> Result<Means, Reason> {
        let intent = &noted.intent;
        let there = match place.map(|(dir, name)| dir.stat_child(name)) {
            Some(Err(source)) if source.kind() != io::ErrorKind::NotFound => {
                return Err(Reason::Failed { op: Op::Stat, source });
            }
            there => there.and_then(Result::ok),
        };
        let there = place.zip(there);
        let fsid = self.sites.fsid(intent);
        let is_itself = there.is_some_and(|((dir, _), now)| is_inode(&now, dir, &intent.was, fsid));
        if intent.kind == Kind::Quarantine {
            let stored = staging.and_then(|store| store.dir.stat_child(&name_of(intent.n)).ok());
            return match (stored, there) {
                (None, _) if is_itself => Ok(Means::Back),
                (None, _) => Err(self.sites.not_in_store(intent)),
                // With two names it was on its way.
                (Some(stored), Some((_, now))) if now.key() != stored.key() => Err(Reason::Taken),
                (Some(_), _) => Ok(Means::Moved),
            };
        }
        if self.stored_itself(intent, staging).is_some() {
            return Ok(Means::Moved);
        }
        let is_back = |now: &Stat| {
            is_itself && is_like(&intent.was, now)
                || Some(now.inode) == noted.made && is_like(&intent.was, now)
        };
        if there.is_some_and(|(_, now)| is_back(&now)) {
            return Ok(Means::Back);
        }
        if intent.kind == Kind::Separate {
            there.ok_or(Reason::Missing)?;
            self.source(intent, place)?;
            return Ok(Means::Linked { to: intent.keep.0.clone() });
        }
        if let Some((place, now)) = there {
            what_is_there(noted, place, &now)?;
        }
        if let Some((to, _)) = self.back.get(&intent.was.key()) {
            return Ok(Means::Linked { to: to.clone() });
        }
        self.source(intent, place)?;
        Ok(Means::Copied { from: intent.keep.0.clone() })
    }

    /// Returns the file itself if it should have been removed but is still in the store, as a power failure
    /// leaves it.
    pub(crate) fn stored_itself(&self, intent: &Intent, staging: Option<&Staging>) -> Option<Stat> {
        let staging = staging.filter(|_| intent.kind != Kind::Separate)?;
        let fsid = self.sites.fsid(intent);
        Place::names_of(staging, intent.n).into_iter().find_map(|name| {
            let stat = staging.dir.stat_child(&name).ok()?;
            is(&stat, &staging.dir, &intent.was, fsid).then_some(stat)
        })
    }

    /// Notes where a file with several names is to be had: under a name that the run did not change, or
    /// one that was restored before.
    pub(crate) fn find_former(&mut self, noted: &Noted) {
        let Intent { was, path, .. } = &noted.intent;
        let Ok(now) = self.sites.reach.stat(&path.0) else { return };
        let is_former = was.has_inode_of(&now) || Some(now.inode) == noted.made;
        if is_former && is_like(was, &now) {
            self.back.insert(was.key(), (path.0.clone(), now.inode));
        }
    }

    /// Opens the file that the bytes are to come from: the kept one, or what the run made of it, or what
    /// has taken the kept one's place and may have its content.
    pub(crate) fn source(
        &mut self,
        intent: &Intent,
        place: Option<(&Dir, &CStr)>,
    ) -> Result<(File, Stat), Reason> {
        let kept =
            self.sites.reach.site(&intent.keep.0).and_then(|(dir, name)| dir.open_file(&name));
        let is_there = !matches!(&kept, Err(e) if e.kind() == io::ErrorKind::NotFound);
        let link = place.filter(|_| intent.kind == Kind::Hardlink);
        let link = link.map(|(dir, name)| dir.open_file(name));
        let open = link.into_iter().chain([kept]).filter_map(Result::ok);
        let mut open: Vec<(File, Stat)> =
            open.filter_map(|file| file.stat().map(|stat| (file, stat)).ok()).collect();
        let may_be = |(_, now): &(File, Stat)| {
            intent.digest.is_some() && now.kind == Entry::File && now.size == intent.kept.size
        };
        let kept = open.iter().position(|(_, now)| is_kept(intent, now));
        match kept.or_else(|| open.iter().position(may_be)) {
            Some(at) => Ok(open.swap_remove(at)),
            None if intent.elsewhere => Err(Reason::Elsewhere),
            None => Err(Reason::Lost { kept: intent.keep.0.clone(), is_there }),
        }
    }
}

/// Returns what the run put in a place, if that is what is there.
pub(crate) fn what_is_there(
    noted: &Noted,
    (dir, name): (&Dir, &CStr),
    now: &Stat,
) -> Result<New, Reason> {
    let new = new_of(noted, now.device);
    let is = match &new {
        New::Link(keys) if keys.contains(&now.key()) => now.kind == Entry::File,
        // With other numbers after each mount there is no telling of which file it is a name. It is none
        // that would be the last one.
        New::Link(_) => {
            let may_be = now.links > 1 && is_as_kept(&noted.intent, now);
            let is_numbered_anew = dir.volume().is_ok_and(|volume| !volume.keeps_numbers());
            return if may_be && is_numbered_anew {
                Ok(New::Link(vec![now.key()]))
            } else {
                Err(Reason::Taken)
            };
        }
        New::Symlink(target) => {
            now.kind == Entry::Symlink && leads_to(dir, name, now, target).is_ok_and(|leads| leads)
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
pub(crate) fn is_as_kept(intent: &Intent, now: &Stat) -> bool {
    let kept = &intent.kept;
    now.kind == Entry::File && (now.size, now.mtime_ns()) == (kept.size, kept.mtime_ns)
}
