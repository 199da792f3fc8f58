//! Selects the entries to remove.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fsops::Stat;
use walk::{Globs, PatternUse, QUARANTINE_PREFIX, TopDir};

use crate::paths::joined;

/// Selects the entries of a tree to remove.
///
/// An entry is selected if it or one of its ancestors matches `include` (or `include` is empty),
/// neither it nor an ancestor matches `exclude`, and it was last modified before `before_ns`. A
/// directory is removed if it was selected itself, by its metadata before the run, and nothing in
/// it is kept.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Selected entries; all if empty.
    pub include: Globs,
    /// Entries to keep.
    pub exclude: Globs,
    /// Only entries last modified before this time are selected, in nanoseconds since the epoch.
    pub before_ns: Option<i64>,
    /// The target's path relative to the directory that patterns refer to. If it is empty, they
    /// refer to the target itself and may also be paths that lead there ([`Globs::below`]).
    pub above: Vec<u8>,
    /// Whether `include` selects files only, and a directory is removed as soon as nothing in it is
    /// kept.
    pub by_files: bool,
}

/// The decision about an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Remove it with everything in it.
    Goes,
    /// Keep the directory; entries in it may be selected.
    Passes,
    /// Keep it with everything in it.
    Stays,
    /// Keep it, as it is the quarantine of `lop dedupe`.
    Store,
}

impl Selection {
    /// Returns whether everything is selected.
    pub fn is_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty() && self.before_ns.is_none()
    }

    /// Returns the selection for one target, if patterns that are paths make it differ from the
    /// others'.
    pub(crate) fn of_target(&self, given: &[u8]) -> Option<Selection> {
        let has_patterns = !(self.include.is_empty() && self.exclude.is_empty());
        if !has_patterns || !self.above.is_empty() {
            return None;
        }
        let tops = [TopDir::new(Path::new(OsStr::from_bytes(given)))];
        let include = self.include.below(&tops, PatternUse::Include);
        let exclude = self.exclude.below(&tops, PatternUse::Exclude);
        Some(Selection { include, exclude, ..self.clone() })
    }

    /// Returns the path of a directory that patterns are matched against, if any pattern needs
    /// paths.
    pub(crate) fn path(&self, below_top: impl FnOnce() -> Vec<u8>) -> Option<Vec<u8>> {
        let is_wanted = self.include.want_paths() || self.exclude.want_paths();
        is_wanted.then(|| joined(&self.above, &below_top()))
    }

    /// Decides by an entry's name, and its path if needed. `chosen` tells whether its parent is
    /// selected.
    pub(crate) fn choose(
        &self,
        name: &[u8],
        path: Option<&[u8]>,
        is_dir: bool,
        chosen: bool,
    ) -> Choice {
        if is_dir && name.starts_with(QUARANTINE_PREFIX.as_bytes()) {
            return Choice::Store;
        }
        // Both sets are matched, so that each pattern's matches are noted.
        let is_included = (!is_dir || !self.by_files) && self.include.matches(name, path, is_dir);
        if self.exclude.matches(name, path, is_dir) {
            return Choice::Stays;
        }
        if chosen || is_included {
            Choice::Goes
        } else if is_dir {
            Choice::Passes
        } else {
            Choice::Stays
        }
    }

    /// Returns whether a whole target is kept because it is excluded itself.
    pub(crate) fn spares_target(&self, name: &[u8], is_dir: bool) -> bool {
        self.above.is_empty() && self.exclude.match_top(name, is_dir)
    }

    /// Returns whether a file that is a target itself is selected.
    pub(crate) fn choose_file(&self, name: &[u8], stat: &Stat) -> bool {
        let is_included = self.include.is_empty() || self.include.match_top(name, false);
        is_included && !self.spares_target(name, false) && !self.is_too_new(stat.mtime_ns())
    }

    /// Returns whether everything in the top directory is selected unless excluded.
    pub(crate) fn chooses_all(&self) -> bool {
        self.include.is_empty()
    }

    /// Returns whether to remove an emptied directory that no pattern includes.
    pub(crate) fn takes_emptied(&self) -> bool {
        self.include.is_empty() || self.by_files
    }

    pub(crate) fn is_too_new(&self, mtime_ns: i64) -> bool {
        self.before_ns.is_some_and(|before| mtime_ns >= before)
    }
}
