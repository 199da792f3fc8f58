//! Brings a run to an end that was cut off, by a crash or by a kill.
//!
//! The journal says what was about to be done, the file system what was done of it. Every file that is
//! in the run's private directory gets its name back, and what was made to take its place is removed.

use std::ffi::{CStr, CString, OsString};
use std::os::unix::ffi::OsStringExt;
use std::rc::Rc;

use content::Scratch;
use fsops::{Context, Dir, FileKey, Lease, Op, Stat};
use runtime::Progress;
use walk::{Reach, split};

use crate::copy::equal;
use crate::error::{Error, Reason};
use crate::journal::{Former, Intent, Journal, Record};
use crate::kind::Kind;
use crate::lines::Lines;
use crate::means::what_is_there;
use crate::past::{Fate, Noted, Past};
use crate::place::{New, Place};
use crate::runs::now_ms;
use crate::staging::{self, Staging};
use crate::target::Version;

/// Directories kept open.
const OPEN_DIRS: usize = 64;

/// An intent's place on the disk, open.
pub(crate) struct Site {
    pub(crate) dir: Rc<Dir>,
    pub(crate) name: CString,
    pub(crate) staging: Option<Staging>,
}

/// Gets from intents to their places.
pub(crate) struct Sites<'a> {
    past: &'a Past,
    pub(crate) reach: Reach,
}

impl<'a> Sites<'a> {
    pub(crate) fn new(past: &'a Past) -> Self {
        Sites { past, reach: Reach::new(OPEN_DIRS) }
    }

    /// Opens the place that an intent is about.
    pub(crate) fn of(&mut self, intent: &Intent) -> std::io::Result<Site> {
        let staging = self.staging(intent)?;
        let (dir, name) = self.reach.site(&intent.path.0)?;
        Ok(Site { dir, name, staging })
    }

    /// Does so after making directories on the way that are gone.
    pub(crate) fn made_for(&mut self, intent: &Intent) -> std::io::Result<Site> {
        let dir = split(&intent.path.0).0;
        let mut missing = Vec::new();
        let mut at = dir;
        while let Err(e) = self.reach.dir(at) {
            if e.kind() != std::io::ErrorKind::NotFound || at.is_empty() {
                return Err(e);
            }
            missing.push(at);
            at = split(at).0;
        }
        if !missing.is_empty() {
            self.check_mount(intent, at)?;
        }
        for path in missing.into_iter().rev() {
            let (above, name) = self.reach.site(path)?;
            above.make_dir(&name)?;
        }
        self.of(intent)
    }

    /// Makes sure that a directory is on the mount of an intent's store: nothing is made elsewhere, where no file
    /// could be moved to.
    fn check_mount(&mut self, intent: &Intent, path: &[u8]) -> std::io::Result<()> {
        let Some(staging) = self.staging(intent)? else { return Ok(()) };
        let (here, store) = (self.reach.dir(path)?.stat()?, staging.dir.stat()?);
        if (here.mount, here.device) == (store.mount, store.device) {
            return Ok(());
        }
        let text = "its directory is gone, and another file system is mounted there";
        Err(std::io::Error::new(std::io::ErrorKind::CrossesDevices, text))
    }

    /// Opens the private directory of an intent, if it has one and that is still there.
    pub(crate) fn staging(&mut self, intent: &Intent) -> std::io::Result<Option<Staging>> {
        let Some(number) = intent.store else { return Ok(None) };
        let path = self.store(number)?;
        match staging::open(number, path, &mut self.reach) {
            Ok(staging) => Ok(Some(staging)),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(e) => Err(e),
        }
    }

    /// Makes the private directory of an intent again if it is gone, and opens it.
    pub(crate) fn staging_again(&mut self, intent: &Intent) -> std::io::Result<Option<Staging>> {
        let Some(number) = intent.store else { return Ok(None) };
        let path = self.store(number)?;
        staging::make_again(path, &mut self.reach)?;
        staging::open(number, path, &mut self.reach).map(Some)
    }

    /// Removes the run's private directories that are empty; returns whether all of those are gone.
    pub(crate) fn tidy(&mut self) -> bool {
        let mut is_tidy = true;
        for (path, _) in self.past.stores.values() {
            is_tidy &= staging::remove_empty(path, &mut self.reach);
        }
        is_tidy
    }

