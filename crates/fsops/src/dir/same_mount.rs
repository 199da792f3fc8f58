//! Opens directories without leaving a mount.
//!
//! A bind mount of the same file system has the same device number as the directory that it covers,
//! so only the mount id tells the two apart. With `RESOLVE_NO_XDEV` (`openat2(2)`, Linux 5.6), the
//! kernel checks for mount points while it opens a path, so no mount can appear between a check and
//! the open.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, ResolveFlags, Statx, StatxFlags};
use rustix::io::Errno;

use super::{DIR_FLAGS, Dir};
use crate::stat::{FileKey, Stat};

/// Identity of a directory over time. If its inode number is reused later, the birth time differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DirIdentity {
    key: FileKey,
    mount: u64,
    born_ns: i128,
}

impl Dir {
    /// Returns the directory's identity, or `None` if the kernel or the file system does not report
    /// the birth time or the mount id.
    ///
    /// # Errors
    ///
    /// Returns the error of `statx(2)`.
    pub fn identity(&self) -> io::Result<Option<DirIdentity>> {
        let mask = StatxFlags::INO | StatxFlags::BTIME | StatxFlags::MNT_ID;
        let raw = rustix::fs::statx(self, c"", AtFlags::EMPTY_PATH, mask)?;
        let born_ns = born_ns(&raw);
        let answered = raw.stx_mask & mask.bits() == mask.bits();
        let stat = Stat::from_raw(&raw);
        let origin = |born_ns| DirIdentity { key: stat.key(), mount: stat.mount, born_ns };
        Ok(born_ns.filter(|_| answered).map(origin))
    }

    /// Opens the directory at `path`, following links, in order to access its entries. If the
    /// directory is not readable, names in it can be looked up but not listed.
    ///
    /// # Errors
    ///
    /// Returns the error of `open(2)`.
    pub fn open_for_search(path: &Path) -> io::Result<Dir> {
        match Dir::open(path) {
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
                Ok(Dir::from(rustix::fs::openat(CWD, path, flags, Mode::empty())?))
            }
            answer => answer,
        }
    }

    /// Opens the subdirectory `name`, unless it is a mount point.
    ///
    /// # Errors
    ///
    /// Returns `EXDEV` for a mount point, including a bind mount, and `ENOTDIR` or `ELOOP` if
    /// `name` is not a directory.
    pub fn open_child_same_mount(&self, name: &CStr) -> io::Result<Dir> {
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::List, name.to_bytes())?;
        let flags = DIR_FLAGS | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(self, name, flags, Mode::empty(), resolve) {
            Ok(fd) => Ok(Dir::from(fd)),
            Err(Errno::NOSYS | Errno::PERM) => self.open_and_check(name),
            Err(e) => Err(e.into()),
        }
    }

    /// Opens the directory at `path`, relative to this one and on the same mount. No component may
    /// be a link. `path` may be longer than `PATH_MAX`.
    ///
    /// # Errors
    ///
    /// Same as for [`Dir::open_child_same_mount`].
    pub fn open_below_same_mount(&self, path: &[u8]) -> io::Result<Dir> {
        let mut here: Option<Dir> = None;
        for names in steps(path) {
            let from = here.as_ref().unwrap_or(self);
            let resolve = ResolveFlags::NO_XDEV | ResolveFlags::NO_SYMLINKS;
            let flags = DIR_FLAGS | OFlags::NOFOLLOW;
            here = Some(match rustix::fs::openat2(from, names, flags, Mode::empty(), resolve) {
                Ok(fd) => Dir::from(fd),
                Err(Errno::NOSYS | Errno::PERM) => from.open_each_and_check(names)?,
                Err(e) => return Err(e.into()),
            });
        }
        here.ok_or_else(|| Errno::NOENT.into())
    }

    /// Returns whether `name` is a symbolic link whose target does not exist, or that leads in a
    /// circle. If the target is an absolute path or on another mount, which may not respond, the
    /// answer is false.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat2(2)` if it says nothing about the target, such as `EACCES`.
    pub fn is_dangling(&self, name: &CStr) -> io::Result<bool> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match rustix::fs::openat2(self, name, flags, Mode::empty(), ResolveFlags::NO_XDEV) {
            Ok(_) | Err(Errno::XDEV) => Ok(false),
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    /// Opens the current parent of this directory. Another process may have moved this directory,
    /// so the caller MUST check that the parent is the expected one.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat(2)`.
    pub fn open_parent(&self) -> io::Result<Dir> {
        Ok(Dir::from(rustix::fs::openat(self, c"..", DIR_FLAGS, Mode::empty())?))
    }

    fn open_and_check(&self, name: &CStr) -> io::Result<Dir> {
        let dir = self.open_child(name)?;
        if mount_of(dir.fd())? == mount_of(self.fd())? {
            return Ok(dir);
        }
        Err(Errno::XDEV.into())
    }

    fn open_each_and_check(&self, path: &[u8]) -> io::Result<Dir> {
        let mut here: Option<Dir> = None;
        for name in path.split(|&b| b == b'/') {
            let name = std::ffi::CString::new(name)?;
            here = Some(here.as_ref().unwrap_or(self).open_and_check(&name)?);
        }
        here.ok_or_else(|| Errno::NOENT.into())
    }
}

