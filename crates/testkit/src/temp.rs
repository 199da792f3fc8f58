//! A temporary directory that can always be removed, even with deep trees and unreadable
//! directories.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::path_bytes::PathBytes;
use crate::remove::remove_tree;

/// A new directory of mode 755. It is removed on drop with everything in it.
///
/// Mode 755 lets a program that runs as another user reach the files of a test.
#[derive(Debug)]
pub struct TempTree {
    path: PathBuf,
}

impl TempTree {
    /// Creates the directory below the system's temporary directory. Its path is canonical.
    ///
    /// # Panics
    ///
    /// Panics if the directory cannot be created.
    #[expect(clippy::new_without_default, reason = "making a directory is no default")]
    pub fn new() -> Self {
        Self::new_in(std::env::temp_dir())
    }

    /// Creates the directory in `parent`. Its path is canonical.
    ///
    /// # Panics
    ///
    /// Panics if the directory cannot be created.
    pub fn new_in(parent: impl AsRef<Path>) -> Self {
        let make = || {
            let parent = parent.as_ref().canonicalize()?;
            let path = tempfile::Builder::new().prefix("lop-test-").tempdir_in(parent)?.keep();
            fs::set_permissions(&path, Permissions::from_mode(0o755))?;
            Ok::<_, std::io::Error>(path)
        };
        match make() {
            Ok(path) => Self { path },
            Err(e) => panic!("no temporary directory in {}: {e}", parent.as_ref().display()),
        }
    }

    /// Creates the directory in `/dev/shm` if there is one, which is usually a tmpfs, and otherwise
    /// below the system's temporary directory. Trees of many files that exist only for a moment
    /// are made and removed there without any disk. Its path is canonical.
    ///
    /// # Panics
    ///
    /// Panics if the directory cannot be created.
    pub fn in_memory() -> Self {
        let memory = Path::new("/dev/shm");
        let is_usable = rustix::fs::access(memory, rustix::fs::Access::WRITE_OK).is_ok();
        if is_usable { Self::new_in(memory) } else { Self::new() }
    }

    /// Returns the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of `relative` in the directory.
    pub fn join(&self, relative: impl PathBytes) -> PathBuf {
        self.path.join(relative.to_path())
    }
}

impl AsRef<Path> for TempTree {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}

impl Drop for TempTree {
    #[expect(clippy::print_stderr, reason = "a drop cannot fail, but what it leaves must be known")]
    fn drop(&mut self) {
        let mut removed = remove_tree(&self.path);
        // A process that a test started in the background may still create or remove files.
        for _ in 0..100 {
            if removed.is_ok() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            removed = remove_tree(&self.path);
        }
        if let Err(e) = removed {
            eprintln!("testkit: {} was left behind: {e}", self.path.display());
        }
    }
}
