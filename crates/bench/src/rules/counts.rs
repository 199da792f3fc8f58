//! Counts the parts of a rule file, for tests.

use std::collections::BTreeSet;

use super::{Base, Reach, RuleSet};

impl RuleSet {
    /// Counts the parts of the rules.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts { entries: self.entries.len(), ..Counts::default() };
        let mut nodes = BTreeSet::new();
        for key in self.keys() {
            counts.keys += 1;
            counts.patterns += key.names.len();
            counts.below += usize::from(key.reach == Reach::Below);
            counts.itself += usize::from(key.reach == Reach::Itself);
            counts.documents += usize::from(key.base == Base::Documents);
            counts.components += key.dir.len();
            counts.literal += key.dir.iter().filter(|name| !name.contains('*')).count();
            nodes.extend((0..=key.dir.len()).map(|len| (key.base, &key.dir[..len])));
        }
        counts.nodes = nodes.len();
        counts.keeps = self.entries.iter().filter(|entry| entry.keep.is_some()).count();
        counts
    }
}

/// The counts of a rule file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Number of entries.
    pub(crate) entries: usize,
    /// Number of keys.
    pub(crate) keys: usize,
    /// Number of pairs of a directory and a name pattern.
    pub(crate) patterns: usize,
    /// Number of keys with `RECURSE`.
    pub(crate) below: usize,
    /// Number of keys with `REMOVESELF`.
    pub(crate) itself: usize,
    /// Number of keys below `Documents`.
    pub(crate) documents: usize,
    /// Number of components of all directories, without the bases.
    pub(crate) components: usize,
    /// Number of components without wildcards.
    pub(crate) literal: usize,
    /// Number of different directories and their parents, including the bases.
    pub(crate) nodes: usize,
    /// Number of entries that keep a file.
    pub(crate) keeps: usize,
}
