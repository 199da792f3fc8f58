//! The part of a scan that reads and compares file contents.

use std::collections::HashSet;

use catalog::Suspect;
use content::Fingerprints;
use dupes::{ContentKeys, Found, Work};
use runtime::{Interrupted, Progress};
use walk::{FileId, Problem, Reason, Tree};

use crate::settings::ScanSettings;

/// The results of a search.
#[derive(Default)]
pub(super) struct SearchResult {
    pub(super) found: Found,
    /// Files without a digest despite `--hash-all`, because their holes are too large.
    pub(super) hollow: u64,
}

/// Finds the groups of a tree and computes any other digests that are needed. Also finds suspects: files whose content
/// changed even though their metadata did not.
///
/// # Errors
///
/// Fails on an interrupt. The results obtained before the interrupt are in `fingerprints`.
pub(super) fn search(
    scan: &ScanSettings,
    tree: &Tree,
    fingerprints: &Fingerprints,
    keys: Option<ContentKeys>,
    suspects: &[Suspect],
    progress: &Progress,
) -> Result<SearchResult, Interrupted> {
    let mut found = dupes::find(tree, fingerprints, keys, &scan.compare, progress)?;
    if scan.format.is_some() {
        found.sort(tree, progress);
    }
    let mut result = SearchResult { found, hollow: 0 };
    let had_one = suspects.iter().filter(|suspect| suspect.digest.is_some());
    let had_one: HashSet<FileId> = had_one.map(|suspect| suspect.file).collect();
    if scan.args.hash_all || !had_one.is_empty() {
        let work = Work::new(tree, fingerprints, &scan.compare, progress);
        let is_wanted = |file| scan.args.hash_all || had_one.contains(&file);
        let digested = dupes::digest(&work, is_wanted)?;
        result.hollow = digested.hollow;
        result.found.problems.extend(digested.problems);
    }
    let problems = &mut result.found.problems;
    problems.extend(damaged(tree, fingerprints, suspects));
    problems.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(result)
}

/// Adds problems about files for which `found` contains none.
pub(super) fn add_problems(found: &mut Found, problems: Vec<Problem>) {
    let known: HashSet<Vec<u8>> = found.problems.iter().map(|known| known.path.clone()).collect();
    found.problems.extend(problems.into_iter().filter(|new| !known.contains(&new.path)));
    found.problems.sort_by(|a, b| a.path.cmp(&b.path));
}

/// Returns a problem for each suspect whose content differs from the catalog.
pub(super) fn damaged<'a>(
    tree: &'a Tree,
    fingerprints: &'a Fingerprints,
    suspects: &'a [Suspect],
) -> impl Iterator<Item = Problem> + 'a {
    let differs = |suspect: &&Suspect| {
        let file = suspect.file.0;
        let digest = fingerprints.content(file).and_then(|content| fingerprints.digest(content));
        match (suspect.digest.zip(digest), suspect.head.zip(fingerprints.head(file))) {
            (Some((before, now)), _) => before != now,
            (None, Some((before, now))) => before != now,
            (None, None) => false,
        }
    };
    let problem =
        |suspect: &Suspect| Problem { path: tree.path(suspect.file), reason: Reason::Damaged };
    suspects.iter().filter(differs).map(problem)
}
