//! The entries to take from one target, from a preview or from a plan.

use fsops::{Kind, Stat};
use sweep::sums::TreeSums;

use super::engine::Found;
use super::rule_book::RuleBook;
use super::summary::Summary;
use super::target::Target;

/// The entries to take from one target.
pub(super) struct Batch<'a> {
    pub(super) target: &'a Target,
    /// The entries, in an order in which entries of one directory mostly follow each other.
    pub(super) entries: Vec<Taking<'a>>,
}

/// How to recognise that nothing in a directory has changed since it was matched.
#[derive(Clone, Copy)]
pub(super) enum TreeProof {
    /// The directory has not changed since this time, in nanoseconds since the epoch.
    Since(i64),
    /// The directory still has these sums.
    Sums(TreeSums),
}

/// An entry to take.
pub(super) struct Taking<'a> {
    /// The path relative to the target.
    pub(super) path: &'a [u8],
    /// The ID of the rule.
    pub(super) rule: &'a str,
    /// The metadata that the entry must still have.
    pub(super) was: Stat,
    /// How to recognise that nothing in a directory has changed.
    pub(super) proof: TreeProof,
    pub(super) files: u64,
    /// Disk space in bytes that the removal frees.
    pub(super) bytes: u64,
}

impl<'a> Batch<'a> {
    /// Returns the matches of a preview.
    pub(super) fn of(found: &'a Found, book: &'a RuleBook) -> Batch<'a> {
        let matched_ns = found.matched_ns;
        let taking = |found: &'a sweep::preview::Match| Taking {
            path: &found.path,
            rule: &book.rules[found.rule as usize].id,
            was: found.stat,
            proof: TreeProof::Since(matched_ns),
            files: found.files,
            bytes: found.frees,
        };
        Batch { target: &found.target, entries: found.preview.matches.iter().map(taking).collect() }
    }
}

impl Taking<'_> {
    /// Returns whether the entry is a directory, which is taken with everything below it.
    pub(super) fn is_tree(&self) -> bool {
        self.was.kind == Kind::Dir
    }

    /// Returns whether the entry is still the one that was matched. For a directory, this includes that no name in it
    /// was added or removed, but says nothing about its subdirectories.
    pub(super) fn is_unchanged(&self, now: &Stat) -> bool {
        let same_size = self.is_tree() || now.size == self.was.size;
        now.same_file(&self.was)
            && now.kind == self.was.kind
            && same_size
            && now.mtime == self.was.mtime
    }
}

impl Summary {
    /// Returns the totals of the entries to take.
    pub(super) fn of_batches(batches: &[Batch<'_>]) -> Summary {
        let mut summary = Summary::default();
        batches.iter().flat_map(|batch| &batch.entries).for_each(|entry| summary.add(entry));
        summary
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, taking: &Taking<'_>) {
        self.matches += 1;
        self.files += taking.files;
        self.bytes = self.bytes.saturating_add(taking.bytes);
    }
}
