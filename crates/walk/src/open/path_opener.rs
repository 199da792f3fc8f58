//! Opens directories by absolute path without following links. Paths may be of any length.
//!
//! A link in a path may have replaced the directory that was recorded there. Such a link can lead
//! anywhere, even to the files that the caller compares with.

use std::collections::HashMap;
use std::ffi::CString;
use std::io;
use std::path::Path;
use std::rc::Rc;

use fsops::{Dir, Stat, Volume, is_gone};

/// Opens directories by absolute path and keeps some of them open. Each thread has its own.
#[derive(Debug)]
pub struct PathOpener {
    top: Option<Dir>,
    open: HashMap<Vec<u8>, Rc<Dir>>,
    most: usize,
}

impl PathOpener {
    /// Returns an opener that keeps the root directory and at most `most` other directories open.
    pub fn new(most: usize) -> PathOpener {
        PathOpener { top: None, open: HashMap::new(), most }
    }

    /// Returns the directory at an absolute path.
    ///
    /// # Errors
    ///
    /// Returns `ELOOP` or `ENOTDIR` if the path contains a link.
    pub fn dir(&mut self, path: &[u8]) -> io::Result<Rc<Dir>> {
        if let Some(dir) = self.open.get(path) {
            return Ok(Rc::clone(dir));
        }
        if self.open.len() >= self.most {
            self.open.clear();
        }
        let dir = Rc::new(self.open_dir(path)?);
        self.open.insert(path.to_vec(), Rc::clone(&dir));
        Ok(dir)
    }

    /// Returns the parent directory of an absolute path, and the last component of the path.
    ///
    /// # Errors
    ///
    /// The same as for [`PathOpener::dir`].
    pub fn parent_and_name(&mut self, path: &[u8]) -> io::Result<(Rc<Dir>, CString)> {
        let (dir, name) = split_path(path);
        Ok((self.dir(dir)?, CString::new(name)?))
    }

    /// Returns the metadata of the entry at an absolute path. Does not follow a link at the end.
    ///
    /// # Errors
    ///
    /// The same as for [`PathOpener::dir`], and the errors of `statx(2)`.
    pub fn stat(&mut self, path: &[u8]) -> io::Result<Stat> {
        let (dir, name) = self.parent_and_name(path)?;
        dir.stat_child(&name)
    }

    /// Returns whether an absolute path that used to be on `disk` is now on a different file system.
    ///
    /// Looks at the nearest ancestor that exists, because a directory may have been removed from its
    /// disk. A path that cannot be examined does not count as offline.
    pub fn is_offline_at(&mut self, disk: &Volume, mut dir: &[u8]) -> bool {
        loop {
            match self.dir(dir).and_then(|dir| dir.volume()) {
                Ok(here) => return disk.is_offline_at(&here),
                Err(e) if is_gone(&e) && !dir.is_empty() => dir = split_path(dir).0,
                Err(_) => return false,
            }
        }
    }

    /// Closes all directories. Call this when their paths may now lead to different directories.
    pub fn forget(&mut self) {
        self.open.clear();
    }

    fn open_dir(&mut self, path: &[u8]) -> io::Result<Dir> {
        let top = match self.top.take() {
            Some(top) => top,
            None => Dir::open(Path::new("/"))?,
        };
        let below = path.strip_prefix(b"/").filter(|below| !below.is_empty()).unwrap_or(b".");
        self.top.insert(top).open_below(below)
    }
}

/// Splits an absolute path into the parent directory and the name. The parent of a top-level name
/// is empty.
pub fn split_path(path: &[u8]) -> (&[u8], &[u8]) {
    let slash = path.iter().rposition(|&b| b == b'/').unwrap_or(0);
    (&path[..slash], path.get(slash + 1..).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::{PathOpener, split_path};

    #[test]
    fn paths_are_split_into_directory_and_name() {
        assert_eq!(split_path(b"/a/b/c"), (&b"/a/b"[..], &b"c"[..]));
        assert_eq!(split_path(b"/a"), (&b""[..], &b"a"[..]));
    }

    #[test]
    fn evicted_directories_are_opened_again() {
        let here = std::fs::canonicalize(file!().trim_start_matches("crates/walk/"));
        let here = here.expect("a source file").into_os_string().into_encoded_bytes();
        let mut reach = PathOpener::new(1);
        let stat = reach.stat(&here).expect("metadata");
        assert_eq!(stat.kind, fsops::Kind::File);
        reach.dir(b"/").expect("the root");
        assert_eq!(reach.stat(&here).expect("metadata").key(), stat.key());
        assert!(reach.stat(b"/no such directory/x").is_err());
    }
}
