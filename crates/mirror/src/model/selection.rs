//! Selects the names to mirror according to the patterns. Quarantine directories are never mirrored or deleted, and
//! temporary names of lop are never mirrored.

use fsops::Kind;
use walk::QUARANTINE_PREFIX;
use wire::LeftOut;

use crate::Options;
use crate::model::temp_name::is_temp_name;

/// Returns true if `name` is the name of a quarantine directory.
pub(crate) fn is_quarantine(name: &[u8]) -> bool {
    name.starts_with(QUARANTINE_PREFIX.as_bytes())
}

/// Returns the reason why a name of the source is left out regardless of the patterns, or `None` if it is not left
/// out.
pub(crate) fn left_out_name(name: &[u8], kind: Kind) -> Option<LeftOut> {
    if is_temp_name(name) {
        Some(LeftOut::Temporary)
    } else if kind == Kind::Dir && is_quarantine(name) {
        Some(LeftOut::Quarantine)
    } else {
        None
    }
}

/// Returns true if the options select a name. `path` builds the path of the name relative to the top, and is called
/// only if a pattern needs the path.
pub(crate) fn selects(
    options: &Options,
    name: &[u8],
    path: impl FnOnce() -> Vec<u8>,
    is_dir: bool,
) -> bool {
    if is_dir && is_quarantine(name) {
        return false;
    }
    let Options { include, exclude, .. } = options;
    if include.is_empty() && exclude.is_empty() {
        return true;
    }
    let path = (include.want_paths() || exclude.want_paths()).then(path);
    // The include patterns are evaluated even if an exclude pattern matches. Otherwise, they could be reported as
    // unmatched.
    let includes = !is_dir && include.matches(name, path.as_deref(), false);
    let is_included = is_dir || includes || include.is_empty();
    !exclude.matches(name, path.as_deref(), is_dir) && is_included
}

/// Returns true if a destination file may be deleted when the source does not have it.
pub(crate) fn is_selected_path(options: &Options, path: &[u8]) -> bool {
    let mut ends = path.iter().enumerate().filter(|(_, b)| **b == b'/').map(|(at, _)| at);
    let name_of = |path: &[u8]| split_path(path).map(|(_, name)| name.to_vec()).unwrap_or_default();
    let dirs_are = ends.all(|end| {
        let dir = &path[..end];
        selects(options, &name_of(dir), || dir.to_vec(), true)
    });
    let name = name_of(path);
    dirs_are && !is_temp_name(&name) && selects(options, &name, || path.to_vec(), false)
}

/// Splits a path relative to the top into the path of the directory and the name. Returns `None` if the path could
/// lead outside of the top.
pub(crate) fn split_path(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_plain = path.split(|&b| b == b'/').all(wire::is_name);
    let at = path.iter().rposition(|&b| b == b'/');
    is_plain.then(|| at.map_or((&b""[..], path), |at| (&path[..at], &path[at + 1..])))
}
