//! The selection of entries to remove.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fsops::Stat;
use walk::{Globs, PatternUse, QUARANTINE_PREFIX, TopDir};

use crate::paths::joined;

/// Selects the entries of a tree to remove.
///
/// An entry is selected if all of these conditions are met:
///
/// - It or one of its ancestors matches `include`, or `include` is empty.
/// - Neither it nor one of its ancestors matches `exclude`.
/// - It was last modified before `before_ns`.
///
/// A directory is removed if it is selected and all of its entries are removed. Its modification
/// time is checked before its entries are removed.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Patterns for entries to remove. Without patterns, all entries match.
    pub include: Globs,
    /// Patterns for entries to keep.
    pub exclude: Globs,
    /// Only entries last modified before this time, in nanoseconds since the epoch, are selected.
    pub before_ns: Option<i64>,
    /// Path of the target, relative to the base directory of the patterns. If this path is empty,
    /// patterns are relative to the target, and may also be paths that lead into the target
    /// ([`Globs::below`]).
    pub above: Vec<u8>,
    /// True if `include` selects only files. Directories are then removed if all of their entries
    /// are removed.
    pub by_files: bool,
}

/// Decision on an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// Remove the entry and everything in it.
    Goes,
    /// Keep the directory, but check the entries in it.
    Passes,
    /// Keep the entry and everything in it.
    Stays,
    /// Keep the entry, because it is the quarantine of `lop dedupe`.
    Store,
}

impl Selection {
    /// Returns whether everything is selected.
    pub fn is_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty() && self.before_ns.is_none()
    }

    /// Returns the selection for one target, or `None` if the selection is the same for all
    /// targets. The selection differs between targets if patterns may be paths into a target.
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

    /// Returns the path of a directory to match patterns against, or `None` if no pattern needs
    /// paths. `below_top` returns the path of the directory relative to the target.
    pub(crate) fn path(&self, below_top: impl FnOnce() -> Vec<u8>) -> Option<Vec<u8>> {
        let is_wanted = self.include.want_paths() || self.exclude.want_paths();
        is_wanted.then(|| joined(&self.above, &below_top()))
    }

    /// Decides on an entry by its name and, if needed, its path. `chosen` is true if everything in
    /// its parent directory is selected.
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
        // Both sets of patterns are always matched, so that every pattern that matches is recorded.
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

    /// Returns whether `exclude` matches the target itself, in which case the whole target is kept.
    pub(crate) fn spares_target(&self, name: &[u8], is_dir: bool) -> bool {
        self.above.is_empty() && self.exclude.match_top(name, is_dir)
    }

    /// Returns whether to remove a target that is not a directory.
    pub(crate) fn choose_file(&self, name: &[u8], stat: &Stat) -> bool {
        let is_included = self.include.is_empty() || self.include.match_top(name, false);
        is_included && !self.spares_target(name, false) && !self.is_too_new(stat.mtime_ns())
    }

    /// Returns true if there are no include patterns, so that every entry that is not excluded matches.
    pub(crate) fn chooses_all(&self) -> bool {
        self.include.is_empty()
    }

    /// Returns whether to remove an emptied directory that does not match `include`.
    pub(crate) fn takes_emptied(&self) -> bool {
        self.include.is_empty() || self.by_files
    }

    pub(crate) fn is_too_new(&self, mtime_ns: i64) -> bool {
        self.before_ns.is_some_and(|before| mtime_ns >= before)
    }
}
