//! What is in a run's private directories although its journal says that it is back, gone, or was never there.
//!
//! A power failure may take back what was done after the disk was last waited for, and not every file system
//! keeps its promise to have waited. The journal is then ahead of the disk, and what it calls undone lies in
//! the store. So whoever undoes a run, or lists or empties its quarantine, looks there too.

use std::ffi::CStr;

use fsops::DirBuffer;
use walk::Reach;

use crate::journal::ids::number_of_name;
use crate::journal::replay::{Fate, Replay};
use crate::staging::dir::{Staging, open_staging};

/// Directories kept open.
const OPEN_DIRS: usize = 4;

/// Has the files of a run that something is left of in its stores count as done, so that they are brought back.
pub(crate) fn count_leftovers_as_done(replay: &mut Replay) {
    let mut reach = Reach::new(OPEN_DIRS);
    let mut all = Leftovers::default();
    for (&number, (path, _)) in &replay.stores {
        // What cannot be opened now is looked at when it is needed.
        if let Ok(staging) = open_staging(number, path, &mut reach) {
            all.look_into(&staging);
        }
    }
    for &n in all.files.iter().chain(&all.copies) {
        replay.count_as_done(n);
    }
    let mut copies = all.copies;
    copies.retain(|n| replay.entries.contains_key(n));
    copies.sort_unstable();
    copies.dedup();
    replay.copies = copies;
}

/// What is in private directories, by the numbers of intents.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    /// Files that were in a place.
    pub(crate) files: Vec<u64>,
    /// What an undo made or took out.
    copies: Vec<u64>,
}

impl Leftovers {
    /// Adds what is in a private directory, as far as it can be listed.
    pub(crate) fn look_into(&mut self, staging: &Staging) {
        let _incomplete = staging.dir.open_below_within(b".").and_then(|dir| {
            dir.for_each(&mut DirBuffer::default(), |item| match left(staging, item.name) {
                Some((n, Leftover::File)) => self.files.push(n),
                Some((n, Leftover::Copy)) => self.copies.push(n),
                None => {}
            })
        });
    }
}

/// What a name in a private directory stands for.
enum Leftover {
    /// The file that was in the place.
    File,
    /// What an undo made or took out.
    Copy,
}

fn left(staging: &Staging, name: &CStr) -> Option<(u64, Leftover)> {
    let text = staging.own(name)?;
    let (number, suffix) = text.split_once('.').unwrap_or((text, ""));
    let number = number_of_name(&std::ffi::CString::new(number).ok()?)?;
    match suffix {
        "" | "old" => Some((number, Leftover::File)),
        "part" | "copy" | "over" => Some((number, Leftover::Copy)),
        _ => None,
    }
}

impl Replay {
    /// Has a file that the journal calls settled count as done.
    fn count_as_done(&mut self, n: u64) {
        if let Some(entry) = self.entries.get_mut(&n)
            && matches!(entry.fate, Fate::NotDone | Fate::Undone | Fate::Purged)
        {
            entry.fate = Fate::Done;
        }
    }
}