fn born_ns(raw: &Statx) -> Option<i128> {
    let born = raw.stx_btime;
    let born_ns = i128::from(born.tv_sec) * 1_000_000_000 + i128::from(born.tv_nsec);
    (raw.stx_mask & StatxFlags::BTIME.bits() != 0).then_some(born_ns)
}

/// Splits a path at slashes into pieces short enough for a system call.
fn steps(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    // The kernel's limit includes the final NUL.
    const STEP: usize = libc::PATH_MAX as usize - 1;
    let mut rest = Some(path);
    std::iter::from_fn(move || {
        let all = rest?;
        // If a single component exceeds the limit, the kernel reports it.
        let slash = (all.len() > STEP).then(|| all[..=STEP].iter().rposition(|&b| b == b'/'));
        let (step, left) = match slash.flatten() {
            Some(at) => (&all[..at], Some(&all[at + 1..])),
            None => (all, None),
        };
        rest = left;
        Some(step)
    })
}

/// Returns the id of the mount through which a descriptor was opened. Requires `/proc` and Linux
/// 3.15.
fn mount_of(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let info = std::fs::read_to_string(format!("/proc/thread-self/fdinfo/{}", fd.as_raw_fd()))?;
    let mount = info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    mount.ok_or_else(|| Errno::OPNOTSUPP.into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{mount_of, steps};
    use crate::Dir;

    #[test]
    fn long_paths_are_cut_at_slashes() {
        let path = [b"a".repeat(200), b"b".repeat(100)].join(&b'/').repeat(1);
        let long = vec![path; 50].join(&b'/');
        let pieces: Vec<&[u8]> = steps(&long).collect();
        assert!(pieces.len() > 1 && pieces.iter().all(|piece| piece.len() < 4096));
        assert_eq!(pieces.join(&b'/'), long);
        assert_eq!(steps(b"a/b").collect::<Vec<_>>(), [b"a/b"]);
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test makes its tree without fsops")]
    fn links_are_not_followed_in_any_component() {
        let temp = tempfile::tempdir().expect("a directory");
        let path = |name: &str| temp.path().join(name);
        std::fs::create_dir_all(path("dir/sub")).expect("made");
        std::os::unix::fs::symlink("dir", path("link")).expect("made");
        let dir = Dir::open(temp.path()).expect("opens");
        assert!(dir.open_child_same_mount(c"dir").is_ok());
        assert!(dir.open_below_same_mount(b"dir/sub").is_ok());
        dir.open_child_same_mount(c"link").expect_err("a link");
        for path in [&b"link"[..], b"link/sub", b"dir/../link/sub"] {
            dir.open_below_same_mount(path).expect_err("a link");
        }
    }

    #[test]
    fn two_mounts_have_different_ids() {
        let open = |path: &str| Dir::open(Path::new(path)).expect("a directory");
        let (root, proc) = (open("/"), open("/proc"));
        assert_ne!(mount_of(root.fd()).expect("a mount"), mount_of(proc.fd()).expect("a mount"));
        let crossed = root.open_and_check(c"proc").expect_err("another mount");
        assert_eq!(crossed.raw_os_error(), Some(libc::EXDEV));
        assert!(root.open_and_check(c"usr").is_ok());
    }
}
