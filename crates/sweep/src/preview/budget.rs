//! Guard 10: a rule must not take a large part of the target.
//!
//! A rule that someone wrote for another disk may match far more than its author expected. This
//! guard checks rules from files that have no markers. It does not check shipped rules, which the
//! tests of lop cover, and always accepts small numbers of files and bytes.
//!
//! The number of files in the target is unknown, because the walk visits only directories that the
//! rules can reach. This guard counts them only if a rule takes many files, and stops as soon as
//! there are enough.

use std::collections::BTreeMap;
use std::io;

use fsops::{Dir, DirBuffer, Kind};
use runtime::{Interrupted, Progress};

use crate::guard::{Guard, Refused};
use crate::preview::{Match, Preview, Request};
use crate::rule::Rule;

/// A rule may take this many files and bytes regardless of the size of the target.
const FREE_FILES: u64 = 1_000;
const FREE_BYTES: u64 = 1 << 30;

/// The divisor for the largest share of the files, and of the used bytes, that a rule may take.
const LEAST_SHARE: u64 = 5;

/// A rule may take at most this many times as many files in one profile as in the median of the
/// other profiles in which it takes any.
const MEDIAN_FACTOR: u64 = 100;

/// Returns the rules that take too much.
///
/// # Errors
///
/// Fails only if a stop was requested.
pub(crate) fn check(
    request: &Request<'_>,
    preview: &Preview,
    progress: &Progress,
) -> Result<Vec<Refused>, Interrupted> {
    let used = request.root.used_bytes().unwrap_or(u64::MAX);
    let is_bounded = |rule: &Rule| {
        !(rule.source.is_shipped
            || rule.conditions.need_marker()
            || request.allow.contains(&rule.id))
    };
    let mut refused = Vec::new();
    for (at, (rule, totals)) in request.rules.iter().zip(&preview.rules).enumerate() {
        if !is_bounded(rule) || totals.files <= FREE_FILES && totals.frees <= FREE_BYTES {
            continue;
        }
        let mut refuse = |reason| refused.push(Refused { rule: at, guard: Guard::Budget, reason });
        if totals.frees > FREE_BYTES && totals.frees > used / LEAST_SHARE {
            refuse("takes more than a fifth of the used space of the file system".into());
        } else if totals.files > FREE_FILES {
            let enough = totals.files.saturating_mul(LEAST_SHARE);
            let known = preview.names_seen;
            if known < enough && count_files(request.root, b"", enough, progress)? < enough {
                let files = totals.files;
                refuse(format!("takes {files} files, more than a fifth of those in the target"));
            } else if let Some(reason) = of_profiles(request, preview, at, progress)? {
                refuse(reason);
            }
        }
    }
    Ok(refused)
}

/// Returns why a rule takes too much of one profile, if it does.
fn of_profiles(
    request: &Request<'_>,
    preview: &Preview,
    rule: usize,
    progress: &Progress,
) -> Result<Option<String>, Interrupted> {
    let mut files: BTreeMap<usize, u64> = BTreeMap::new();
    for found in preview.matches.iter().filter(|found| found.rule as usize == rule) {
        if let Some(profile) = profile_of(request, found) {
            *files.entry(profile).or_default() += found.files;
        }
    }
    for (&profile, &taken) in files.iter().filter(|(_, taken)| **taken > FREE_FILES) {
        let path = &request.bindings.profiles[profile].path;
        let text =
            if path.is_empty() { "the target".into() } else { String::from_utf8_lossy(path) };
        let mut others: Vec<u64> =
            files.iter().filter(|(at, _)| **at != profile).map(|(_, &files)| files).collect();
        others.sort_unstable();
        let median = others.get(others.len() / 2).copied().unwrap_or(taken);
        if others.len() > 1 && taken > median.saturating_mul(MEDIAN_FACTOR) {
            return Ok(Some(format!(
                "takes {taken} files in {text}, but only {median} in a typical profile"
            )));
        }
        let enough = taken.saturating_mul(LEAST_SHARE);
        if count_files(request.root, path, enough, progress)? < enough {
            return Ok(Some(format!(
                "takes {taken} files in {text}, more than a fifth of the files there"
            )));
        }
    }
    Ok(None)
}

/// Returns the innermost profile that contains a match.
fn profile_of(request: &Request<'_>, found: &Match) -> Option<usize> {
    let profiles = request.bindings.profiles.iter().enumerate();
    let contains = |path: &[u8]| {
        path.is_empty() || found.path.strip_prefix(path).is_some_and(|rest| rest.starts_with(b"/"))
    };
    profiles.filter(|(_, p)| contains(&p.path)).max_by_key(|(_, p)| p.path.len()).map(|(at, _)| at)
}

/// Counts the files below a directory until there are `enough`. Directories that cannot be listed
/// count as empty.
fn count_files(
    root: &Dir,
    path: &[u8],
    enough: u64,
    progress: &Progress,
) -> Result<u64, Interrupted> {
    let (mut files, mut buffer) = (0, DirBuffer::default());
    let mut open = vec![path.to_vec()];
    while let Some(path) = open.pop() {
        progress.check()?;
        let below = if path.is_empty() { b".".as_slice() } else { &path };
        let listed = root.open_below_same_mount(below).and_then(|dir| -> io::Result<()> {
            dir.for_each(&mut buffer, |item| {
                if item.kind == Kind::Dir {
                    let mut child = path.clone();
                    walk::push_component(&mut child, item.name.to_bytes());
                    open.push(child);
                } else {
                    files += 1;
                }
            })
        });
        drop(listed);
        if files >= enough {
            break;
        }
    }
    Ok(files)
}
