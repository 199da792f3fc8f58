//! Directories that a rule may take as a whole.
//!
//! A rule can take a directory as a whole only after everything below it was examined. Each
//! directory therefore counts its unfinished subdirectories. The worker that finishes the last one
//! passes the result on to the parent.

use std::ffi::{CStr, CString};
use std::sync::{Arc, OnceLock};

use fsops::Stat;
use runtime::Mutex;

use crate::matcher::{Matcher, Place};

use crate::preview::Match;
use crate::rule::Extent;

/// A directory of the walk.
///
/// A directory stores its name and not its path. In a chain of nested directories, the paths would
/// take memory proportional to the square of its length.
#[derive(Debug)]
pub(crate) struct DirNode {
    /// The parent. `None` for the target.
    pub(crate) parent: Option<Arc<DirNode>>,
    /// Whether this directory passes results on to its parent, because rules may take both.
    pub(crate) reports: bool,
    /// The name. Empty for the target.
    pub(crate) name: CString,
    /// The position among the protected entries, once it has been needed.
    pub(crate) protected: OnceLock<Place>,
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
#[expect(clippy::struct_excessive_bools, reason = "each is found by itself, in any order")]
pub(crate) struct Scope {
    pub(crate) rule: u32,
    pub(crate) extent: Extent,
    /// Whether a pattern matches the directory itself. Otherwise, an ancestor matches.
    pub(crate) is_top: bool,
    /// Whether something in the directory is kept.
    pub(crate) is_kept: bool,
    /// Whether the rule does not apply to the directory, for example because a marker is missing.
    pub(crate) is_off: bool,
    /// Whether a repository is in the directory or below it, and the rule takes only what git does
    /// not track. The rule then takes nothing in the directory.
    pub(crate) has_repository: bool,
    pub(crate) sums: Sums,
    /// Directories below, to take if this directory stays.
    pub(crate) taken_dirs: Vec<TakenDir>,
    /// Files below, to take if this directory stays.
    pub(crate) taken_files: Vec<Match>,
}

/// A directory that a rule takes as a whole. Its path is computed only if no directory above it is
/// taken.
#[derive(Clone, Debug)]
pub(crate) struct TakenDir {
    pub(crate) node: Arc<DirNode>,
    pub(crate) stat: Stat,
    pub(crate) sums: Sums,
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
            has_repository: false,
            sums: Sums::default(),
            taken_dirs: Vec::new(),
            taken_files: Vec::new(),
        }
    }

    /// Returns whether the rule takes the directory as a whole.
    pub(crate) fn is_whole(&self) -> bool {
        !self.is_kept && !self.is_off && !self.has_repository
    }
}

impl DirNode {
    /// Creates the node of a target.
    pub(crate) fn top() -> DirNode {
        DirNode {
            parent: None,
            reports: false,
            name: CString::default(),
            protected: OnceLock::new(),
            state: Mutex::new(DirState { pending: 1, ..DirState::default() }),
        }
    }

    /// Creates the node of a directory in `parent`.
    pub(crate) fn child(
        parent: &Arc<DirNode>,
        name: &CStr,
        reports: bool,
        scopes: Vec<Scope>,
    ) -> DirNode {
        if reports {
            parent.state.lock().pending += 1;
        }
        DirNode {
            parent: Some(Arc::clone(parent)),
            reports,
            name: name.into(),
            protected: OnceLock::new(),
            state: Mutex::new(DirState { pending: 1, stat: None, scopes }),
        }
    }

    /// Returns the path relative to the target.
    pub(crate) fn path(&self) -> Vec<u8> {
        let (mut names, mut length) = (Vec::with_capacity(16), 0);
        let mut next = Some(self);
        while let Some(node) = next.filter(|node| node.parent.is_some()) {
            names.push(node.name.to_bytes());
            length += 1 + node.name.count_bytes();
            next = node.parent.as_deref();
        }
        let mut path = Vec::with_capacity(length);
        for name in names.into_iter().rev() {
            walk::push_component(&mut path, name);
        }
        path
    }

    /// Returns the position among the protected entries.
    pub(crate) fn protected_place(&self, matcher: &Matcher) -> &Place {
        let (mut unknown, mut next) = (Vec::new(), Some(self));
        while let Some(node) = next.filter(|node| node.protected.get().is_none()) {
            unknown.push(node);
            next = node.parent.as_deref();
        }
        let mut known = next.and_then(|node| node.protected.get());
        for node in unknown.into_iter().rev() {
            let place = || match known {
                Some(above) => matcher.enter(above, node.name.to_bytes()),
                None => matcher.start(),
            };
            known = Some(node.protected.get_or_init(place));
        }
        known.expect("the node itself is known by now")
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

impl Drop for DirNode {
    /// Frees a chain of parents one by one. Without this, a long chain would overflow the stack.
    fn drop(&mut self) {
        let mut next = self.parent.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.parent.take();
        }
    }
}

impl Match {
    /// Creates a match from sums.
    pub(crate) fn new(path: Vec<u8>, rule: u32, stat: Stat, sums: Sums) -> Match {
        let Sums { files, frees, newest_ns, oldest_ns } = sums;
        Match { path, rule, stat, files, frees, newest_ns, oldest_ns }
    }
}
