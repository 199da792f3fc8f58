//! Which entries go, where not all of them do.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fsops::Stat;
use walk::{Globs, STORE_PREFIX, Top, Use};

use crate::job::joined;

/// Which entries of a tree are removed.
///
/// An entry goes if it, or a directory that it is in, matches `include` (or there is none), neither it nor
/// a directory that it is in matches `exclude`, and it was last modified before `before_ns`. A
/// directory goes if that holds for itself, as it was before, and nothing in it stays.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// What goes; everything if there are none.
    pub include: Globs,
    /// What stays.
    pub exclude: Globs,
    /// Only what was last modified before this goes, nanoseconds since the epoch.
    pub before_ns: Option<i64>,
    /// The path of the target below the directory that patterns are counted from. If it is empty that is the
    /// target itself, and patterns may be paths that lead there ([`Globs::below`]).
    pub above: Vec<u8>,
    /// Only files are included by patterns, and a directory goes as soon as nothing in it stays.
    pub by_files: bool,
}

/// What is to be done with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// It goes, and so does all in it.
    Goes,
    /// It is a directory that stays; something in it may go.
    Passes,
    /// It stays, with all in it.
    Stays,
    /// It is where `lop dedupe` keeps files that can be brought back.
    Store,
}

impl Selection {
    /// Returns whether everything goes.
    pub fn is_all(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty() && self.before_ns.is_none()
    }

    /// Returns what goes of one target, for which patterns may be paths that lead there; nothing if that is the
    /// same as for others.
    pub(crate) fn of_target(&self, given: &[u8]) -> Option<Selection> {
        let has_patterns = !(self.include.is_empty() && self.exclude.is_empty());
        if !has_patterns || !self.above.is_empty() {
            return None;
        }
        let tops = [Top::new(Path::new(OsStr::from_bytes(given)))];
        let include = self.include.below(&tops, Use::Include);
        let exclude = self.exclude.below(&tops, Use::Exclude);
        Some(Selection { include, exclude, ..self.clone() })
    }

    /// Returns the path of a directory that patterns are matched against, if any of them wants paths.
    pub(crate) fn path(&self, below_top: impl FnOnce() -> Vec<u8>) -> Option<Vec<u8>> {
        let is_wanted = self.include.want_paths() || self.exclude.want_paths();
        is_wanted.then(|| joined(&self.above, &below_top()))
    }

    /// Decides by the name of an entry, and its path if that is wanted. `chosen` tells whether the directory
    /// that it is in goes.
    pub(crate) fn choose(
        &self,
        name: &[u8],
        path: Option<&[u8]>,
        is_dir: bool,
        chosen: bool,
    ) -> Choice {
        if is_dir && name.starts_with(STORE_PREFIX.as_bytes()) {
            return Choice::Store;
        }
        // Both are asked, so that a pattern is not said to match nothing because of another one.
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

    /// Returns whether a target stays as a whole, as it is excluded itself.
    pub(crate) fn spares_target(&self, name: &[u8], is_dir: bool) -> bool {
        self.above.is_empty() && self.exclude.match_top(name, is_dir)
    }

    /// Returns whether a file goes that was named itself.
    pub(crate) fn choose_file(&self, name: &[u8], stat: &Stat) -> bool {
        let is_included = self.include.is_empty() || self.include.match_top(name, false);
        is_included && !self.spares_target(name, false) && !self.is_too_new(stat.mtime_ns())
    }

    /// Returns whether all in the top directory goes that is not excluded.
    pub(crate) fn chooses_all(&self) -> bool {
        self.include.is_empty()
    }

    /// Returns whether a directory goes of which nothing stays, though no pattern includes it.
    pub(crate) fn takes_emptied(&self) -> bool {
        self.include.is_empty() || self.by_files
    }

    pub(crate) fn is_too_new(&self, mtime_ns: i64) -> bool {
        self.before_ns.is_some_and(|before| mtime_ns >= before)
    }
}
