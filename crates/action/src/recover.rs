//! Recovers a run that was cut off by a crash or a kill.
//!
//! The journal says what the run was about to do, and the file system shows what it did. Every file
//! in the run's staging directories is moved back to its name, and substitutes are removed. A file
//! whose state is unclear stays where it is, and the next recovery tries again.

use std::ffi::CStr;
use std::io;

use content::Scratch;
use fsops::{Dir, FileKey, Op, Stat};
use runtime::epoch::now_ms;
use runtime::{Interrupted, Progress};

use crate::error::{Error, Reason};
use crate::journal::identity::{
    is_moved_entry, is_same_inode, is_unchanged, substitute_in_place, substitute_of,
    undo_substitute_of,
};
use crate::journal::lines::Lines;
use crate::journal::locate::{IntentLocation, IntentLocator};
use crate::journal::log::Journal;
use crate::journal::record::{Intent, Record};
use crate::journal::replay::{Fate, LoggedIntent, Replay};
use crate::plan::kind::Kind;
use crate::run::compare::equal_under_leases;
use crate::staging::name_swap::{NameSwap, Substitute};

/// Recovers a run and records the outcome in its journal.
///
/// # Errors
///
/// Fails if the journal cannot be read or written. Files that were already moved back keep their names.
/// It is not an error if a file cannot be moved back: it stays in the staging directory, and the
/// next recovery tries again.
pub(crate) fn recover(replay: &Replay, journal: &Journal) -> Result<(), Error> {
    let mut locator = IntentLocator::new(replay);
    let mut lines = Lines::default();
    let (mut done, mut failed, mut open) = (0, 0, 0);
    let mut freed = replay.freed;
    // Until a run is over, the journal on the disk may be ahead of the changes to the file system.
    let is_over = replay.ended_ms.is_some();
    for (&n, entry) in &replay.entries {
        let fate = match entry.fate {
            Fate::Open => {
                let logged = replay.intent(n)?;
                let fate = finish_intent(&mut locator, &logged);
                // A run writes an `equal` record before it changes a name that an undo would
                // restore from a copy. A power failure may lose that record. The run may
                // nevertheless have changed the file if the intent has a digest or if a link is in
                // the place of the file.
                let may_be_done = entry.was_equal
                    || logged.intent.digest.is_some()
                    || !logged.intent.kind.is_undone_by_copy()
                    || is_replaced(&mut locator, &logged);
                fate.map(|fate| if may_be_done { fate } else { Fate::NotDone })
            }
            Fate::Done if replay.is_undoing => {
                remove_undo_leftovers(&mut locator, &replay.intent(n)?);
                Some(Fate::Done)
            }
            Fate::Done if !is_over => {
                finish_intent(&mut locator, &replay.intent(n)?).or(Some(Fate::Done))
            }
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
        let intent = replay.intent(n)?.intent;
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
    // The changes must be on the disk before the journal records them.
    let is_clean = if is_over { locator.cleanup() } else { locator.cleanup_and_sync()? };
    if open == 0 && is_clean {
        lines.push(&Record::End { ended_ms: now_ms(), done, failed, freed });
    }
    if replay.is_undoing {
        lines.push(&Record::UndoEnd { ended_ms: None });
    }
    journal.append(&lines, true)
}

/// Returns true if the file's name leads to the link that the run created.
fn is_replaced(locator: &mut IntentLocator<'_>, logged: &LoggedIntent) -> bool {
    let Ok(location) = locator.locate(&logged.intent) else { return false };
    let entry = (&*location.dir, &*location.name);
    let there =
        location.dir.stat_child(&location.name).map(|now| substitute_in_place(logged, entry, &now));
    matches!(there, Ok(Ok(Substitute::Link(_) | Substitute::Symlink(_))))
}

/// Returns how many bytes a completed intent freed, judging by the journal.
fn frees(intent: &Intent) -> u64 {
    let Intent { kind, was, .. } = intent;
    let goes = *kind == Kind::Reflink || was.links == 1 && kind.is_undone_by_copy();
    if goes { was.allocated } else { 0 }
}

/// Determines whether an intent was carried out, and rolls it back if it was only begun. Returns
/// `None` if neither is possible at the moment.
fn finish_intent(locator: &mut IntentLocator<'_>, logged: &LoggedIntent) -> Option<Fate> {
    let intent = &logged.intent;
    if intent.kind.fills_quarantine() && is_in_quarantine(locator, intent) {
        return Some(Fate::Done);
    }
    if intent.kind == Kind::Sweep {
        return give_back(locator, intent);
    }
    let location = locator.locate(intent).ok()?;
    if intent.kind == Kind::Reflink {
        let kept = locator.open_file(&intent.keep.0);
        let layout =
            location.dir.open_file(&location.name).ok().and_then(|file| file.shared_layout());
        let shared = layout.is_some() && kept.is_ok_and(|kept| kept.shared_layout() == layout);
        return Some(if shared { Fate::Done } else { Fate::NotDone });
    }
    if let Some(staging) = &location.staging {
        let names = NameSwap::for_action(&location.dir, &location.name, staging, intent.n);
        let taken = staging.dir.stat_child(&names.new).ok();
        if intent.kind == Kind::Separate {
            return finish_separate(locator, intent, &location, &names);
        }
        // The device number may have changed since the run. The link has the device number of the
        // staging directory.
        let device = taken.map_or(intent.kept.device, |stat| stat.device);
        let mut new = substitute_of(logged, device);
        if let Substitute::Link(keys) = &mut new {
            keys.extend(unknown_links(logged, &location, &names, locator.fsid(intent)));
        }
        names.roll_back(&new).ok()?;
    }
    let now = location.dir.stat_child(&location.name);
    let as_before =
        now.is_ok_and(|now| is_unchanged(&now, &location.dir, &intent.was, locator.fsid(intent)));
    Some(if as_before { Fate::NotDone } else { Fate::Done })
}

/// Returns whether an intent has moved its entry into quarantine.
fn is_in_quarantine(locator: &mut IntentLocator<'_>, intent: &Intent) -> bool {
    let Ok(Some(staging)) = locator.staging(intent) else { return false };
    let moved = staging.dir.stat_child(&staging.name_of(intent.n));
    moved.is_ok_and(|now| is_moved_entry(&now, &staging.dir, intent, locator.fsid(intent)))
}

/// Finishes a sweep's intent whose entry is not in quarantine. If a different entry was moved there,
/// because it took the name just before the move, moves that entry back.
fn give_back(locator: &mut IntentLocator<'_>, intent: &Intent) -> Option<Fate> {
    let Some(staging) = locator.staging(intent).ok()? else {
        // The staging directory is gone. Its file system may not be mounted, so the entry counts as
        // not moved only if it has its name.
        let (dir, name) = locator.reach.parent_and_name(&intent.path.0).ok()?;
        let now = dir.stat_child(&name).ok()?;
        return is_same_inode(&now, &dir, &intent.was, locator.fsid(intent))
            .then_some(Fate::NotDone);
    };
    match staging.dir.stat_child(&staging.name_of(intent.n)) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(_) => return None,
        Ok(_) => {
            let location = locator.locate(intent).ok()?;
            let names = NameSwap::for_action(&location.dir, &location.name, &staging, intent.n);
            names.roll_back(&Substitute::Nothing).ok()?;
        }
    }
    Some(Fate::NotDone)
}

/// Returns the identities of links that the run made but could not record before it was cut off.
/// Such links exist on file systems where each name has its own inode number. None of them is the
/// last name of a file.
fn unknown_links(
    logged: &LoggedIntent,
    location: &IntentLocation,
    names: &NameSwap<'_>,
    fsid: u64,
) -> Vec<FileKey> {
    let staging = &names.staging.dir;
    let mut found = Vec::new();
    for (dir, name) in
        [(staging, &names.new), (staging, &names.old), (&location.dir, &location.name)]
    {
        let Ok(now) = dir.stat_child(name) else { continue };
        if is_unchanged(&now, dir, &logged.intent.was, fsid) {
            continue;
        }
        if let Ok(Substitute::Link(keys)) = substitute_in_place(logged, (dir, name), &now) {
            found.extend(keys);
        }
    }
    found
}

/// Determines whether a name was separated from its file, and cleans up.
///
/// As long as the name still belongs to the original file, the entry in the staging directory is
/// the copy. After the exchange, that entry is a link to the original file, which also still has
/// another name.
pub(crate) fn finish_separate(
    locator: &IntentLocator<'_>,
    intent: &Intent,
    location: &IntentLocation,
    names: &NameSwap<'_>,
) -> Option<Fate> {
    let is_file =
        |stat: &Stat, dir: &Dir| is_unchanged(stat, dir, &intent.was, locator.fsid(intent));
    names.remove_temp();
    let now = location.dir.stat_child(&location.name).ok();
    let not_yet = now.is_some_and(|now| is_file(&now, &location.dir));
    for name in [&names.new, &names.old] {
        let staging = &names.staging.dir;
        let Ok(there) = staging.stat_child(name) else { continue };
        let taken_out = is_file(&there, staging);
        if now.is_none() && taken_out {
            staging.move_new(name, &location.dir, &location.name).ok()?;
        } else if taken_out && there.links > 1 {
            staging.remove_name(name).ok()?;
        } else if not_yet {
            let file = (&*location.dir, &*location.name);
            remove_if_equal((staging, name), file, intent).ok()?;
        } else {
            return None;
        }
    }
    Some(if not_yet || now.is_none() { Fate::NotDone } else { Fate::Done })
}

/// Removes the entries that an interrupted undo left in the staging directory.
pub(crate) fn remove_undo_leftovers(locator: &mut IntentLocator<'_>, logged: &LoggedIntent) {
    let Ok(location) = locator.locate(&logged.intent) else { return };
    let Some(staging) = &location.staging else { return };
    let names = NameSwap::for_undo(&location.dir, &location.name, staging, logged.intent.n);
    names.remove_temp();
    let Some(inode) = logged.made else { return };
    let made = undo_substitute_of(&logged.intent, inode, staging);
    let device = staging.dir.stat().map_or(0, |stat| stat.device);
    let replaced = substitute_of(logged, device);
    let is_in_place = location.dir.stat_child(&location.name).is_ok_and(|now| now.inode == inode);
    // If this fails, the entry stays in the staging directory.
    let _left = match logged.intent.kind {
        // The undo made a link. `roll_back` removes the link only if its file has another name.
        Kind::Separate => names.roll_back(&made),
        // The copy has the file's name. Other programs may have written to the copy, so it stays.
        // The entry that it replaced is removed if it is a symbolic link, a link to a file with
        // other names, or equal to the copy.
        _ if is_in_place => names.roll_back(&replaced).or_else(|_| {
            let copy = (&*location.dir, &*location.name);
            remove_if_equal((&staging.dir, &names.new), copy, &logged.intent)
        }),
        _ => names.roll_back(&made).or_else(|_| names.roll_back(&replaced)),
    };
}

/// Removes an entry of the staging directory if it equals the file `kept` and no program is known
/// to write to either of them. The leases on both files last until the entry is removed.
fn remove_if_equal(
    (dir, name): (&Dir, &CStr),
    (kept_dir, kept_name): (&Dir, &CStr),
    intent: &Intent,
) -> Result<(), Reason> {
    let kept = kept_dir.open_file(kept_name).map_err(Reason::kept_failed(Op::Open))?;
    let file = dir.open_file(name).map_err(Reason::failed(Op::Open))?;
    let (size, progress) = (intent.was.version.size, Progress::default());
    match equal_under_leases(&kept, &file, size, &mut Scratch::default(), &progress) {
        Ok(Some(leases)) if leases.hold() => {
            dir.remove_name(name).map_err(Reason::failed(Op::Remove))
        }
        Ok(Some(_)) => Err(Reason::OpenForWriting),
        Ok(None) => Err(Reason::Differs),
        Err(Interrupted) => Err(Reason::stopped()),
    }
}
