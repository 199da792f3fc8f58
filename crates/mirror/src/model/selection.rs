//! Selects the names that are mirrored, by patterns. Quarantine directories of lop are never mirrored or deleted.

use walk::STORE_PREFIX;

use crate::Options;

/// Returns whether this is the name of a quarantine directory.
pub(crate) fn is_quarantine(name: &[u8]) -> bool {
    name.starts_with(STORE_PREFIX.as_bytes())
}

/// Returns whether the options select a name. `path` returns its path below the top, which is only built if a pattern
/// needs it.
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
    // Both sets of patterns are evaluated, so that a pattern is not reported as unmatched only because another one
    // decided first.
    let includes = !is_dir && include.matches(name, path.as_deref(), false);
    let is_included = is_dir || includes || include.is_empty();
    !exclude.matches(name, path.as_deref(), is_dir) && is_included
}
