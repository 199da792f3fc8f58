//! Makes typed paths absolute, and compares absolute paths.
//!
//! The purpose of a path determines which links are resolved in it:
//!
//! | function | purpose | resolved links |
//! |---|---|---|
//! | [`resolve_all`] | paths that must exist | all |
//! | [`possible_paths`] | paths that may be in the catalog, existing or not | all, and also none |
//! | [`journal::journal_paths`] | paths that may be in a journal, existing or not | links in directories only |
//!
//! [`path_list`] reads lists of paths from a file or from standard input.

pub(crate) mod journal;
pub(crate) mod path_list;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use runtime::shown::is_plain_name;

use crate::error::CommandError;

/// Returns paths with all links resolved.
///
/// # Errors
///
/// Fails if one of the paths does not exist or cannot be reached.
pub(crate) fn resolve_all(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, CommandError> {
    paths.iter().map(|path| resolve(path)).collect()
}

/// Returns the absolute path with all links, `.` and `..` resolved.
///
/// # Errors
///
/// Fails if the path does not exist or cannot be resolved.
pub(crate) fn resolve(path: &Path) -> Result<Vec<u8>, CommandError> {
    let failed = |e| CommandError::failed(path.display().to_string()).because(e);
    Ok(path.canonicalize().map_err(failed)?.into_os_string().into_encoded_bytes())
}

/// Returns a path as one word of a shell command. Returns `None` if the word would be escaped in a message, and
/// therefore could not be pasted.
pub(crate) fn shell_word(path: &Path) -> Option<String> {
    let text = path.to_str().filter(|text| is_plain_name(text.as_bytes()))?;
    let word = shlex::try_quote(text).ok()?.into_owned();
    // A leading dash would make an option of the path.
    Some(if word.starts_with('-') { format!("./{word}") } else { word })
}

/// Returns the absolute paths that the user may mean: the path with links resolved, and the path as typed.
///
/// The catalog stores resolved paths. The typed path is needed too, because there may now be a link at the path where
/// a disk was mounted.
///
/// # Errors
///
/// Fails if the path is relative and the current directory is unknown.
pub(crate) fn possible_paths(path: &Path) -> Result<Vec<Vec<u8>>, CommandError> {
    let absolute = std::path::absolute(path)
        .map_err(|e| CommandError::failed("cannot determine the current directory").because(e))?;
    let typed = without_dots(&absolute);
    let mut paths = vec![OsString::from(resolved(&absolute)).into_vec()];
    let typed = OsString::from(typed).into_vec();
    if !paths.contains(&typed) {
        paths.push(typed);
    }
    Ok(paths)
}

/// Returns an absolute path with the links resolved in the part that exists.
fn resolved(absolute: &Path) -> PathBuf {
    let existing = absolute.ancestors().find_map(|above| Some((above, above.canonicalize().ok()?)));
    let Some((above, real)) = existing else { return without_dots(absolute) };
    let rest = absolute.strip_prefix(above).unwrap_or(Path::new(""));
    without_dots(&real.join(rest))
}

/// Returns an absolute path without `.` and `..`, and without resolving links.
fn without_dots(absolute: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            other => path.push(other),
        }
    }
    path
}

/// Returns true if `path` is below the directory `dir`. Both must be absolute.
pub(crate) fn is_below(dir: &[u8], path: &[u8]) -> bool {
    let rest = path.strip_prefix(dir);
    rest.is_some_and(|rest| dir.ends_with(b"/") || rest.starts_with(b"/"))
}

/// Returns true if `path` is the directory `dir` or below it. Both must be absolute.
pub(crate) fn is_at_or_below(dir: &[u8], path: &[u8]) -> bool {
    dir == path || is_below(dir, path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{is_below, resolved, shell_word, without_dots};

    #[test]
    fn dots_are_removed_from_a_path() {
        assert_eq!(without_dots(Path::new("/a/./b/../c/")), Path::new("/a/c"));
        assert_eq!(without_dots(Path::new("/../a")), Path::new("/a"));
    }

    #[test]
    fn a_missing_path_is_resolved_as_far_as_it_exists() {
        let here = Path::new("/").canonicalize().expect("a root");
        assert_eq!(resolved(Path::new("/no such/x/../y")), here.join("no such/y"));
    }

    #[test]
    fn paths_are_quoted_for_a_shell() {
        let word = |path| shell_word(Path::new(path));
        for (path, expected) in
            [("/a/b", "/a/b"), ("a b", "'a b'"), ("$x'", "'$x'\"'\""), ("-a", "./-a")]
        {
            assert_eq!(word(path).as_deref(), Some(expected));
        }
        assert_eq!(word("a\nb"), None);
    }

    #[test]
    fn a_name_with_the_same_beginning_is_not_below() {
        assert!(is_below(b"/a", b"/a/b"));
        assert!(is_below(b"/", b"/a"));
        assert!(!is_below(b"/a", b"/ab/c"));
        assert!(!is_below(b"/a", b"/a"));
    }
}
