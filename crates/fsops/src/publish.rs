//! The few changes lop makes to its own files: a private folder, a lock, a finished file put in
//! the place of nothing.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FlockOperation, Mode, OFlags, RenameFlags};

use crate::error::{Context, Error, Op};

/// Makes the directory `path` and its missing parents, for the owner alone (mode 0700).
///
/// # Errors
///
/// The first directory that could not be made; those above it exist by then.
pub fn create_dir_private(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true).mode(0o700).create(path).context(Op::Create, || path)
}

/// Makes the empty file `path` for the owner alone (mode 0600).
///
/// # Errors
///
/// If there is anything at `path` already (`EEXIST`), a link to nothing included.
pub fn create_file_private(path: &Path) -> Result<(), Error> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let made = rustix::fs::openat(CWD, path, flags, Mode::from_raw_mode(0o600));
    made.map(drop).map_err(io::Error::from).context(Op::Create, || path)
}

/// An advisory lock (`flock`) on a file, held until dropped or until the process ends.
#[derive(Debug)]
pub struct Lock {
    fd: OwnedFd,
}

impl Lock {
    /// Locks the file at `path`, made if missing, and writes this process's number into it.
    ///
    /// Whoever holds the lock may remove the file, and nobody else: who waited for it then finds that
    /// another file, or none, is at `path`, and begins anew.
    ///
    /// If another process holds it, `waiting` is called once with that process's number, and
    /// the call waits.
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

    /// Does so without waiting: if another process holds it, that process's number is returned instead.
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

    /// Returns whether it is the file at `path` that is locked: whoever had it may have removed it, and
    /// the next one makes another.
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

    /// Takes the lock if nobody has it; returns whether.
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

    /// Writes this process's number into the file at `path`, which is locked; without room for it the file
    /// is removed again.
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
        // Closing would not do: the lock ends with the last copy of the descriptor, and a thread
        // with a descriptor table of its own may hold one (see `own_descriptor_table`).
        let _ = rustix::fs::flock(&self.fd, FlockOperation::Unlock);
    }
}

/// Gives the finished file `from` the name `to` in the same directory, which must be free.
///
/// The file's bytes and then the directory are synced, so after a crash `to` is either absent or
/// whole.
///
/// # Errors
///
/// If `to` exists (`EEXIST`) or a step fails; `from` then keeps its name.
pub fn publish_new(from: &Path, to: &Path) -> Result<(), Error> {
    let file = std::fs::File::open(from).context(Op::Open, || from)?;
    file.sync_all().context(Op::Create, || from)?;
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        // File systems without RENAME_NOREPLACE (some network ones): link, then unlink.
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

/// Removes one of lop's own files; a missing one is no error.
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
    fn a_lock_ends_when_it_is_dropped_whoever_has_a_copy_of_its_descriptor() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let lock = Lock::take(&path, |_| {}).expect("nobody has it");
        let copy = rustix::io::dup(&lock.fd).expect("a descriptor is free");
        drop(lock);
        let again = Lock::take(&path, |_| panic!("it is still locked")).expect("it is free");
        drop((again, copy));
    }

    #[test]
    fn who_does_not_wait_learns_who_has_it() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let lock = Lock::try_take(&path).expect("opens").expect("nobody has it");
        let holder = Lock::try_take(&path).expect("opens").expect_err("it is locked");
        assert_eq!(holder, Some(std::process::id()));
        drop(lock);
        assert!(Lock::try_take(&path).expect("opens").is_ok());
    }

    #[test]
    fn a_lock_of_a_file_that_is_gone_is_none() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("lock");
        let lock = Lock::take(&path, |_| {}).expect("nobody has it");
        assert!(lock.is_at(&path));
        super::remove_file(&path).expect("is removed");
        assert!(!lock.is_at(&path));
        let next = Lock::take(&path, |_| panic!("it is another one")).expect("nobody has it");
        assert!(next.is_at(&path) && !lock.is_at(&path));
    }
}
