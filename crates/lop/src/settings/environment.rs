//! The environment variables that lop reads, apart from `NO_COLOR` and `TMPDIR`.

use std::path::PathBuf;

/// Returns the path in an environment variable. An empty variable counts as unset.
pub(super) fn path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns the path in an environment variable if it is absolute.
pub(super) fn absolute_path(name: &str) -> Option<PathBuf> {
    path(name).filter(|path| path.is_absolute())
}

/// Returns the path of the user's home directory, if it is set, absolute and UTF-8.
pub(super) fn home() -> Option<String> {
    absolute_path("HOME")?.into_os_string().into_string().ok()
}
