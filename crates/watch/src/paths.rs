//! Absolute paths as bytes, without links and without a slash at the end.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use fsops::Dir;

/// Returns the bytes as a path for system calls.
pub(crate) fn as_path(path: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(path))
}

/// Opens the directory at a path. Fails with `ELOOP` or `ENOTDIR` if a component is a link now: the directory has
/// another path then, and events with this path would seem to come from outside of the roots.
pub(crate) fn open_dir(path: &[u8]) -> io::Result<Dir> {
    let top = Dir::open(Path::new("/"))?;
    match path.strip_prefix(b"/") {
        Some(b"") => Ok(top),
        rest => top.open_below(rest.unwrap_or(path)),
    }
}

/// Returns whether `path` is `dir` or below it.
pub(crate) fn is_at_or_below(dir: &[u8], path: &[u8]) -> bool {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    path.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Returns the path of the entry `name` in the directory `dir`.
pub(crate) fn joined(dir: &[u8], name: &[u8]) -> Vec<u8> {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    [dir, b"/", name].concat()
}

#[cfg(test)]
mod tests {
    use super::{is_at_or_below, joined};

    #[test]
    fn paths_below_a_directory_are_recognized() {
        for path in ["/a", "/a/b", "/a/b/c"] {
            assert!(is_at_or_below(b"/a", path.as_bytes()), "{path}");
            assert!(is_at_or_below(b"/", path.as_bytes()), "{path}");
        }
        assert!(is_at_or_below(b"/", b"/"));
        for path in ["/", "/ab", "/b/a"] {
            assert!(!is_at_or_below(b"/a", path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn names_are_joined_with_one_slash() {
        assert_eq!(joined(b"/", b"a"), b"/a");
        assert_eq!(joined(b"/a", b"b"), b"/a/b");
    }
}
