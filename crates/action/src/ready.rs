//! The last step of an undo: moves what was made into its place.
//!
//! Links and copies are made in the store first and reach the disk before they take their places, so that a crash leaves
//! either the old file or the new one.

use std::io;

use fsops::Op;

use crate::error::Reason;
use crate::means::is_as_kept;
use crate::past::Noted;
use crate::place::{New, Place};
use crate::recover::{Site, made};
use crate::staging::Staging;
use crate::statuses::Leased;
use crate::undo::Undo;

/// A link or a copy that is ready to take the place of what an action put there.
pub(crate) struct Ready<'b> {
    pub(crate) noted: &'b Noted,
    pub(crate) site: Site,
    pub(crate) inode: u64,
    /// The entry that the action put in the file's place; `None` if it is gone.
    pub(crate) there: Option<New>,
    /// Whether it has the owner that the file had.
    pub(crate) has_owner: bool,
}

impl Ready<'_> {
    /// Returns the place that it is made for.
    pub(crate) fn place<'a>(&'a self, staging: &'a Staging) -> Place<'a> {
        Place::of_undo(&self.site.dir, &self.site.name, staging, self.noted.intent.n)
    }
}

impl Undo<'_> {
    /// Moves what was made into place, and records the status change times that this gave to files.
    pub(crate) fn put(&mut self, ready: &Ready<'_>) -> Result<(), Reason> {
        let Site { dir, name, staging } = &ready.site;
        let staging = staging.as_ref().ok_or(Reason::NoStore)?;
        let place = ready.place(staging);
        let file = staging.dir.open_file(&place.part).ok();
        // The kept file loses the name that is replaced.
        let kept = match ready.there {
            Some(New::Link(_)) => dir.open_file(name).ok(),
            _ => None,
        };
        let [leased, leased_kept] = [&file, &kept].map(|file| file.as_ref().and_then(Leased::new));
        move_in(ready, &place, staging)?;
        self.note_status(ready.noted.intent.n, leased);
        if let Some((before, after)) = leased_kept.map(Leased::end) {
            self.undone.statuses.note(&before, after);
        }
        Ok(())
    }
}

/// Moves a link or a copy from `place` to the name that it is for. The name never disappears in between.
fn move_in(ready: &Ready<'_>, place: &Place<'_>, staging: &Staging) -> Result<(), Reason> {
    let moved = match &ready.there {
        None => staging.dir.move_new(&place.part, &ready.site.dir, &ready.site.name),
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
    let Some(there) = &ready.there else { return Ok(()) };
    let intent = &ready.noted.intent;
    let swapped = place.swap().and_then(|taken| {
        // The link may be the last name of the kept file by now. It stays if somebody wrote to the file.
        let is_whole = !matches!(there, New::Link(_)) || is_as_kept(intent, &taken.stat);
        if is_whole && place.is_expected(&taken, there) {
            place.remove(&taken)
        } else {
            Err(Reason::Taken)
        }
    });
    swapped.or_else(|reason| place.roll_back(&made(intent, ready.inode)).and(Err(reason)))
}
