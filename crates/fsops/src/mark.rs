//! Marks on directories. Other processes on this host can see them, and the kernel removes a mark
//! when the process that set it ends.
//!
//! A mark is a shared byte-range lock of an open file description (`F_OFD_SETLK`) on a byte that no
//! other program locks. Unlike a lock taken with `flock(2)`, a mark does not exclude other
//! processes and does not conflict with scripts that lock the directory. Setting a mark requires
//! only a descriptor that is open for reading.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use crate::dir::Dir;

/// The meaning of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirMark {
    /// The directory is the destination of a mirror run.
    Destination,
    /// A directory below this one is the destination of a mirror run.
    AboveDestination,
}

impl DirMark {
    /// Returns the offset of the locked byte. The offset spells "lop" in ASCII and is beyond the
    /// size of any directory.
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
    /// closed. Any number of processes can mark the same directory.
    ///
    /// # Errors
    ///
    /// Fails if the file system does not support such locks.
    pub fn mark(&self, mark: DirMark) -> io::Result<()> {
        self.fcntl(libc::F_OFD_SETLK, &mut mark.lock(libc::F_RDLCK))
    }

    /// Removes a mark that was set through this descriptor or a copy of it.
    pub fn unmark(&self, mark: DirMark) {
        // This fails only if the byte was not locked.
        let _not_locked = self.fcntl(libc::F_OFD_SETLK, &mut mark.lock(libc::F_UNLCK));
    }

    /// Returns true if the directory has been marked through a descriptor other than this one and
    /// its copies. Returns false if the file system does not support such locks.
    pub fn is_marked(&self, mark: DirMark) -> bool {
        let mut lock = mark.lock(libc::F_WRLCK);
        let answer = self.fcntl(libc::F_OFD_GETLK, &mut lock);
        answer.is_ok() && i32::from(lock.l_type) != libc::F_UNLCK
    }

    #[expect(unsafe_code, reason = "locks of open file descriptions have no safe wrapper")]
    fn fcntl(&self, command: libc::c_int, lock: &mut libc::flock) -> io::Result<()> {
        // SAFETY: these commands read and write one `struct flock`, and `lock` is one.
        let answer = unsafe { libc::fcntl(self.as_fd().as_raw_fd(), command, &raw mut *lock) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

#[cfg(test)]
mod tests {
    use super::DirMark;
    use crate::Dir;

    #[test]
    fn marks_are_visible_through_other_descriptors() {
        let temp = tempfile::tempdir().expect("a directory");
        let open = || Dir::open(temp.path()).expect("exists");
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
