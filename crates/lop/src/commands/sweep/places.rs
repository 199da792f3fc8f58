//! Where a rule takes entries, as a short text for the table.

use std::collections::BTreeSet;

use sweep::bindings::Bindings;
use sweep::preview::Match;

use super::target::split_relative;
use crate::output::names::Names;
use crate::quantity::counted;

/// Maximum number of paths in the text. With more, the table would be wider than a terminal.
const MAX_PATHS: usize = 1;

/// Returns where the matches of one rule are: the home directories that they are in, or the matches themselves if they
/// are few, or the number of directories that contain them. Paths are relative to the target.
pub(super) fn of<'m>(
    matches: impl Iterator<Item = &'m Match> + Clone,
    bindings: &Bindings,
) -> String {
    let profiles: Option<BTreeSet<&[u8]>> =
        matches.clone().map(|found| profile_of(&found.path, bindings)).collect();
    if let Some(profiles) = profiles.filter(|profiles| !profiles.is_empty()) {
        return list(&profiles);
    }
    let paths: BTreeSet<&[u8]> =
        matches.clone().take(MAX_PATHS + 1).map(|found| found.path.as_slice()).collect();
    if paths.len() <= MAX_PATHS {
        return list(&paths);
    }
    let parents: BTreeSet<&[u8]> = matches.map(|found| split_relative(&found.path).0).collect();
    match parents.first() {
        Some(&parent) if parents.len() == 1 && !parent.is_empty() => list(&parents),
        Some(_) if parents.len() == 1 => "the target itself".into(),
        _ => counted(parents.len() as u64, "directory", "directories"),
    }
}

/// Returns the innermost home directory that contains a path. The target itself does not count, because its path would
/// be empty.
fn profile_of<'b>(path: &[u8], bindings: &'b Bindings) -> Option<&'b [u8]> {
    let profiles = bindings.profiles.iter().map(|profile| profile.path.as_slice());
    let contains = |profile: &&[u8]| {
        !profile.is_empty()
            && path.strip_prefix(*profile).is_some_and(|rest| rest.starts_with(b"/"))
    };
    profiles.filter(contains).max_by_key(|profile| profile.len())
}

/// Returns the first paths, and the number of the others.
fn list(paths: &BTreeSet<&[u8]>) -> String {
    let first: Vec<_> = paths
        .iter()
        .take(MAX_PATHS)
        .map(|path| String::from_utf8_lossy(&Names::Escaped.show(path)).into_owned())
        .collect();
    let mut text = first.join(", ");
    if paths.len() > MAX_PATHS {
        text.push_str(&format!(" (+{})", paths.len() - MAX_PATHS));
    }
    text
}