    /// Does so, and then waits until all changes on their file systems are on the disks.
    pub(crate) fn tidy_and_sync(&mut self) -> Result<bool, Error> {
        // It may have been removed, as nothing is in it. If its file system is not mounted nothing was changed.
        let mut open: Vec<(&[u8], Rc<Dir>)> = Vec::new();
        for (path, _) in self.past.stores.values() {
            let dir = self.reach.dir(path).or_else(|_| self.reach.dir(staging::above(path)));
            open.extend(dir.ok().map(|dir| (&path[..], dir)));
        }
        let is_tidy = self.tidy();
        for (path, dir) in open {
            dir.sync_file_system().context(Op::Sync, || OsString::from_vec(path.to_vec()))?;
        }
        Ok(is_tidy)
    }

    /// Returns the reason that a file is not in its store, nor is its store there.
    pub(crate) fn not_in_store(&self, intent: &Intent) -> Reason {
        let store = intent.store.and_then(|number| self.past.stores.get(&number));
        store.map_or(Reason::NoStore, |(path, _)| Reason::NotInStore { store: path.clone() })
    }

    /// Returns the path of a private directory. If the line of the journal that tells it is damaged, nothing
    /// can be known of what is in there.
    fn store(&self, number: u32) -> std::io::Result<&'a [u8]> {
        let store = self.past.stores.get(&number).map(|(path, _)| &path[..]);
        store.ok_or_else(|| std::io::Error::other("the journal no longer tells where its store is"))
    }

    /// Returns the file system that an intent's file is on.
    pub(crate) fn fsid(&self, intent: &Intent) -> u64 {
        let store = intent.store.and_then(|number| self.past.stores.get(&number));
        store.map_or(intent.kept_fsid, |(_, fsid)| *fsid)
    }
}

/// Returns whether a file on the disk is the one that the journal tells of, as it was.
pub(crate) fn is(now: &Stat, dir: &Dir, was: &Former, fsid: u64) -> bool {
    (now.size, now.mtime_ns()) == (was.version.size, was.version.mtime_ns)
        && is_inode(now, dir, was, fsid)
}

/// Returns whether it is that file, whatever is in it by now.
///
/// The device may have another number after a restart. Then its file system is known again by `fsid`, or, as that
/// of XFS is made of the number, the file by the time of its birth.
pub(crate) fn is_inode(now: &Stat, dir: &Dir, was: &Former, fsid: u64) -> bool {
    let is_born_then = now.born_ns != 0 && now.born_ns == was.born_ns;
    let same_disk = || {
        now.device == was.version.device
            || fsid != 0 && dir.volume().is_ok_and(|volume| volume.fsid == fsid)
    };
    was.has_inode_of(now) && (is_born_then || same_disk())
}

/// Brings a run to an end.
///
/// # Errors
///
/// That the journal cannot be written. A file that cannot be given its name back stays where it is, and
/// is tried again next time.
pub(crate) fn recover(past: &Past, journal: &Journal) -> Result<(), Error> {
    let mut sites = Sites::new(past);
    let mut lines = Lines::default();
    let (mut done, mut failed, mut open) = (0, 0, 0);
    let mut freed = past.freed;
    // Until a run is over, the journal may have on its disk what the file system does not.
    let is_over = past.ended_ms.is_some();
    for (&n, entry) in &past.entries {
        let fate = match entry.fate {
            Fate::Open => {
                let noted = past.noted(n)?;
                let fate = settle(&mut sites, &noted);
                // The run writes `equal` before it changes a name that undo restores by a copy. A power failure may lose
                // that record. A digest in the intent, or a link in the place of the file, then still shows that the
                // run may have changed it.
                let may_be_done = entry.was_equal
                    || noted.intent.digest.is_some()
                    || !noted.intent.kind.is_undone_by_copy()
                    || is_replaced(&mut sites, &noted);
                fate.map(|fate| if may_be_done { fate } else { Fate::NotDone })
            }
            Fate::Done if past.undoing => {
                sweep_copies(&mut sites, &past.noted(n)?);
                Some(Fate::Done)
            }
            Fate::Done if !is_over => settle(&mut sites, &past.noted(n)?).or(Some(Fate::Done)),
            known => Some(known),
        };
        match fate {
            Some(Fate::NotDone) => failed += 1,
            Some(_) => done += 1,
            None => open += 1,
        }
        if fate == Some(entry.fate) {
            continue;
        }
        let intent = past.noted(n)?.intent;
        match fate {
            Some(Fate::Done) => {
                freed = freed.saturating_add(frees(&intent));
                lines.push(&Record::Did { n, freed: frees(&intent), ctime_ns: None });
            }
            Some(_) => {
                let took_back = entry.fate == Fate::Done;
                freed = freed.saturating_sub(if took_back { frees(&intent) } else { 0 });
                lines.push(&Record::Not { n, why: "the run was cut off".into() });
            }
            None => {}
        }
    }
    // What is noted has to be on the disk first.
    let is_tidy = if is_over { sites.tidy() } else { sites.tidy_and_sync()? };
    if open == 0 && is_tidy {
        lines.push(&Record::End { ended_ms: now_ms(), done, failed, freed });
    }
    if past.undoing {
        lines.push(&Record::UndoEnd { ended_ms: None });
    }
    journal.append(&lines, true)
}

