//! Opens names below a directory without leaving it, for servers that take paths from their clients.
//!
//! Links are followed as long as they lead to a place below the directory. The kernel checks this
//! while it resolves the path (`RESOLVE_BENEATH` of `openat2(2)`, Linux 5.6), so a link that another
//! process exchanges in the meantime does not lead out either.

use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::{DIR_FLAGS, Dir};
use crate::file::{FLAGS, File};
use crate::stat::{Kind, Stat};

/// A file or directory that was found below a directory, not yet open for reading.
///
/// Finding a device file or a FIFO has no effect on it; only [`Found::open_file`] and
/// [`Found::open_dir`] open anything, and only what their names say.
#[derive(Debug)]
pub struct Found {
    fd: OwnedFd,
    /// The metadata at the time of the search.
    pub stat: Stat,
}

/// The number of times that a search is repeated because another process renames directories.
const RETRIES: u32 = 64;

impl Dir {
    /// Finds `path`, a relative path without a final slash. An empty path finds the directory itself.
    ///
    /// A path longer than `PATH_MAX` is resolved in several steps. In such a path, a link must not
    /// lead out of the step in which it stands.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat2(2)`: `EXDEV` if a link leads out of the directory, `ELOOP` for
    /// a link of /proc that refers to an open file, `ENOSYS` before Linux 5.6.
    pub fn find_beneath(&self, path: &[u8]) -> io::Result<Found> {
        self.find(path, ResolveFlags::empty())
    }

    /// Like [`Dir::find_beneath`], but uses only names and metadata that the kernel has in memory, so
    /// that it never waits for a disk or a server.
    ///
    /// # Errors
    ///
    /// Returns an error of the kind [`io::ErrorKind::WouldBlock`] if the kernel has to read something
    /// first, or does not support such a search (before Linux 5.12). Otherwise like
    /// [`Dir::find_beneath`].
    pub fn find_beneath_cached(&self, path: &[u8]) -> io::Result<Found> {
        match self.find(path, ResolveFlags::CACHED) {
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
                Err(io::ErrorKind::WouldBlock.into())
            }
            found => found,
        }
    }

    fn find(&self, path: &[u8], how: ResolveFlags) -> io::Result<Found> {
        // The kernel's limit includes the final NUL.
        const STEP: usize = libc::PATH_MAX as usize - 1;
        let mut base: Option<Dir> = None;
        let mut rest = path;
        while rest.len() > STEP {
            let cut = rest[..=STEP].iter().rposition(|&b| b == b'/');
            let cut = cut.ok_or(io::Error::from(Errno::NAMETOOLONG))?;
            let fd = step(base.as_ref().unwrap_or(self), &rest[..cut], OFlags::DIRECTORY, how)?;
            base = Some(Dir { fd });
            rest = &rest[cut + 1..];
        }
        let name = if rest.is_empty() { b"." } else { rest };
        let fd = step(base.as_ref().unwrap_or(self), name, OFlags::empty(), how)?;
        // The attributes that the kernel has are as good as those that it found the name with.
        let is_cached = how.contains(ResolveFlags::CACHED);
        let sync = if is_cached { AtFlags::STATX_DONT_SYNC } else { AtFlags::empty() };
        let stat = Stat::of(&fd, c"", AtFlags::EMPTY_PATH | sync)?;
        Ok(Found { fd, stat })
    }
}

fn step(from: &Dir, path: &[u8], kind: OFlags, how: ResolveFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC | kind;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | how;
    let mut tries = 0;
    loop {
        match rustix::fs::openat2(from, path, flags, Mode::empty(), resolve) {
            // Without `CACHED`, the kernel returns this if a directory was renamed while it resolved `..`.
            Err(Errno::AGAIN) if !how.contains(ResolveFlags::CACHED) && tries < RETRIES => {
                tries += 1;
            }
            found => return Ok(found?),
        }
    }
}

