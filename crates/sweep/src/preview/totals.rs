//! Merges the results of the workers, so that no entry is taken twice.

use std::cmp::Ordering;

use fsops::Kind;

use crate::preview::request::Compiled;
use crate::preview::worker::Found;
use crate::preview::{Match, Preview, RuleTotals};

/// Merges the results of the workers.
pub(crate) fn assemble(compiled: &Compiled, found: Vec<Found>) -> Preview {
    let mut preview = Preview::default();
    for part in found {
        if preview.matches.is_empty() {
            preview.matches = part.matches;
        } else {
            preview.matches.extend(part.matches);
        }
        preview.problems.extend(part.problems);
        preview.dirs_listed += part.dirs;
        preview.names_seen += part.names;
    }
    preview.problems.sort_by(|a, b| path_order(&a.path, &b.path));
    // The workers sorted their matches. This sort finds the sorted parts and only merges them.
    preview.matches.sort_by(Match::order);
    preview.matches.dedup_by(|next, kept| next.is_within(kept));
    preview.rules = compiled
        .is_here
        .iter()
        .map(|&is_here| RuleTotals { is_here, ..RuleTotals::default() })
        .collect();
    preview.add_up();
    preview
}

impl Preview {
    /// Removes matches, and leaves those for which `is_taken` returns true. A rule that was refused stays refused.
    pub fn retain(&mut self, is_taken: impl Fn(&Match) -> bool) {
        self.matches.retain(is_taken);
        for totals in &mut self.rules {
            *totals = RuleTotals { is_here: totals.is_here, ..RuleTotals::default() };
        }
        self.add_up();
    }

    fn add_up(&mut self) {
        for found in &self.matches {
            self.rules[found.rule as usize].add(found);
        }
    }
}

/// Orders paths so that a directory comes right before everything below it.
pub(crate) fn path_order(a: &[u8], b: &[u8]) -> Ordering {
    let key = |&byte: &u8| if byte == b'/' { 0 } else { u16::from(byte) + 1 };
    // Paths have long common beginnings, so this compares eight bytes at a time.
    let (mut a, mut b) = (a, b);
    while let (Some((first, rest)), Some((other, others))) =
        (a.split_first_chunk::<8>(), b.split_first_chunk::<8>())
        && first == other
    {
        (a, b) = (rest, others);
    }
    let common = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(a.len().min(b.len()));
    a[common..].first().map(key).cmp(&b[common..].first().map(key))
}

impl RuleTotals {
    fn add(&mut self, found: &Match) {
        self.matches += 1;
        self.files += found.files;
        self.frees = self.frees.saturating_add(found.frees);
        if found.files > 0 {
            let oldest = self.oldest_ns.map_or(found.oldest_ns, |ns| ns.min(found.oldest_ns));
            self.oldest_ns = Some(oldest);
        }
    }
}

impl Match {
    /// Orders matches by path. If several rules take one entry, the first rule comes first.
    pub(crate) fn order(&self, other: &Match) -> Ordering {
        path_order(&self.path, &other.path).then(self.rule.cmp(&other.rule))
    }

    /// Returns whether the entry is that of another match, or inside of it.
    fn is_within(&self, other: &Match) -> bool {
        let rest = self.path.strip_prefix(&other.path[..]);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    }

    /// Returns whether the entry is a directory that is taken with everything below it.
    pub fn is_tree(&self) -> bool {
        self.stat.kind == Kind::Dir
    }
}
