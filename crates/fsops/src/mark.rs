//! Marks on directories that other processes on this host can see, and that end with the process.
//!
//! A mark is a shared byte-range lock of an open file description (`F_OFD_SETLK`) on a byte that no
//! other program locks. Unlike `flock(2)` it excludes no process and does not collide with scripts
//! that lock a directory for their own purposes. It works wherever a directory can be opened for
//! reading.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::dir::Dir;

/// The meaning of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirMark {
    /// The directory is the destination of a mirror run.
    Destination,
    /// A directory somewhere below it is the destination of a mirror run.
    AboveDestination,
}

impl DirMark {
    /// Returns the offset of the locked byte, which is beyond the size of any directory ("lop" as a
    /// number).
    fn byte(self) -> libc::off_t {
        0x6c6f_7000 + libc::off_t::from(self == DirMark::AboveDestination)
    }

    fn lock(self, kind: libc::c_int) -> libc::flock {
        libc::flock {
            l_type: i16::try_from(kind).unwrap_or_default(),
            l_whence: i16::try_from(libc::SEEK_SET).unwrap_or_default(),
            l_start: self.byte(),
            l_len: 1,
            l_pid: 0,
        }
    }
}

impl Dir {
    /// Marks the directory until [`Dir::unmark`], or until all copies of this descriptor are
    /// closed. Any number of processes can mark it.
    ///
    /// # Errors
    ///
    /// Fails if the file system has no such locks.
    pub fn mark(&self, mark: DirMark) -> io::Result<()> {
        self.fcntl(libc::F_OFD_SETLK, &mut mark.lock(libc::F_RDLCK))
    }

    /// Removes a mark, for all copies of the descriptor.
    pub fn unmark(&self, mark: DirMark) {
        // Unlocking fails only if the byte was not locked.
        let _not_locked = self.fcntl(libc::F_OFD_SETLK, &mut mark.lock(libc::F_UNLCK));
    }

    /// Returns whether the directory was marked through a descriptor that is not a copy of this
    /// one. False where the file system has no such locks.
    pub fn is_marked(&self, mark: DirMark) -> bool {
        let mut lock = mark.lock(libc::F_WRLCK);
        let answer = self.fcntl(libc::F_OFD_GETLK, &mut lock);
        answer.is_ok() && i32::from(lock.l_type) != libc::F_UNLCK
    }

    #[expect(unsafe_code, reason = "locks of open file descriptions have no safe wrapper")]
    fn fcntl(&self, command: libc::c_int, lock: &mut libc::flock) -> io::Result<()> {
        // SAFETY: these commands read and write one `struct flock`, which `lock` is.
        let answer = unsafe { libc::fcntl(self.as_fd().as_raw_fd(), command, &raw mut *lock) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::DirMark;
    use crate::Dir;

    #[test]
    fn a_mark_is_seen_by_others_as_long_as_it_is_held() {
        let temp = tempfile::tempdir().expect("a directory");
        let open = || Dir::open(temp.path()).expect("it is there");
        let (one, two, three) = (open(), open(), open());
        one.mark(DirMark::Destination).expect("marked");
        assert!(two.is_marked(DirMark::Destination) && !two.is_marked(DirMark::AboveDestination));
        assert!(!one.is_marked(DirMark::Destination));
        two.mark(DirMark::Destination).expect("marked");
        assert!(one.is_marked(DirMark::Destination));
        one.unmark(DirMark::Destination);
        assert!(three.is_marked(DirMark::Destination) && !two.is_marked(DirMark::Destination));
        drop(two);
        assert!(!three.is_marked(DirMark::Destination));
    }
}
