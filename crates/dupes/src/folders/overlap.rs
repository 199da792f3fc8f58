//! Finds pairs of directories that share much of their content, based on copies that are near each
//! other in tree order.
//!
//! Two files with the same content form a hint. A hint suggests that two directories overlap: the
//! largest directories that each contain one of the files and that are not within each other. All
//! hints for the same pair of directories are evaluated together. The search descends from one of
//! the two directories to the first subdirectory with at least half of its bytes also present in
//! the other. It then narrows both directories as far as possible without losing a shared file, and
//! repeats the search with the two directories swapped. Each hint causes one descent from each of
//! the two directories, so the work is proportional to the number of hints times the depth of the
//! tree.

use std::collections::HashMap;
use std::ops::Range;

use runtime::{Interrupted, Progress};

use super::index::{FolderIndex, NONE, number};
use super::remaining::Remaining;
use super::summary::shared;

/// If a content has at most this many files, all pairs of them are hints. If it has more, each file
/// forms a hint with the next one in tree order, and each file outside redundant directories also
/// with the next such file. A content with n files therefore gives fewer than 3n hints.
pub const MAX_ALL_PAIRS_FILES: usize = 6;

/// The numbers of two files with the same content, and the pair of directories that the files
/// suggest comparing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Hint {
    dirs: (u32, u32),
    at: (u32, u32),
}

/// Returns pairs of directories in which at least half of the bytes of one are also in the other.
/// Neither directory of a pair is redundant. No pair lies within the two directories of another
/// pair.
pub(super) fn pairs(
    index: &FolderIndex,
    remaining: &Remaining,
    progress: &Progress,
) -> Result<Vec<(u32, u32)>, Interrupted> {
    let mut hints = hints(index, remaining, progress)?;
    progress.sort(&mut hints);
    hints.dedup();
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(dirs) = hints.get(start).map(|hint| hint.dirs) {
        progress.check()?;
        let end = start + hints[start..].partition_point(|hint| hint.dirs == dirs);
        let search = Search { index, remaining };
        found.extend(search.both_ways(dirs, &mut hints[start..end]));
        start = end;
    }
    Ok(found)
}

fn hints(
    index: &FolderIndex,
    remaining: &Remaining,
    progress: &Progress,
) -> Result<Vec<Hint>, Interrupted> {
    let mut hints = Vec::new();
    let mut hint = |one: u32, other: u32| hints.extend(hint(index, one, other));
    let mut remaining_files = Vec::new();
    for content in 0..index.content_count() {
        progress.check()?;
        let occurrences = index.occurrences(content);
        let near = if occurrences.len() <= MAX_ALL_PAIRS_FILES { MAX_ALL_PAIRS_FILES } else { 2 };
        for occurrence in occurrences.clone() {
            for next in occurrence + 1..occurrences.end.min(occurrence + number(near)) {
                hint(index.file_at(occurrence), index.file_at(next));
            }
        }
        if near == 2 {
            // The next copy may be in a redundant directory, which cannot be part of a pair. The
            // next copy outside redundant directories therefore also serves as a
            // hint.
            let file_numbers = occurrences.map(|occurrence| index.file_at(occurrence));
            remaining_files.clear();
            remaining_files
                .extend(file_numbers.filter(|&file_number| !remaining.is_removed(file_number)));
            remaining_files.windows(2).for_each(|near| hint(near[0], near[1]));
        }
    }
    Ok(hints)
}

/// Returns the pair of directories suggested by two files, or `None` if the parent directory of one
/// file contains the other file.
fn hint(index: &FolderIndex, one: u32, other: u32) -> Option<Hint> {
    let dir_number = |file_number: u32| index.files[file_number as usize].dir;
    let dirs = (
        index.largest_disjoint(dir_number(one), dir_number(other))?,
        index.largest_disjoint(dir_number(other), dir_number(one))?,
    );
    Some(Hint { dirs, at: (one, other) })
}

struct Search<'a> {
    index: &'a FolderIndex,
    remaining: &'a Remaining,
}

/// Maps each directory found to the directory that has at least half of its bytes.
type Pairs = HashMap<u32, u32>;

