//! The orders of groups, and their totals.

use std::cmp::Reverse;

use crate::index::Index;
use crate::settled::Settled;
use crate::status::Status;

/// The totals of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of groups.
    pub groups: u64,
    /// Number of files, not counting one file of each group.
    pub redundant_files: u64,
    /// The bytes that keeping only one file of each group would free.
    pub reclaimable: u64,
    /// Number of groups that are decided.
    pub decided: u64,
    /// Number of groups that the user decided to leave as they are.
    pub left: u64,
    /// Number of the other groups. This includes groups with a decision that cannot be followed.
    pub undecided: u64,
    /// Number of files that the decisions remove.
    pub removes: u64,
    /// The bytes that removing these files frees.
    pub frees: u64,
}

/// An order of groups. Groups that compare equal stay in the order of the index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Sort {
    /// The most reclaimable bytes first. This is the order of the index.
    #[default]
    Reclaimable,
    /// The largest files first.
    Size,
    /// The most files first.
    Copies,
    /// In the order of the directory tree, by the first member.
    Path,
    /// The most recently modified member first.
    Newest,
    /// The least recently modified member first.
    Oldest,
}

impl Sort {
    /// All orders.
    pub const ALL: [Sort; 6] =
        [Sort::Reclaimable, Sort::Size, Sort::Copies, Sort::Path, Sort::Newest, Sort::Oldest];

    /// Returns the name of the order.
    pub fn word(self) -> &'static str {
        match self {
            Sort::Reclaimable => "reclaimable",
            Sort::Size => "size",
            Sort::Copies => "copies",
            Sort::Path => "path",
            Sort::Newest => "newest",
            Sort::Oldest => "oldest",
        }
    }

    /// Returns the order with this name.
    pub fn parse(word: &str) -> Option<Sort> {
        Sort::ALL.into_iter().find(|sort| sort.word() == word)
    }

    pub(crate) fn apply(self, index: &Index, order: &mut [u32]) {
        let times = |at| index.records(at).map(|record| record.mtime_ns);
        match self {
            Sort::Reclaimable => {}
            Sort::Size => order.sort_by_cached_key(|&at| Reverse(index.size(at))),
            Sort::Copies => order.sort_by_key(|&at| Reverse(index.gain(at).1)),
            Sort::Path => order.sort_by_cached_key(|&at| {
                let first = index.files(at)[0];
                (index.dirs.rank(index.tree().file(first).dir), first)
            }),
            Sort::Newest => order.sort_by_cached_key(|&at| Reverse(times(at).max())),
            Sort::Oldest => order.sort_by_cached_key(|&at| times(at).min()),
        }
    }
}

impl Totals {
    /// Adds up the totals of some groups.
    pub(crate) fn of(index: &Index, settled: &Settled, groups: &[u32]) -> Totals {
        let mut totals = Totals::default();
        for &at in groups {
            let (reclaimable, files) = index.gain(at);
            totals.groups += 1;
            totals.redundant_files += u64::from(files.saturating_sub(1));
            totals.reclaimable = totals.reclaimable.saturating_add(reclaimable);
            match settled.status(at) {
                Status::Decided => totals.decided += 1,
                Status::Left => totals.left += 1,
                Status::Undecided | Status::Void => totals.undecided += 1,
            }
            totals.removes += u64::from(settled.removes(at));
            totals.frees = totals.frees.saturating_add(settled.frees(at));
        }
        totals
    }
}
