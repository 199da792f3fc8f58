//! Finds the exports that a command compares.

use std::collections::{BTreeMap, HashSet};
use std::error::Error;
use std::path::Path;

use export::{Fleet, Stored};
use fleet::{Part, Selection};
use runtime::Progress;

use crate::output::complain;

/// Returns the newest complete export of each host, and whether others could not be used. If `hosts` is
/// not empty, only these hosts are returned.
///
/// # Errors
///
/// Fails for the reasons of [`complete`], and if the exports have different keys.
pub(crate) fn newest(dir: &Path, hosts: &[String]) -> Result<(Vec<Stored>, bool), Box<dyn Error>> {
    let (newest, has_problems) = complete(dir, hosts)?;
    let first = &newest[0];
    if let Some(other) = newest.iter().find(|export| export.key_id != first.key_id) {
        return Err(format!(
            "the exports of {} and {} have different keys and cannot be compared; choose hosts with --host",
            first.host, other.host
        )
        .into());
    }
    Ok((newest, has_problems))
}

/// Returns the same as [`newest`], but does not compare keys. Returns at least one export.
///
/// # Errors
///
/// Fails if the folder cannot be listed, if it has no complete export or none of a wanted host, or if two exports
/// belong to the same host.
pub(crate) fn complete(
    dir: &Path,
    hosts: &[String],
) -> Result<(Vec<Stored>, bool), Box<dyn Error>> {
    let Fleet { exports: mut newest, problems } = Fleet::newest(dir)?;
    for problem in &problems {
        complain(problem);
    }
    if let Some(missing) =
        hosts.iter().find(|host| newest.iter().all(|export| export.host != **host))
    {
        return Err(format!("{}: no complete export of {missing}", dir.display()).into());
    }
    newest.retain(|export| hosts.is_empty() || hosts.contains(&export.host));
    check_once(&newest)?;
    if newest.is_empty() {
        let text = format!("{}: no complete export; write one with lop export", dir.display());
        return Err(text.into());
    }
    Ok((newest, !problems.is_empty()))
}

/// Parts of exports without the files that an earlier part contains, too: a file of a file system that several
/// hosts have scanned is the same file in all of their exports.
pub(crate) struct Distinct<'a> {
    parts: Vec<Part<'a>>,
    seen_before: Vec<HashSet<i64>>,
}

impl<'a> Distinct<'a> {
    /// Finds the files that are in several parts. Uses about `memory` bytes.
    ///
    /// # Errors
    ///
    /// Fails if an export cannot be read or is damaged.
    pub(crate) fn new(parts: Vec<Part<'a>>, memory: u64) -> Result<Self, export::Error> {
        let seen_before = fleet::seen_before(&parts, memory, &Progress::default())?;
        Ok(Distinct { parts, seen_before })
    }

    /// Returns the parts.
    pub(crate) fn parts(&self) -> Vec<Part<'_>> {
        let parts = self.parts.iter().zip(&self.seen_before);
        let part = |(part, seen): (&Part<'a>, _)| match part.inodes {
            Selection::All => Part { inodes: Selection::Except(seen), ..*part },
            Selection::Only(_) | Selection::Except(_) => *part,
        };
        parts.map(part).collect()
    }

    /// Returns the number of files that an earlier part contains, too.
    pub(crate) fn seen_before(&self) -> u64 {
        self.seen_before.iter().map(|seen| seen.len() as u64).sum()
    }

    /// Returns the inodes of part number `part` that an earlier one contains, too.
    pub(crate) fn seen_in(&self, part: usize) -> &HashSet<i64> {
        &self.seen_before[part]
    }
}

/// Checks that each host has one export. A second one, in a copy of the folder of the host, would make
/// all of its files look like copies of another host.
fn check_once(exports: &[Stored]) -> Result<(), Box<dyn Error>> {
    let mut hosts = BTreeMap::new();
    for export in exports {
        if let Some(other) = hosts.insert(&export.host, export) {
            let [one, other] = [&other.path, &export.path].map(|path| path.display());
            let host = &export.host;
            return Err(format!("{one} and {other} are both of host {host}; move one away").into());
        }
    }
    Ok(())
}
