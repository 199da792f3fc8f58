//! Finds a directory that contains every file of another one.

use std::ops::Range;

use super::index::FolderIndex;
use super::remaining::Remaining;

/// Maximum number of candidates that are tried as the container of a directory. Candidates are the
/// directories that have its rarest content, in path order. The same limit applies to the search
/// for a smaller container below the first container found.
///
/// Trying 1,000 candidates found no more containers than trying 16. This was measured on two copies
/// of /usr (236,000 files) and on four snapshots of these copies made of hard links.
pub const MAX_CONTAINER_CANDIDATES: usize = 16;

/// Returns a directory that has every content of `dir_number` in files that are not redundant, and
/// that is neither above nor below it. The result is the smallest matching subdirectory of the
/// first candidate that matches.
pub(super) fn container(
    index: &FolderIndex,
    remaining: &mut Remaining,
    dir_number: u32,
) -> Option<u32> {
    let copies = |content: u32| index.occurrences(content).len();
    let rarest =
        index.below(dir_number).iter().map(|file| file.content).min_by_key(|&i| copies(i))?;
    let all = 0..walk::to_u32(index.files.len());
    let apart = |at| index.largest_disjoint(at, dir_number);
    let mut found = first_with_all(index, remaining, dir_number, rarest, &all, apart)?;
    loop {
        let within = index.dirs[found as usize].files.clone();
        let below = |at| (at != found).then(|| index.child_towards(found, at));
        match first_with_all(index, remaining, dir_number, rarest, &within, below) {
            Some(smaller) => found = smaller,
            None => return Some(found),
        }
    }
}

/// Visits the files of content `rarest` in a range, and passes the directory of each file to
/// `wanted`. Returns the first directory obtained from `wanted` that has every content of
/// `dir_number`.
fn first_with_all(
    index: &FolderIndex,
    remaining: &mut Remaining,
    dir_number: u32,
    rarest: u32,
    within: &Range<u32>,
    wanted: impl Fn(u32) -> Option<u32>,
) -> Option<u32> {
    let own = &index.dirs[dir_number as usize].files;
    let (mut at, mut tried) = (within.start, 0);
    while tried < MAX_CONTAINER_CANDIDATES {
        let found = remaining.first_from(index, rarest, at).filter(|&p| p < within.end)?;
        if own.contains(&found) {
            at = own.end;
            continue;
        }
        tried += 1;
        let Some(candidate) = wanted(index.files[found as usize].dir) else {
            at = found + 1;
            continue;
        };
        if has_all(index, remaining, dir_number, candidate) {
            return Some(candidate);
        }
        at = index.dirs[candidate as usize].files.end;
    }
    None
}

fn has_all(
    index: &FolderIndex,
    remaining: &mut Remaining,
    dir_number: u32,
    candidate: u32,
) -> bool {
    let within = &index.dirs[candidate as usize].files;
    index.below(dir_number).iter().all(|file| remaining.has(index, file.content, within))
}