impl Found {
    /// Opens the file for reading. Its access time stays the same if the process may do that.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::InvalidInput`] if it is not a regular file, and else the error of
    /// `open(2)`, which is `ENOENT` without /proc.
    pub fn open_file(&self) -> io::Result<File> {
        if self.stat.kind != Kind::File {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // This path refers to the inode that was found, even if the name now belongs to another file.
        let path = format!("/proc/thread-self/fd/{}", self.fd.as_raw_fd());
        let flags = FLAGS.difference(OFlags::NOFOLLOW);
        let opened = match rustix::fs::open(&path, flags | OFlags::NOATIME, Mode::empty()) {
            Err(Errno::PERM) => rustix::fs::open(&path, flags, Mode::empty()),
            opened => opened,
        };
        Ok(File::from_fd(opened?))
    }

    /// Opens the directory for listing.
    ///
    /// # Errors
    ///
    /// Returns the error of `open(2)`, which is `ENOTDIR` if it is not a directory.
    pub fn open_dir(&self) -> io::Result<Dir> {
        let fd = rustix::fs::openat(self.fd.as_fd(), c".", DIR_FLAGS, Mode::empty())?;
        Ok(Dir { fd })
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the tests make their trees without fsops")]
mod tests {
    use std::io;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use crate::{Dir, Kind};

    fn tree() -> (tempfile::TempDir, Dir) {
        let tree = tempfile::tempdir().expect("a directory");
        let root = tree.path().join("root");
        let write = |path: &Path| std::fs::write(path, b"x").expect("written");
        std::fs::create_dir_all(root.join("a/b")).expect("created");
        write(&root.join("a/b/file"));
        write(&tree.path().join("secret"));
        let dir = Dir::open(&root).expect("opened");
        (tree, dir)
    }

    #[test]
    fn names_below_the_directory_are_found() {
        let (_tree, root) = tree();
        let found = root.find_beneath(b"a/b/file").expect("found");
        assert_eq!(found.stat.kind, Kind::File);
        let file = found.open_file().expect("opened");
        assert_eq!(file.stat().expect("stat").key(), found.stat.key());
        assert!(found.open_dir().is_err());
        for path in [&b""[..], b"a", b"a/b"] {
            let found = root.find_beneath(path).expect("found");
            assert!(found.open_dir().is_ok());
            assert_eq!(
                found.open_file().map_err(|e| e.kind()).err(),
                Some(io::ErrorKind::InvalidInput)
            );
        }
    }

    #[test]
    fn links_are_followed_only_below_the_directory() {
        let (tree, root) = tree();
        let link = |to: &str, name: &str| symlink(to, tree.path().join("root").join(name));
        for (to, name) in [
            ("a/b", "inside"),
            ("../secret", "out"),
            ("/etc", "absolute"),
            ("a/b/../../../secret", "around"),
            ("/proc/self/root", "magic"),
        ] {
            link(to, name).expect("linked");
        }
        assert!(root.find_beneath(b"inside/file").is_ok());
        for path in
            [&b"out"[..], b"absolute", b"around", b"magic/etc", b"../secret", b"/etc/passwd"]
        {
            let name = String::from_utf8_lossy(path).into_owned();
            assert!(root.find_beneath(path).is_err(), "{name}");
            assert!(root.find_beneath_cached(path).is_err(), "{name}");
        }
    }

    #[test]
    fn a_search_of_cached_names_finds_what_was_found_before() {
        let (_tree, root) = tree();
        let found = root.find_beneath(b"a/b/file").expect("found");
        match root.find_beneath_cached(b"a/b/file") {
            Ok(again) => assert_eq!(again.stat.key(), found.stat.key()),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
        }
    }

    #[test]
    fn a_path_beyond_the_limit_of_the_kernel_is_found_in_steps() {
        let (_tree, root) = tree();
        let name = vec![b'n'; 200];
        let mut dir = root.find_beneath(b"").expect("found").open_dir().expect("opened");
        let mut path = Vec::new();
        for _ in 0..40 {
            let below = std::ffi::CString::new(name.clone()).expect("no NUL");
            rustix::fs::mkdirat(&dir, below.as_c_str(), 0o700.into()).expect("created");
            dir = dir.open_child(&below).expect("opened");
            path.extend_from_slice(&name);
            path.push(b'/');
        }
        path.pop();
        let found = root.find_beneath(&path).expect("found");
        assert_eq!(found.stat.key(), dir.stat().expect("stat").key());
    }
}
