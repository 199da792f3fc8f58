//! Paths in the form that journals use, for files that may no longer exist.
//!
//! A journal stores absolute paths without links in their directories. The last component is never resolved, because
//! the file may have been replaced by a link.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::error::CommandError;

/// Returns the typed paths in the form that journals use. Directories in the paths may be missing.
///
/// # Errors
///
/// Fails if a path is relative and the current directory is unknown.
pub(crate) fn journal_paths(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, CommandError> {
    let failed = |e| CommandError::failed("cannot determine the current directory").because(e);
    paths.iter().map(|path| journal_path(path)).collect::<io::Result<_>>().map_err(failed)
}

fn journal_path(path: &Path) -> io::Result<Vec<u8>> {
    let absolute = std::path::absolute(path)?;
    let is_name = matches!(absolute.components().next_back(), Some(Component::Normal(_)));
    let found = match (absolute.parent(), absolute.file_name()) {
        (Some(dir), Some(name)) if is_name => resolved(dir).join(name),
        _ => resolved(&absolute),
    };
    Ok(found.as_os_str().as_bytes().to_vec())
}

/// Returns the path of a directory with the links resolved in the part that exists.
fn resolved(dir: &Path) -> PathBuf {
    match (dir.canonicalize(), dir.parent(), dir.file_name()) {
        (Err(_), Some(above), Some(name)) => resolved(above).join(name),
        (found, ..) => found.unwrap_or_else(|_| dir.to_path_buf()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use testkit::TempTree;

    use super::journal_path;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a test's own tree")]
    fn links_in_directories_are_followed_and_the_last_component_is_not() {
        let tree = TempTree::new();
        let top = tree.path().canonicalize().expect("is there");
        std::fs::create_dir(top.join("d")).expect("made");
        std::os::unix::fs::symlink("d", top.join("link")).expect("made");
        for (typed, meant) in [
            ("link", "link"),
            ("link/x", "d/x"),
            ("link/gone/x", "d/gone/x"),
            ("d/", "d"),
            ("gone/./x", "gone/x"),
        ] {
            let found = journal_path(&top.join(typed)).expect("a path");
            assert_eq!(Path::new(std::ffi::OsStr::from_bytes(&found)), top.join(meant), "{typed}");
        }
    }
}
