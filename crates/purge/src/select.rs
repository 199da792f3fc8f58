//! Which entries go, where not all of them do.

use fsops::Stat;
use walk::{Globs, STORE_PREFIX};

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

    pub(crate) fn wants_paths(&self) -> bool {
        self.include.want_paths() || self.exclude.want_paths()
    }

    /// Decides by the name of an entry, and its path below the top directory if that is wanted. `chosen`
    /// tells whether the directory that it is in goes.
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
        if self.exclude.matches(name, path, is_dir) {
            return Choice::Stays;
        }
        if chosen || self.include.matches(name, path, is_dir) {
            Choice::Goes
        } else if is_dir {
            Choice::Passes
        } else {
            Choice::Stays
        }
    }

    /// Returns whether a file goes that was named itself.
    pub(crate) fn choose_file(&self, name: &[u8], stat: &Stat) -> bool {
        self.choose(name, Some(name), false, self.include.is_empty()) == Choice::Goes
            && !self.is_too_new(stat.mtime_ns())
    }

    /// Returns whether the top directory goes, if nothing in it stays.
    pub(crate) fn chooses_top(&self) -> bool {
        self.include.is_empty()
    }

    pub(crate) fn is_too_new(&self, mtime_ns: i64) -> bool {
        self.before_ns.is_some_and(|before| mtime_ns >= before)
    }
}
