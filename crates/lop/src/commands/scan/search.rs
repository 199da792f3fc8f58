//! Everything that a scan finds out about the files of a tree.

use std::collections::HashSet;

use catalog::Suspect;
use content::Facts;
use dupes::{Found, Work};
use runtime::{Interrupted, Progress};
use walk::{FileId, Problem, Reason, Tree};

use crate::settings::ScanSettings;

/// What was found.
#[derive(Default)]
pub(super) struct Searched {
    pub(super) found: Found,
    /// Files that were left without a digest although every one was to have one: too many holes.
    pub(super) hollow: u64,
}

/// Finds the groups of a tree, gives files the digests that are wanted besides, and tells which of the
/// suspects are not what they were although nothing shows it.
pub(super) fn search(
    scan: &ScanSettings,
    tree: &Tree,
    facts: &Facts,
    suspects: &[Suspect],
    progress: &Progress,
) -> Result<Searched, Interrupted> {
    let found = dupes::find(tree, facts, &scan.compare, progress)?;
    let mut searched = Searched { found, hollow: 0 };
    let had_one = suspects.iter().filter(|suspect| suspect.digest.is_some());
    let had_one: HashSet<FileId> = had_one.map(|suspect| suspect.file).collect();
    if scan.hash_all || !had_one.is_empty() {
        let work = Work::new(tree, facts, &scan.compare, progress);
        let is_wanted = |file| scan.hash_all || had_one.contains(&file);
        let digested = dupes::digest(&work, is_wanted)?;
        searched.hollow = digested.hollow;
        searched.found.problems.extend(digested.problems);
    }
    let problems = &mut searched.found.problems;
    problems.extend(damaged(tree, facts, suspects));
    problems.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(searched)
}

/// Returns those of the suspects that were read and have other bytes than before.
pub(super) fn damaged<'a>(
    tree: &'a Tree,
    facts: &'a Facts,
    suspects: &'a [Suspect],
) -> impl Iterator<Item = Problem> + 'a {
    let differs = |suspect: &&Suspect| {
        let file = suspect.file.0;
        let digest = facts.content(file).and_then(|content| facts.digest(content));
        match (suspect.digest.zip(digest), suspect.head.zip(facts.head(file))) {
            (Some((before, now)), _) => before != now,
            (None, Some((before, now))) => before != now,
            (None, None) => false,
        }
    };
    let problem =
        |suspect: &Suspect| Problem { path: tree.path(suspect.file), reason: Reason::Damaged };
    suspects.iter().filter(differs).map(problem)
}
