//! The targets of a sweep, each with its open directory.
//!
//! Everything below a target is reached from its open directory, never through its path again.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use fsops::{Dir, Stat};

use crate::error::CommandError;
use crate::paths::{is_at_or_below, resolve};

/// An open target.
pub(super) struct Target {
    /// The path as the user typed it.
    pub(super) given: Vec<u8>,
    /// The absolute path with all links resolved.
    pub(super) absolute: Vec<u8>,
    pub(super) dir: Dir,
    pub(super) stat: Stat,
}

impl Target {
    /// Opens a target.
    ///
    /// # Errors
    ///
    /// Fails if the path is not a directory that can be opened.
    pub(super) fn open(path: &Path) -> Result<Target, CommandError> {
        let shown = path.display();
        let failed = |e| CommandError::failed(format!("cannot open {shown}")).because(e);
        let dir = Dir::open(path).map_err(failed)?;
        let stat = dir.stat().map_err(failed)?;
        let absolute = resolve(path)?;
        let there = Stat::of_path(Path::new(OsStr::from_bytes(&absolute))).map_err(failed)?;
        if there.key() != stat.key() {
            return Err(CommandError::failed(format!("{shown} was replaced while lop opened it")));
        }
        Ok(Target { given: path.as_os_str().as_bytes().to_vec(), absolute, dir, stat })
    }

    /// Opens all targets. A target that is given twice is used once.
    ///
    /// # Errors
    ///
    /// Fails if a target cannot be opened or is inside another one.
    pub(super) fn open_all(paths: &[PathBuf]) -> Result<Vec<Target>, CommandError> {
        let mut targets: Vec<Target> = Vec::new();
        for path in paths {
            let target = Target::open(path)?;
            if targets.iter().any(|other| other.absolute == target.absolute) {
                continue;
            }
            let around = targets.iter().find_map(|other| {
                let (a, b) = (&other.absolute, &target.absolute);
                if is_at_or_below(a, b) {
                    Some((&target, other))
                } else {
                    is_at_or_below(b, a).then_some((other, &target))
                }
            });
            if let Some((inner, outer)) = around {
                let (inner, outer) = (shown(&inner.given), shown(&outer.given));
                let text = format!("the target {inner} is inside the target {outer}");
                return Err(CommandError::usage(text)
                    .hint("sweep one of them, or each in a run of its own"));
            }
            targets.push(target);
        }
        Ok(targets)
    }

    /// Returns the path of an entry as it is printed. `path` is relative to the target.
    pub(super) fn shown_path(&self, path: &[u8]) -> Vec<u8> {
        joined(&self.given, path)
    }

    /// Replaces `shown` with the path of an entry as it is printed. `path` is relative to the target.
    pub(super) fn show_path(&self, path: &[u8], shown: &mut Vec<u8>) {
        shown.clear();
        join(&self.given, path, shown);
    }

    /// Returns the path of an entry relative to the target, which is empty for the target itself. `absolute` is an
    /// absolute path without links. Returns `None` if it is not in the target.
    pub(super) fn relative(&self, absolute: &[u8]) -> Option<Vec<u8>> {
        let rest =
            is_at_or_below(&self.absolute, absolute).then(|| &absolute[self.absolute.len()..])?;
        Some(rest.strip_prefix(b"/").unwrap_or(rest).to_vec())
    }

    /// Returns the absolute path of an entry. `path` is relative to the target.
    pub(super) fn absolute_path(&self, path: &[u8]) -> Vec<u8> {
        joined(&self.absolute, path)
    }
}

fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

/// Appends a relative path to a directory.
fn joined(dir: &[u8], path: &[u8]) -> Vec<u8> {
    let mut joined = Vec::with_capacity(dir.len() + 1 + path.len());
    join(dir, path, &mut joined);
    joined
}

/// Writes a directory and a relative path into `joined`, which is empty.
fn join(dir: &[u8], path: &[u8], joined: &mut Vec<u8>) {
    joined.extend_from_slice(dir);
    if !path.is_empty() {
        walk::push_component(joined, path);
    }
}

/// Splits a relative path into the parent directory, which may be empty, and the name.
pub(super) fn split_relative(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

#[cfg(test)]
mod tests {
    use super::{joined, split_relative};

    #[test]
    fn a_relative_path_has_a_parent_and_a_name() {
        assert_eq!(split_relative(b"a/b/c"), (&b"a/b"[..], &b"c"[..]));
        assert_eq!(split_relative(b"a"), (&b""[..], &b"a"[..]));
    }

    #[test]
    fn a_relative_path_follows_exactly_one_slash() {
        for (dir, path, expected) in
            [("a", "b/c", "a/b/c"), ("/", "b", "/b"), ("a/", "b", "a/b"), (".", "", ".")]
        {
            assert_eq!(joined(dir.as_bytes(), path.as_bytes()), expected.as_bytes());
        }
    }
}
