//! Checks the conditions of rules on the entries of a directory.

use std::ffi::CStr;

use fsops::{Dir, Kind, Op, Stat};

use crate::preview::listing::Listing;
use crate::preview::request::Request;
use crate::rule::glob::Glob;
use crate::rule::{Age, Conditions, Marker, Only};

/// The longest signature that is read from a file, in bytes.
const MAX_SIGNATURE: usize = 512;

/// Returns the newest of the times of an entry that count for its age, in nanoseconds since the
/// epoch.
pub(crate) fn newest_ns(stat: &Stat, age: Option<&Age>) -> i64 {
    let mut newest = stat.mtime_ns().max(stat.ctime_ns);
    if let Some(age) = age {
        if age.counts_access {
            newest = newest.max(stat.atime.as_ns());
        }
        if age.counts_birth {
            newest = newest.max(stat.born_ns);
        }
    }
    newest
}

/// Returns whether a time is old enough.
pub(crate) fn is_old_enough(newest_ns: i64, age: Option<&Age>, now_ns: i64) -> bool {
    age.is_none_or(|age| {
        let least_ns = i64::try_from(age.least.as_nanos()).unwrap_or(i64::MAX);
        newest_ns <= now_ns.saturating_sub(least_ns)
    })
}

/// Returns whether a file or link meets the conditions of a rule, apart from markers.
///
/// # Errors
///
/// Fails if the file or the target of the link cannot be examined.
pub(crate) fn file_meets(
    request: &Request<'_>,
    conditions: &Conditions,
    (dir, name): (&Dir, &CStr),
    stat: &Stat,
) -> Result<bool, (Op, std::io::Error)> {
    let Conditions { older, larger, starts, only, .. } = conditions;
    let now_ns = request.now_ns;
    let is_file = stat.kind == Kind::File;
    let meets_only = match only {
        None => true,
        Some(Only::EmptyFiles) => is_file && stat.size == 0,
        Some(Only::BrokenLinks) => {
            // On a target that folds case, such as a Windows disk, no link counts as broken: a
            // junction may lead to another volume, and drivers show files that they cannot read as
            // links.
            stat.kind == Kind::Symlink
                && !request.bindings.folds
                && dir.is_dangling(name).map_err(|e| (Op::Stat, e))?
        }
    };
    Ok(meets_only
        && larger.is_none_or(|least| is_file && stat.size > least)
        && is_old_enough(newest_ns(stat, older.as_ref()), older.as_ref(), now_ns)
        && (starts.is_empty() || is_file && starts_with_any(dir, name, starts)?))
}

fn starts_with_any(
    dir: &Dir,
    name: &CStr,
    starts: &[Vec<u8>],
) -> Result<bool, (Op, std::io::Error)> {
    let longest = starts.iter().map(Vec::len).max().unwrap_or(0).min(MAX_SIGNATURE);
    let file = dir.open_regular(name).map_err(|e| (Op::Open, e))?;
    let mut head = vec![0; longest];
    let filled = file.read_at(&mut head, 0).map_err(|e| (Op::Read, e))?;
    Ok(starts.iter().any(|start| head[..filled].starts_with(start)))
}

/// Returns whether a directory contains one of the names. An empty list of names means yes.
pub(crate) fn has_beside(names: &[Glob], listing: &Listing) -> bool {
    names.is_empty()
        || listing.names().any(|name| names.iter().any(|glob| glob.matches(name.to_bytes())))
}

/// Returns whether a directory contains one of the markers. An empty list of markers means yes.
pub(crate) fn has_marker(markers: &[Marker], dir: &Dir, listing: &Listing) -> bool {
    let is_marker = |name: &CStr, marker: &Marker| {
        marker.name.matches(name.to_bytes())
            && marker.starts.as_ref().is_none_or(|starts| {
                matches!(starts_with_any(dir, name, std::slice::from_ref(starts)), Ok(true))
            })
    };
    markers.is_empty()
        || listing.names().any(|name| markers.iter().any(|marker| is_marker(name, marker)))
}
