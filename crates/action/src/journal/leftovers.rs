//! Finds files in staging directories that the journal records as restored, purged, or never moved.
//!
//! A power failure may undo changes that were made after the last sync, and some file systems
//! return from a sync too early. The journal may then be ahead of the disk, and a file that it
//! records as restored may still be in the staging directory. Undo and every command on the
//! quarantine therefore look there too.

use fsops::DirBuffer;
use walk::PathOpener;

use crate::journal::ids::parse_number;
use crate::journal::replay::{Fate, Replay};
use crate::staging::dir::{Staging, open_staging};

/// Maximum number of directories kept open.
const MAX_OPEN_DIRS: usize = 4;

/// Marks files that are still in the run's staging directories as acted on, so that an undo
/// restores them.
pub(crate) fn count_leftovers_as_done(replay: &mut Replay) {
    let mut reach = PathOpener::new(MAX_OPEN_DIRS);
    let mut all = Leftovers::default();
    for (&number, (path, _)) in &replay.staging_dirs {
        // If a directory cannot be opened here, the error is reported when a file in the directory
        // is needed.
        if let Ok(staging) = open_staging(number, path, &mut reach) {
            all.add_from(&staging);
        }
    }
    for &n in all.files.iter().chain(&all.copies) {
        replay.count_as_done(n);
    }
    let mut copies = all.copies;
    copies.retain(|n| replay.entries.contains_key(n));
    copies.sort_unstable();
    copies.dedup();
    replay.undo_leftovers = copies;
}

/// Entries in staging directories, identified by the numbers of their intents.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// Files of the user.
    pub(crate) files: Vec<u64>,
    /// Substitutes that an undo made, or took out of a file's place.
    copies: Vec<u64>,
}

impl Leftovers {
    /// Adds the entries of a staging directory. If listing the directory fails, the remaining
    /// entries are left out.
    pub(crate) fn add_from(&mut self, staging: &Staging) {
        let _incomplete = staging.dir.open_below_same_mount(b".").and_then(|dir| {
            dir.for_each(&mut DirBuffer::default(), |item| {
                let Some(name) = staging.own(item.name) else { return };
                let (number, suffix) = name.split_once('.').unwrap_or((name, ""));
                let number = parse_number(number);
                match suffix {
                    "" | "old" => self.files.extend(number),
                    "part" | "copy" | "over" => self.copies.extend(number),
                    _ => {}
                }
            })
        });
    }
}

impl Replay {
    /// Counts a file as acted on, even if the journal says that it was restored or purged, or has no
    /// record of the action.
    fn count_as_done(&mut self, n: u64) {
        if let Some(entry) = self.entries.get_mut(&n)
            && matches!(entry.fate, Fate::NotDone | Fate::Undone | Fate::Purged)
        {
            entry.fate = Fate::Done;
        }
    }
}
