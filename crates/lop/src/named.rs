//! Paths that were typed of files that may be gone, as journals have them: absolute, no link in a directory.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::error::CommandError;

/// Returns what [`named`] does for several paths.
pub(crate) fn named_all(paths: &[PathBuf]) -> Result<Vec<Vec<u8>>, CommandError> {
    let failed = |e| CommandError::failed("cannot tell the current directory").because(e);
    paths.iter().map(|path| named(path)).collect::<io::Result<_>>().map_err(failed)
}

/// Returns the absolute path that a typed one stands for. Directories on the way may be missing; what the path
/// itself names is not followed, as a link may be what a file was replaced by.
fn named(path: &Path) -> io::Result<Vec<u8>> {
    let absolute = std::path::absolute(path)?;
    let is_name = matches!(absolute.components().next_back(), Some(Component::Normal(_)));
    let found = match (absolute.parent(), absolute.file_name()) {
        (Some(dir), Some(name)) if is_name => there(dir).join(name),
        _ => there(&absolute),
    };
    Ok(found.as_os_str().as_bytes().to_vec())
}

/// Returns the path of a directory without links, as far as it is there.
fn there(dir: &Path) -> PathBuf {
    match (dir.canonicalize(), dir.parent(), dir.file_name()) {
        (Err(_), Some(above), Some(name)) => there(above).join(name),
        (found, ..) => found.unwrap_or_else(|_| dir.to_path_buf()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    use testkit::TempTree;

    use super::named;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a test's own tree")]
    fn links_on_the_way_are_followed_and_what_is_named_is_not() {
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
            let found = named(&top.join(typed)).expect("a path");
            assert_eq!(Path::new(std::ffi::OsStr::from_bytes(&found)), top.join(meant), "{typed}");
        }
    }
}
