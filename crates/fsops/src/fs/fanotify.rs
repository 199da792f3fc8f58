//! Events of whole file systems (`fanotify(7)`), and the handles by which they name files.
//!
//! An event names a directory and a file by handles, because a path would be wrong as soon as a
//! directory is renamed. [`Dir::open_handle`] turns a handle into a descriptor, and
//! [`descriptor_path`] returns the current path of a descriptor. This module does not interpret the
//! bytes of events.
//!
//! Watching a file system requires `CAP_SYS_ADMIN`, and opening a handle `CAP_DAC_READ_SEARCH`, both
//! in the initial user namespace.

use std::ffi::{c_int, c_uint};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;

use crate::dir::Dir;
use crate::stat::Stat;

/// Maximum number of bytes of a handle (`MAX_HANDLE_SZ` of linux/fcntl.h).
const MAX_HANDLE_BYTES: usize = 128;

/// Requests that every event contains the directory and the name of a file, and the file itself.
const REPORT: c_uint =
    libc::FAN_CLASS_NOTIF | libc::FAN_REPORT_FID | libc::FAN_REPORT_DIR_FID | libc::FAN_REPORT_NAME;

const MODE: c_uint = libc::FAN_NONBLOCK | libc::FAN_CLOEXEC;

/// The maximum length of the queue of unread events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventQueue {
    /// The limit of the system (`/proc/sys/fs/fanotify/max_queued_events`). The kernel discards
    /// further events and reports that it did.
    Limited,
    /// No limit: the kernel keeps all events. They take kernel memory until the process reads them.
    Unlimited,
}

/// A queue of events of whole file systems.
#[derive(Debug)]
pub struct Fanotify {
    fd: OwnedFd,
}

impl Fanotify {
    /// Creates a queue that watches no file system yet. Reading from it does not block.
    ///
    /// # Errors
    ///
    /// Returns the error of `fanotify_init(2)`: `EPERM` without `CAP_SYS_ADMIN`, `ENOSYS` if the
    /// kernel has no fanotify, and `EINVAL` before Linux 5.9.
    pub fn new(queue: EventQueue) -> io::Result<Fanotify> {
        let size = match queue {
            EventQueue::Limited => 0,
            EventQueue::Unlimited => libc::FAN_UNLIMITED_QUEUE,
        };
        match init(REPORT | MODE | size | libc::FAN_REPORT_TARGET_FID) {
            // Before Linux 5.17, events that create or remove names do not name the file.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => init(REPORT | MODE | size),
            made => made,
        }
    }

    /// Watches the whole file system of a directory for the events in `mask`, and returns the identity of the file
    /// system in events (`f_fsid` of `statfs(2)`). If the queue already watches the file system, adds the events.
    ///
    /// The subvolumes of a btrfs file system have identities of their own, but events have that of its top-level
    /// subvolume.
    ///
    /// # Errors
    ///
    /// Returns the error of `fanotify_mark(2)`: `EXDEV` for a subvolume of btrfs whose top-level
    /// subvolume cannot be opened, and `ENODEV` or `EOPNOTSUPP` if the file system has no identity
    /// or no handles.
    pub fn watch_file_system(&self, dir: &Dir, mask: u64) -> io::Result<u64> {
        let marked = self.mark(dir, libc::FAN_MARK_ADD, mask)?;
        Ok(marked.as_ref().unwrap_or(dir).volume()?.fsid)
    }

    /// Returns whether the queue still watches the file system of a directory. Unmounting the file system ends the
    /// watch.
    pub fn watches_file_system(&self, dir: &Dir) -> bool {
        // This call removes an event that no mark contains. It fails if the kernel finds no mark.
        self.mark(dir, libc::FAN_MARK_REMOVE, libc::FAN_OPEN_EXEC).is_ok()
    }

