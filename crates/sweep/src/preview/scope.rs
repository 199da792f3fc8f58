//! Directories that a rule may take as a whole.
//!
//! Whether a directory goes as a whole is known only after everything below it was examined. Each
//! directory therefore counts its unfinished subdirectories. The worker that finishes the last one
//! passes the result on to the parent.

use std::sync::Arc;

use fsops::Stat;
use runtime::Mutex;

use crate::preview::Match;
use crate::rule::Extent;

/// A directory of the walk.
#[derive(Debug)]
pub(crate) struct DirNode {
    /// The parent, if one of its rules is affected by this directory.
    pub(crate) parent: Option<Arc<DirNode>>,
    /// The path relative to the target.
    pub(crate) path: Vec<u8>,
    pub(crate) state: Mutex<DirState>,
}

/// The state of a directory, which changes while the directories below it are examined.
#[derive(Debug, Default)]
pub(crate) struct DirState {
    /// Number of subdirectories that are not finished, plus one for the directory itself.
    pub(crate) pending: usize,
    /// The metadata. It is only needed if a rule may take the directory.
    pub(crate) stat: Option<Stat>,
    /// The rules that may take the directory.
    pub(crate) scopes: Vec<Scope>,
}

/// A rule that may take a directory as a whole.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) rule: u32,
    pub(crate) extent: Extent,
    /// Whether a pattern matches the directory itself. Otherwise, an ancestor matches.
    pub(crate) is_top: bool,
    /// Whether something in the directory is kept.
    pub(crate) is_kept: bool,
    /// Whether the rule does not apply to the directory after all.
    pub(crate) is_off: bool,
    pub(crate) sums: Sums,
    /// Directories below that are taken, in case that this directory is not.
    pub(crate) taken: Vec<Match>,
}

/// Sums over the files of a scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sums {
    pub(crate) files: u64,
    pub(crate) frees: u64,
    pub(crate) newest_ns: i64,
    pub(crate) oldest_ns: i64,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums { files: 0, frees: 0, newest_ns: i64::MIN, oldest_ns: i64::MAX }
    }
}

impl Sums {
    pub(crate) fn of_file(stat: &Stat, newest_ns: i64) -> Sums {
        let frees = if stat.links > 1 { 0 } else { stat.allocated };
        Sums { files: 1, frees, newest_ns, oldest_ns: stat.mtime_ns() }
    }

    pub(crate) fn add(&mut self, other: Sums) {
        self.files += other.files;
        self.frees = self.frees.saturating_add(other.frees);
        self.newest_ns = self.newest_ns.max(other.newest_ns);
        self.oldest_ns = self.oldest_ns.min(other.oldest_ns);
    }
}

impl Scope {
    pub(crate) fn new(rule: u32, extent: Extent, is_top: bool) -> Scope {
        Scope {
            rule,
            extent,
            is_top,
            is_kept: false,
            is_off: false,
            sums: Sums::default(),
            taken: Vec::new(),
        }
    }

    /// Returns whether the rule takes the directory as a whole.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_kept && !self.is_off
    }
}

impl DirNode {
    /// Returns the path of an entry of the directory.
    pub(crate) fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let mut path = Vec::with_capacity(self.path.len() + 1 + name.len());
        path.extend_from_slice(&self.path);
        walk::push_component(&mut path, name);
        path
    }

    /// Returns whether a rule may take the directory.
    pub(crate) fn has_scopes(&self) -> bool {
        !self.state.lock().scopes.is_empty()
    }

    /// Marks that something in the directory is kept from a rule.
    pub(crate) fn keep(&self, rule: u32) {
        let mut state = self.state.lock();
        for scope in state.scopes.iter_mut().filter(|scope| scope.rule == rule) {
            scope.is_kept = true;
        }
    }

    /// Marks that something in the directory is kept from all rules.
    pub(crate) fn keep_all(&self) {
        self.state.lock().scopes.iter_mut().for_each(|scope| scope.is_kept = true);
    }
}

impl Match {
    /// Creates a match from sums.
    pub(crate) fn new(path: Vec<u8>, rule: u32, stat: Stat, sums: Sums) -> Match {
        let Sums { files, frees, newest_ns, oldest_ns } = sums;
        Match { path, rule, stat, files, frees, newest_ns, oldest_ns }
    }
}