/// Returns whether the link that a run makes has the name of a file.
fn is_replaced(sites: &mut Sites<'_>, noted: &Noted) -> bool {
    let Ok(site) = sites.of(&noted.intent) else { return false };
    let place = (&*site.dir, &*site.name);
    let there = site.dir.stat_child(&site.name).map(|now| what_is_there(noted, place, &now));
    matches!(there, Ok(Ok(New::Link(_) | New::Symlink(_))))
}

/// Returns how many bytes are free by an intent that was carried out, as far as the journal tells.
fn frees(intent: &Intent) -> u64 {
    let Intent { kind, was, .. } = intent;
    let goes = *kind == Kind::Reflink || was.links == 1 && kind.is_undone_by_copy();
    if goes { was.allocated } else { 0 }
}

/// Finds out whether an intent was carried out, and if it was begun takes it back. `None` if neither
/// can be done now.
fn settle(sites: &mut Sites<'_>, noted: &Noted) -> Option<Fate> {
    let intent = &noted.intent;
    let site = sites.of(intent).ok()?;
    if intent.kind == Kind::Reflink {
        let kept = sites.reach.site(&intent.keep.0).and_then(|(dir, name)| dir.open_file(&name));
        let layout = site.dir.open_file(&site.name).ok().and_then(|file| file.shared_layout());
        let shared = layout.is_some() && kept.is_ok_and(|kept| kept.shared_layout() == layout);
        return Some(if shared { Fate::Done } else { Fate::NotDone });
    }
    if let Some(staging) = &site.staging {
        let place = Place::of(&site.dir, &site.name, staging, intent.n);
        let taken = staging.dir.stat_child(&place.new).ok();
        let is_there =
            taken.is_some_and(|stat| is(&stat, &staging.dir, &intent.was, sites.fsid(intent)));
        if intent.kind == Kind::Quarantine && is_there {
            return Some(Fate::Done);
        }
        if intent.kind == Kind::Separate {
            return settle_copy(sites, intent, &site, &place);
        }
        // The device may have another number than it had, and the link is on that of the store.
        let device = taken.map_or(intent.kept.device, |stat| stat.device);
        let mut new = new_of(noted, device);
        if let New::Link(keys) = &mut new {
            keys.extend(unknown_links(noted, &site, &place, sites.fsid(intent)));
        }
        place.roll_back(&new).ok()?;
    }
    let now = site.dir.stat_child(&site.name);
    let as_before = now.is_ok_and(|now| is(&now, &site.dir, &intent.was, sites.fsid(intent)));
    Some(if as_before { Fate::NotDone } else { Fate::Done })
}

/// Returns by what links are known that a run made and could not note any more, where each name has a number of
/// its own. None of them is the last name of a file.
fn unknown_links(noted: &Noted, site: &Site, place: &Place<'_>, fsid: u64) -> Vec<FileKey> {
    let staging = &place.staging.dir;
    let mut found = Vec::new();
    for (dir, name) in [(staging, &place.new), (staging, &place.old), (&site.dir, &site.name)] {
        let Ok(now) = dir.stat_child(name) else { continue };
        if is(&now, dir, &noted.intent.was, fsid) {
            continue;
        }
        if let Ok(New::Link(keys)) = what_is_there(noted, (dir, name), &now) {
            found.extend(keys);
        }
    }
    found
}