    /// Changes the mark of a file system. fanotify refuses directories of subvolumes other than the top-level one,
    /// because their identity differs from that in the events. The function then marks the top-level subvolume, and
    /// returns it.
    fn mark(&self, dir: &Dir, flags: c_uint, mask: u64) -> io::Result<Option<Dir>> {
        match mark(&self.fd, dir, flags, mask) {
            Err(error) if error.raw_os_error() == Some(libc::EXDEV) => {
                let top = dir.open_top_level_subvolume().map_err(|_| error)?;
                mark(&self.fd, &top, flags, mask).map(|()| Some(top))
            }
            result => result.map(|()| None),
        }
    }

    /// Returns an upper bound for the number of unread events.
    ///
    /// # Errors
    ///
    /// Returns the error of `ioctl(2)`.
    pub fn waiting(&self) -> io::Result<u64> {
        // Kernels before 5.12 count only the fixed part of each event.
        Ok(rustix::io::ioctl_fionread(&self.fd)?
            / size_of::<libc::fanotify_event_metadata>() as u64)
    }

    /// Reads events into a buffer, and returns the number of bytes.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::WouldBlock`] if no events are waiting.
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.fd, buffer)?)
    }
}

impl AsFd for Fanotify {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[expect(unsafe_code, reason = "fanotify_init has no safe wrapper")]
fn init(flags: c_uint) -> io::Result<Fanotify> {
    // SAFETY: the call takes two integers. It returns a new descriptor that nothing else owns.
    unsafe {
        let fd = libc::fanotify_init(flags, (libc::O_RDONLY | libc::O_CLOEXEC).unsigned_abs());
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Fanotify { fd: OwnedFd::from_raw_fd(fd) })
    }
}

