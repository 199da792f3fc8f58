//! Private directories, locks and atomic publishing for lop's own files.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags};

use crate::error::{Context, Error, Op};

/// Creates the directory `path` and any missing parents with mode 0700, so that only their owner
/// can access them.
///
/// # Errors
///
/// Returns the error for the first directory that could not be created. Its parents have been
/// created.
pub fn create_dir_private(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path).context(Op::Create, || path)
}

/// Creates the empty file `path`, which only its owner can access (mode 0600).
///
/// # Errors
///
/// Returns `EEXIST` if the name exists, even if it is a dangling link. On error, nothing is
/// changed.
pub fn create_file_private(path: &Path) -> Result<(), Error> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let made = rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(0o600));
    made.map(drop).map_err(io::Error::from).context(Op::Create, || path)
}

/// An advisory lock (`flock`) on a file, held until this value is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    fd: OwnedFd,
}

impl Lock {
    /// Locks the file at `path`, after creating it if necessary, and writes this process's id to
    /// it.
    ///
    /// If another process holds the lock, calls `waiting` once with that process's id and then
    /// waits.
    ///
    /// Only the process that holds the lock may remove the file, and it may do so while other
    /// processes wait for the lock. A process that acquires the lock therefore checks that the file
    /// is still at `path`, and starts over if it is not.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be created, locked or written.
    pub fn take(path: &Path, waiting: impl FnOnce(Option<u32>)) -> Result<Lock, Error> {
        let mut waiting = Some(waiting);
        loop {
            let lock = Lock::open(path)?;
            if !lock.is_taken().context(Op::Lock, || path)? {
                if let Some(waiting) = waiting.take() {
                    waiting(lock.holder());
                }
                lock.wait().context(Op::Lock, || path)?;
            }
            if lock.is_at(path) {
                lock.sign(path)?;
                return Ok(lock);
            }
        }
    }

    /// Like [`Lock::take`], but does not wait. If another process holds the lock, returns the id of
    /// that process, if known.
    ///
    /// # Errors
    ///
    /// Same as for [`Lock::take`].
    pub fn try_take(path: &Path) -> Result<Result<Lock, Option<u32>>, Error> {
        loop {
            let lock = Lock::open(path)?;
            if !lock.is_taken().context(Op::Lock, || path)? {
                return Ok(Err(lock.holder()));
            }
            if lock.is_at(path) {
                lock.sign(path)?;
                return Ok(Ok(lock));
            }
        }
    }