/// Finds out whether a name was made a file of its own. What is in the private directory is the copy while
/// the name still is the file's, and else the file's own name, which it has another one of.
pub(crate) fn settle_copy(
    sites: &Sites<'_>,
    intent: &Intent,
    site: &Site,
    place: &Place<'_>,
) -> Option<Fate> {
    let is_file = |stat: &Stat, dir: &Dir| is(stat, dir, &intent.was, sites.fsid(intent));
    place.remove_part();
    let now = site.dir.stat_child(&site.name).ok();
    let not_yet = now.is_some_and(|now| is_file(&now, &site.dir));
    for name in [&place.new, &place.old] {
        let staging = &place.staging.dir;
        let Ok(there) = staging.stat_child(name) else { continue };
        let taken_out = is_file(&there, staging);
        if now.is_none() && taken_out {
            staging.move_new(name, &site.dir, &site.name).ok()?;
        } else if taken_out && there.links > 1
            || not_yet && is_equal((&site.dir, &site.name), (staging, name), intent)
        {
            staging.remove_name(name).ok()?;
        } else {
            return None;
        }
    }
    Some(if not_yet || now.is_none() { Fate::NotDone } else { Fate::Done })
}

/// Returns what an intent made to take a file's place.
pub(crate) fn new_of(Noted { intent, links, .. }: &Noted, device: u64) -> New {
    let link = |&inode: &u64| FileKey { device, inode };
    match (intent.kind, &intent.link) {
        (Kind::Hardlink, _) => {
            New::Link(std::iter::once(&intent.kept.inode).chain(links).map(link).collect())
        }
        (_, Some(link)) => New::Symlink(link.0.clone()),
        _ => New::Nothing,
    }
}

/// Removes what an undo that was cut off has left in the private directory.
pub(crate) fn sweep_copies(sites: &mut Sites<'_>, noted: &Noted) {
    let Ok(site) = sites.of(&noted.intent) else { return };
    let Some(staging) = &site.staging else { return };
    let place = Place::of_undo(&site.dir, &site.name, staging, noted.intent.n);
    place.remove_part();
    let Some(inode) = noted.made else { return };
    let made = made(&noted.intent, inode, staging);
    let device = staging.dir.stat().map_or(0, |stat| stat.device);
    let replaced = new_of(noted, device);
    let is_in_place = site.dir.stat_child(&site.name).is_ok_and(|now| now.inode == inode);
    // A failure leaves the file in the private directory.
    let _left = match noted.intent.kind {
        // The undo made a link, which is removed only while its file has another name.
        Kind::Separate => place.roll_back(&made),
        // The copy is in place, and somebody may have written to it. It stays, and what it replaced is removed if that
        // is a symbolic link, a link to a file with other names, or equal to the copy.
        _ if is_in_place => place.roll_back(&replaced).or_else(|left| {
            let (dir, name) = (&staging.dir, &place.new);
            let is_equal = is_equal((&site.dir, &site.name), (dir, name), &noted.intent);
            if is_equal {
                dir.remove_name(name).map_err(Reason::failed(Op::Remove))
            } else {
                Err(left)
            }
        }),
        _ => place.roll_back(&made).or_else(|_| place.roll_back(&replaced)),
    };
}

/// Returns whether two files are equal and, as far as leases tell, nobody writes to them.
fn is_equal(one: (&Dir, &CStr), other: (&Dir, &CStr), intent: &Intent) -> bool {
    let [one, other] = [one, other].map(|(dir, name)| dir.open_file(name));
    let (Ok(one), Ok(other)) = (one, other) else { return false };
    let leases = [one.keep_writers_away(), other.keep_writers_away()];
    let (size, progress) = (intent.was.version.size, Progress::default());
    let answer = equal(&one, &other, size, &mut Scratch::default(), &progress);
    answer.is_ok_and(|is_equal| is_equal) && leases.iter().all(Lease::holds)
}

/// Returns what an undo makes to take a place.
pub(crate) fn made(intent: &Intent, inode: u64, staging: &Staging) -> New {
    if intent.kind == Kind::Separate {
        let device = staging.dir.stat().map_or(0, |stat| stat.device);
        return New::Link(vec![FileKey { device, inode }]);
    }
    let Version { size, mtime_ns, .. } = intent.was.version;
    New::Copy { inode, size, mtime_ns }
}
