//! Collects bindings. No directory is bound to one variable twice, and no home directory is listed
//! twice.

use std::collections::{HashMap, HashSet};

use fsops::{Dir, FileKey};

use super::lookup::Lookup;
use super::{Binding, Bindings, Context, Profile, System};
use crate::rule::variable::Variable;

/// The bindings of one target while they are collected.
pub(super) struct Binder<'a> {
    /// Finds the directories.
    pub(super) lookup: Lookup<'a>,
    /// Facts about the target that only the caller knows.
    pub(super) context: &'a Context,
    bindings: Bindings,
    bound: HashSet<(Variable, FileKey)>,
    profiles: HashMap<FileKey, usize>,
}

impl<'a> Binder<'a> {
    pub(super) fn new(target: &'a Dir, context: &'a Context) -> Binder<'a> {
        Binder {
            lookup: Lookup::new(target),
            context,
            bindings: Bindings::default(),
            bound: HashSet::new(),
            profiles: HashMap::new(),
        }
    }

    /// Binds the directory with exactly this path, if it exists and is not a link.
    pub(super) fn bind(&mut self, variable: Variable, path: &[u8], profile: Option<usize>) {
        let Some(key) = self.lookup.key(path) else { return };
        if self.bound.insert((variable, key)) {
            self.bindings.bound.push(Binding { variable, path: path.to_vec(), key, profile });
        }
    }

    /// Binds the directories at `relative` below `base` without regard to case. Returns their
    /// paths.
    pub(super) fn bind_folded(
        &mut self,
        variable: Variable,
        base: &[u8],
        relative: &str,
        profile: Option<usize>,
    ) -> Vec<Vec<u8>> {
        let found = self.lookup.folded(base, relative);
        for path in &found {
            self.bind(variable, path, profile);
        }
        found
    }

    /// Adds a system and returns its index.
    pub(super) fn add_system(&mut self, path: &[u8], name: String, is_live: bool) -> usize {
        self.bindings.systems.push(System { path: path.to_vec(), name, is_live });
        self.bindings.systems.len() - 1
    }

    /// Adds a home directory, binds it, and returns its index. Returns `None` if it is not a
    /// directory, or has been added before.
    pub(super) fn add_profile(&mut self, path: &[u8], system: Option<usize>) -> Option<usize> {
        let key = self.lookup.key(path)?;
        let index = self.bindings.profiles.len();
        if self.profiles.insert(key, index).is_some() {
            return None;
        }
        self.bindings.profiles.push(Profile { path: path.to_vec(), system });
        self.bind(Variable::Home, path, Some(index));
        Some(index)
    }

    /// Returns the bindings in their final order.
    pub(super) fn finish(self, folds: bool) -> Bindings {
        let mut bindings = self.bindings;
        bindings.bound.sort_by(|a, b| (a.variable, &a.path).cmp(&(b.variable, &b.path)));
        bindings.folds = folds;
        bindings.remarks = self.lookup.remarks;
        bindings
    }
}