#[expect(unsafe_code, reason = "fanotify_mark has no safe wrapper")]
fn mark(fd: &OwnedFd, dir: &Dir, flags: c_uint, mask: u64) -> io::Result<()> {
    let flags = flags | libc::FAN_MARK_FILESYSTEM;
    // SAFETY: both descriptors are open, and a null path means the directory itself.
    let answer = unsafe {
        let (fd, dir) = (fd.as_raw_fd(), dir.fd().as_raw_fd());
        libc::fanotify_mark(fd, flags, mask, dir, std::ptr::null())
    };
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// `struct file_handle` of linux/fs.h with the largest array.
#[repr(C)]
struct RawHandle {
    length: c_uint,
    kind: c_int,
    bytes: [u8; MAX_HANDLE_BYTES],
}

impl Dir {
    /// Opens the inode with a handle on the file system of this directory. The descriptor gives
    /// access only to metadata (`O_PATH`). `kind` is the type of the handle, which the file system
    /// defines.
    ///
    /// # Errors
    ///
    /// Returns the error of `open_by_handle_at(2)`: `ESTALE` if the inode no longer exists, `EPERM` without
    /// `CAP_DAC_READ_SEARCH`, and `EBADF` if the process did not open this directory for reading.
    #[expect(unsafe_code, reason = "open_by_handle_at has no safe wrapper")]
    pub fn open_handle(&self, kind: i32, handle: &[u8]) -> io::Result<OwnedFd> {
        let length = c_uint::try_from(handle.len()).unwrap_or(c_uint::MAX);
        let mut raw = RawHandle { length, kind, bytes: [0; MAX_HANDLE_BYTES] };
        let bytes = raw.bytes.get_mut(..handle.len()).ok_or(rustix::io::Errno::INVAL)?;
        bytes.copy_from_slice(handle);
        let flags = libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: the kernel reads a `struct file_handle` whose length is within its array. It
        // returns a new descriptor that nothing else owns.
        unsafe {
            let call = libc::SYS_open_by_handle_at;
            let fd = libc::syscall(call, self.fd().as_raw_fd(), &raw const raw, flags);
            match c_int::try_from(fd) {
                Ok(fd) if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }

    /// Returns the handle of this directory, and its type.
    ///
    /// # Errors
    ///
    /// Returns the error of `name_to_handle_at(2)`, which is `EOPNOTSUPP` if the file system has no
    /// handles.
    #[expect(unsafe_code, reason = "name_to_handle_at has no safe wrapper")]
    pub fn handle(&self) -> io::Result<(i32, Vec<u8>)> {
        let length = c_uint::try_from(MAX_HANDLE_BYTES).unwrap_or(0);
        let mut raw = RawHandle { length, kind: 0, bytes: [0; MAX_HANDLE_BYTES] };
        let mut mount: c_int = 0;
        // SAFETY: the kernel writes at most `length` bytes to the array, which is its size, and one
        // `int` to `mount`. The path is NUL-terminated.
        let answer = unsafe {
            let (fd, path) = (self.fd().as_raw_fd(), c"".as_ptr());
            let (raw, mount) = (&raw mut raw, &raw mut mount);
            libc::syscall(libc::SYS_name_to_handle_at, fd, path, raw, mount, libc::AT_EMPTY_PATH)
        };
        if answer != 0 {
            return Err(io::Error::last_os_error());
        }
        let length = (raw.length as usize).min(MAX_HANDLE_BYTES);
        Ok((raw.kind, raw.bytes[..length].to_vec()))
    }
}

/// Returns the current path of a descriptor. The path of a removed file ends in ` (deleted)`. The
/// path of a file that this mount does not show begins at the root of the file system, so callers
/// MUST check that the path leads to the same file.
///
/// # Errors
///
/// Returns the error of `readlink(2)`, which is `ENAMETOOLONG` if the path is longer than a page.
pub fn descriptor_path(fd: impl AsFd) -> io::Result<Vec<u8>> {
    let link = format!("/proc/self/fd/{}", fd.as_fd().as_raw_fd());
    Ok(std::fs::read_link(link)?.into_os_string().into_vec())
}

/// Returns the metadata of a descriptor, which may be one that gives access only to metadata.
///
/// # Errors
///
/// Returns the error of `statx(2)`.
pub fn descriptor_stat(fd: impl AsFd) -> io::Result<Stat> {
    Stat::of(fd, c"", rustix::fs::AtFlags::EMPTY_PATH)
}

#[cfg(test)]
mod tests {
    use super::{EventQueue, Fanotify, descriptor_path, descriptor_stat};
    use crate::dir::Dir;

    #[test]
    fn handle_of_a_directory_leads_back_to_it() {
        let tree = tempfile::tempdir().expect("a directory");
        let path = tree.path().canonicalize().expect("a path");
        let dir = Dir::open(&path).expect("opened");
        let Ok((kind, handle)) = dir.handle() else { return };
        match dir.open_handle(kind, &handle) {
            Ok(found) => {
                let stat = descriptor_stat(&found).expect("metadata");
                assert_eq!(stat.key(), dir.stat().expect("metadata").key());
                let found = descriptor_path(&found).expect("a path");
                assert_eq!(found, path.as_os_str().as_encoded_bytes());
            }
            // Only a process with CAP_DAC_READ_SEARCH may open handles.
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied),
        }
    }

    #[test]
    fn handle_that_is_too_long_is_refused() {
        let dir = Dir::open(std::path::Path::new("/")).expect("opened");
        assert!(dir.open_handle(1, &[0; 129]).is_err());
        assert!(dir.open_handle(1, &[]).is_err());
    }

    #[test]
    fn file_system_is_watched_after_it_was_marked() {
        let Ok(events) = Fanotify::new(EventQueue::Limited) else { return };
        let tree = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(tree.path()).expect("opened");
        assert!(!events.watches_file_system(&dir));
        if events.watch_file_system(&dir, libc::FAN_CREATE).is_err() {
            return;
        }
        assert!(events.watches_file_system(&dir));
        std::fs::File::create(tree.path().join("new")).expect("created");
        let mut buffer = [0; 4096];
        assert!(events.read(&mut buffer).expect("an event") > 24);
    }
}
