//! Which names are mirrored.

use walk::STORE_PREFIX;

use crate::Options;

/// Returns whether a directory of this name has files in quarantine.
pub(crate) fn is_quarantine(name: &[u8]) -> bool {
    name.starts_with(STORE_PREFIX.as_bytes())
}

/// Returns whether a name is one to be mirrored; `path` gives its path below the top.
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
    // Both are asked, so that a pattern is not said to match nothing because of another one.
    let includes = !is_dir && include.matches(name, path.as_deref(), false);
    let is_included = is_dir || includes || include.is_empty();
    !exclude.matches(name, path.as_deref(), is_dir) && is_included
}