    /// Returns the id of the process that holds the lock at `path`, or 0 if the file does not tell.
    /// Returns `None` if no process holds the lock, or if the file cannot be opened.
    ///
    /// A process that tries to take the lock at the same moment waits for an instant.
    pub fn holder_at(path: &Path) -> Option<u32> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(CWD, path, flags, Mode::empty()).ok()?;
        match rustix::fs::flock(&fd, FlockOperation::NonBlockingLockShared) {
            Err(rustix::io::Errno::WOULDBLOCK) => Some(Lock { fd }.holder().unwrap_or(0)),
            _ => None,
        }
    }

    /// Returns true if the locked file is still at `path`. The previous holder of the lock may have
    /// removed the file, and another process may have created a new one.
    fn is_at(&self, path: &Path) -> bool {
        let here = rustix::fs::fstat(&self.fd).map(|stat| (stat.st_dev, stat.st_ino));
        let there = rustix::fs::lstat(path).map(|stat| (stat.st_dev, stat.st_ino));
        here.is_ok() && here == there
    }

    fn open(path: &Path) -> Result<Lock, Error> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(0o600))
            .map_err(io::Error::from)
            .context(Op::Create, || path)?;
        Ok(Lock { fd })
    }

    /// Tries to take the lock. Returns true on success.
    fn is_taken(&self) -> io::Result<bool> {
        match rustix::fs::flock(&self.fd, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    fn wait(&self) -> io::Result<()> {
        loop {
            match rustix::fs::flock(&self.fd, FlockOperation::LockExclusive) {
                Err(rustix::io::Errno::INTR) => {}
                answer => return Ok(answer?),
            }
        }
    }

    fn holder(&self) -> Option<u32> {
        let mut text = [0; 16];
        let n = rustix::io::pread(&self.fd, &mut text, 0).ok()?;
        std::str::from_utf8(&text[..n]).ok()?.trim().parse().ok()
    }

    /// Writes this process's id to the locked file at `path`. Removes the file if this fails, for
    /// example because the disk is full.
    fn sign(&self, path: &Path) -> Result<(), Error> {
        let text = format!("{}\n", std::process::id());
        let signed = rustix::fs::ftruncate(&self.fd, 0)
            .and_then(|()| rustix::io::pwrite(&self.fd, text.as_bytes(), 0));
        signed.map(drop).map_err(|error| {
            drop(remove_file(path));
            Error { op: Op::Create, path: path.into(), source: error.into() }
        })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing the descriptor is not enough, because the lock is held until all copies of the
        // descriptor are closed, and a thread with its own descriptor table may have a copy.
        let _ = rustix::fs::flock(&self.fd, FlockOperation::Unlock);
    }
}

/// Renames the finished file `from` to `to` in the same directory. `to` must not exist.
///
/// The file is synced before the rename, and the directory is synced afterwards. After a crash,
/// `to` is therefore either absent or complete.
///
/// # Errors
///
/// Returns `EEXIST` if `to` exists, and leaves `from` unchanged. For any other failure, returns the
/// error of the step that failed. If syncing the directory failed, the file has its new name, but a
/// crash may undo the rename. If `from` could not be unlinked after `to` was linked, the file has
/// both names.
pub fn publish_new(from: &Path, to: &Path) -> Result<(), Error> {
    let file = std::fs::File::open(from).context(Op::Open, || from)?;
    file.sync_all().context(Op::Create, || from)?;
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // Some network file systems do not support RENAME_NOREPLACE. On these, the file is linked
        // to its new name and then unlinked from the old one.
        Err(rustix::io::Errno::INVAL) => {
            rustix::fs::linkat(CWD, from, CWD, to, AtFlags::empty())
                .map_err(io::Error::from)
                .context(Op::Rename, || to)?;
            remove_file(from)?;
        }
        Err(e) => return Err(io::Error::from(e)).context(Op::Rename, || to),
    }
    let parent = to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = std::fs::File::open(parent).context(Op::Open, || parent)?;
    dir.sync_all().context(Op::Create, || parent)
}

/// Removes one of lop's own files. A missing file is not an error.
///
/// # Errors
///
/// Returns the error of `unlink(2)`.
pub fn remove_file(path: &Path) -> Result<(), Error> {
    match rustix::fs::unlinkat(CWD, path, AtFlags::empty()) {
        Ok(()) | Err(rustix::io::Errno::NOENT) => Ok(()),
        Err(e) => Err(io::Error::from(e)).context(Op::Remove, || path),
    }
}

#[cfg(test)]
mod tests {
    use super::Lock;

    #[test]
    fn dropped_lock_is_free_even_if_descriptor_copies_remain() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let lock = Lock::take(&path, |_| {}).expect("the lock is free");
        let copy = rustix::io::dup(&lock.fd).expect("a descriptor is free");
        drop(lock);
        let again = Lock::take(&path, |_| panic!("still locked")).expect("the lock is free");
        drop((again, copy));
    }

    #[test]
    fn try_take_returns_the_process_that_has_the_lock() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let lock = Lock::try_take(&path).expect("opens").expect("the lock is free");
        let holder = Lock::try_take(&path).expect("opens").expect_err("the lock is taken");
        assert_eq!(holder, Some(std::process::id()));
        drop(lock);
        assert!(Lock::try_take(&path).expect("opens").is_ok());
    }

    #[test]
    fn lock_on_a_removed_file_does_not_count() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let lock = Lock::take(&path, |_| {}).expect("the lock is free");
        assert!(lock.is_at(&path));
        super::remove_file(&path).expect("removed");
        assert!(!lock.is_at(&path));
        let next =
            Lock::take(&path, |_| panic!("the new file is locked")).expect("the lock is free");
        assert!(next.is_at(&path) && !lock.is_at(&path));
    }
}
