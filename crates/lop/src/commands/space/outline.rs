//! Chooses the directories to show: those that come first in an order, whatever their level.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use space::{By, DirId, Space};

/// The directories to show below one directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    pub(super) by: By,
    /// Maximum number of levels below the directory.
    pub(super) depth: usize,
    /// Maximum number of directories, including the directory itself.
    pub(super) limit: usize,
    /// True to replace a directory that contains only one other directory by that one.
    pub(super) joins_chains: bool,
}

impl Choice {
    /// Returns whether a directory with this rank may be shown. Directories that have nothing of what the order is
    /// about are only shown if all are.
    fn has(&self, rank: i64) -> bool {
        let has_shrunk = self.by == By::Grown && rank < 0 && rank > i64::MIN;
        rank > 0 || has_shrunk || self.limit == usize::MAX
    }
}

/// A line of an outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Number of lines above it on the path to the top.
    pub(super) level: usize,
    pub(super) item: Item,
}

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A directory, and the directory of the line above it. The first line has the directory itself.
    Dir { dir: DirId, above: DirId },
    /// The directories that are not shown, of a directory of which some are shown.
    Rest { dirs: u64, allocated: u64, files: u64, grown: Option<i64> },
}

/// A chosen directory.
struct Chosen {
    dir: DirId,
    above: DirId,
    children: Vec<usize>,
}

/// Returns the lines to show for a directory, in the order of the output.
pub(super) fn outline(space: &Space, top: DirId, choice: Choice) -> Vec<Line> {
    let mut chosen: Vec<Chosen> = Vec::new();
    // A directory with its rank, its level, and the index of the chosen directory above it.
    let mut waiting = BinaryHeap::from([(space.rank(top, choice.by), Reverse(top), 0, 0)]);
    while chosen.len() < choice.limit
        && let Some((_, Reverse(dir), level, parent)) = waiting.pop()
    {
        let index = chosen.len();
        let above = chosen.get(parent).map_or(dir, |parent| parent.dir);
        chosen.push(Chosen { dir, above, children: Vec::new() });
        if index > 0 {
            chosen[parent].children.push(index);
        }
        if level < choice.depth {
            let children = children(space, dir, choice).into_iter();
            let ranked = children.map(|child| (space.rank(child, choice.by), child));
            let shown = ranked.filter(|&(rank, _)| choice.has(rank));
            waiting.extend(shown.map(|(rank, child)| (rank, Reverse(child), level + 1, index)));
        }
    }
    lines(space, choice, &chosen)
}

/// A line or several lines that have not been written yet.
enum Step {
    /// A chosen directory with everything below it, by its index.
    Dir(usize),
    /// The line about the directories that are not shown.
    Rest(Item),
}

/// Returns the lines of the chosen directories, of which the first one is the top.
fn lines(space: &Space, choice: Choice, chosen: &[Chosen]) -> Vec<Line> {
    let mut lines = Vec::new();
    // A stack instead of recursion, because a catalog may contain very deep directories.
    let mut waiting = vec![(0, Step::Dir(0))];
    while let Some((level, step)) = waiting.pop() {
        let index = match step {
            Step::Dir(index) => index,
            Step::Rest(item) => {
                lines.push(Line { level, item });
                continue;
            }
        };
        let Some(Chosen { dir, above, children }) = chosen.get(index) else { continue };
        lines.push(Line { level, item: Item::Dir { dir: *dir, above: *above } });
        let shown: BTreeSet<DirId> = children.iter().map(|&child| chosen[child].dir).collect();
        waiting.extend(rest(space, *dir, &shown, choice).map(|rest| (level + 1, Step::Rest(rest))));
        waiting.extend(children.iter().rev().map(|&child| (level + 1, Step::Dir(child))));
    }
    lines
}

/// Counts the subdirectories with files that are not shown. Returns `None` if all or none are shown.
fn rest(space: &Space, dir: DirId, shown: &BTreeSet<DirId>, choice: Choice) -> Option<Item> {
    if shown.is_empty() {
        return None;
    }
    let (mut dirs, mut allocated, mut files, mut grown) = (0, 0u64, 0, None::<i64>);
    let children = children(space, dir, choice).into_iter();
    for child in children.filter(|child| !shown.contains(child)) {
        let totals = space.totals(child);
        if totals.names == 0 {
            continue;
        }
        (dirs, files) = (dirs + 1, files + totals.files);
        allocated = allocated.saturating_add(totals.allocated);
        grown = totals.grown.map(|by| by.saturating_add(grown.unwrap_or(0))).or(grown);
    }
    (dirs > 0).then_some(Item::Rest { dirs, allocated, files, grown })
}

/// Returns the subdirectories of a directory.
fn children(space: &Space, dir: DirId, choice: Choice) -> Vec<DirId> {
    let mut children = space.children(dir, choice.by);
    if choice.joins_chains {
        for child in &mut children {
            *child = space.lowest_with_all(*child);
        }
    }
    children
}