impl Search<'_> {
    /// Returns the overlapping pairs below two directories, given all hints for them.
    fn both_ways(&self, dirs: (u32, u32), hints: &mut [Hint]) -> Vec<(u32, u32)> {
        let there = self.below(dirs.0, dirs.1, hints);
        for hint in &mut *hints {
            hint.at = (hint.at.1, hint.at.0);
        }
        let back = self.below(dirs.1, dirs.0, hints);
        let is_covered = |a: u32, b: u32, pairs: &Pairs| self.is_below_one(a, b, pairs);
        // If both directions of the search lead to the same pair, the pair is kept only once.
        let kept =
            there.iter().filter(|&(&a, &b)| !is_covered(b, a, &back) || back.get(&b) == Some(&a));
        let mut pairs: Vec<(u32, u32)> = kept.map(|(&a, &b)| (a, b)).collect();
        let rest = back.iter().filter(|&(&b, &a)| !is_covered(a, b, &there));
        pairs.extend(rest.map(|(&b, &a)| (a, b)));
        pairs.retain(|&(a, b)| !self.remaining.is_redundant(a) && !self.remaining.is_redundant(b));
        pairs.sort_unstable();
        pairs
    }

    /// Returns whether `a` and `b` are at or below the two directories of one of the pairs.
    fn is_below_one(&self, mut a: u32, b: u32, pairs: &Pairs) -> bool {
        loop {
            if pairs.get(&a).is_some_and(|&other| self.index.is_within(b, other)) {
                return true;
            }
            a = self.index.dirs[a as usize].parent;
            if a == NONE {
                return false;
            }
        }
    }

    /// Returns the largest directories in `top` for which at least half of the bytes also occur in
    /// `other`. The first file of each hint decides where to look. Maps each directory to the part
    /// of `other` that shares files with it, and narrows both as far as possible without losing a
    /// shared file.
    fn below(&self, top: u32, other: u32, hints: &mut [Hint]) -> Pairs {
        hints.sort_unstable_by_key(|hint| hint.at);
        let mut pairs = Pairs::new();
        let mut waiting = vec![(top, 0..hints.len())];
        while let Some((dir_number, range)) = waiting.pop() {
            let own = &hints[range.clone()];
            if self.is_half(dir_number, other, own) {
                let there = self.smallest(other, dir_number);
                pairs.insert(self.smallest(dir_number, there), there);
            } else {
                waiting.extend(self.parts(dir_number, own, range.start));
            }
        }
        pairs
    }

    /// Returns whether at least half of a directory's bytes are in another directory, given the
    /// sorted hints for the two.
    ///
    /// If many files have the same content, only some of them appear in hints. If the files in
    /// hints make up at least an eighth of the directory, this function counts all shared files.
    /// Each file appears in only a few hints, so few directories reach an eighth.
    fn is_half(&self, dir_number: u32, other: u32, hints: &[Hint]) -> bool {
        let whole = u128::from(self.index.dirs[dir_number as usize].bytes);
        let each = hints.chunk_by(|a, b| a.at.0 == b.at.0);
        let named = each.map(|same| self.index.files[same[0].at.0 as usize].size);
        let named = u128::from(named.fold(0, u64::saturating_add));
        let all = || -> u128 {
            shared(self.index, dir_number, other).map(|file| u128::from(file.size)).sum()
        };
        named * 2 >= whole || (named * 8 >= whole && 2 * all() >= whole)
    }

    /// Returns the subdirectories of `dir_number` that have hints, each with the index range of its
    /// hints. The first of `hints` has index `start`.
    fn parts(&self, dir_number: u32, hints: &[Hint], mut start: usize) -> Vec<(u32, Range<usize>)> {
        let child = |hint: &Hint| {
            let home = self.index.files[hint.at.0 as usize].dir;
            (home != dir_number).then(|| self.index.child_towards(dir_number, home))
        };
        let mut parts = Vec::new();
        let mut rest = hints;
        while let Some(first) = rest.first() {
            let end = match child(first) {
                // The hints of each subdirectory are adjacent.
                Some(child) => {
                    let last = self.index.dirs[child as usize].files.end;
                    let count = rest.partition_point(|hint| hint.at.0 < last);
                    parts.push((child, start..start + count));
                    count
                }
                None => rest.iter().take_while(|hint| child(hint).is_none()).count(),
            };
            start += end;
            rest = &rest[end..];
        }
        parts
    }

    /// Returns the smallest directory in `dir_number` that has all the files that `dir_number`
    /// shares with `other`.
    fn smallest(&self, dir_number: u32, other: u32) -> u32 {
        let there = &self.index.dirs[other as usize].files;
        let is_shared = |file_number: &u32| {
            let content = self.index.files[*file_number as usize].content;
            content != NONE && self.index.has(content, there)
        };
        let mut own = self.index.dirs[dir_number as usize].files.clone();
        let Some(first) = own.find(is_shared) else { return dir_number };
        let last = own.rfind(is_shared).unwrap_or(first);
        let mut smallest = self.index.files[first as usize].dir;
        while !self.index.dirs[smallest as usize].files.contains(&last) {
            smallest = self.index.dirs[smallest as usize].parent;
        }
        smallest
    }
}
