//! Finds files on which threads of this process are blocked.
//!
//! # Platform behavior
//!
//! `/proc/self/task/TID/syscall` (`proc_pid_syscall(5)`) shows the system call in which a thread
//! sleeps, with its arguments. The arguments can include a descriptor and the address of a name in
//! this process's memory. On kernels built without this file, no blocked threads are found. Reading
//! the file does not slow down the threads.

use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A thread that is blocked in a system call on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedThread {
    /// The thread's id.
    pub thread: u32,
    /// The system call with its arguments. This value stays the same as long as the thread makes no
    /// progress.
    pub call: String,
    /// Path of the file.
    pub path: PathBuf,
}

/// System calls that take a descriptor, and those that take a name relative to a descriptor.
const ON_DESCRIPTOR: [i64; 7] = [
    libc::SYS_getdents64,
    libc::SYS_pread64,
    libc::SYS_ioctl,
    libc::SYS_fadvise64,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_fstatfs,
];
const ON_NAME: [i64; 3] = [libc::SYS_openat, libc::SYS_openat2, libc::SYS_statx];

/// Returns the threads that are currently blocked in a system call on a file.
pub fn blocked_threads() -> Vec<BlockedThread> {
    let tasks = fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    tasks.filter_map(|task| of_thread(task.file_name().to_str()?.parse().ok()?)).collect()
}

fn of_thread(thread: u32) -> Option<BlockedThread> {
    let task = PathBuf::from(format!("/proc/self/task/{thread}"));
    let call = fs::read_to_string(task.join("syscall")).ok()?;
    let mut words = call.split_ascii_whitespace();
    let number: i64 = words.next()?.parse().ok()?;
    let mut argument = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (descriptor, name) = (argument()?, argument()?);
    if !ON_DESCRIPTOR.contains(&number) && !ON_NAME.contains(&number) {
        return None;
    }
    // `AT_FDCWD` is negative.
    let descriptor = i32::try_from(descriptor.cast_signed()).unwrap_or(libc::AT_FDCWD);
    let base = if descriptor < 0 {
        PathBuf::new()
    } else {
        fs::read_link(task.join(format!("fd/{descriptor}"))).ok()?
    };
    let path = if ON_NAME.contains(&number) { base.join(name_at(name)) } else { base };
    Some(BlockedThread { thread, call, path })
}

/// Reads a name from an address in this process's memory. Returns an empty name if the memory has
/// been freed.
fn name_at(address: u64) -> PathBuf {
    let mut bytes = vec![0; 4096];
    let memory = fs::File::open("/proc/self/mem");
    let read = memory.and_then(|memory| memory.read_at(&mut bytes, address)).unwrap_or(0);
    let end = bytes[..read].iter().position(|&b| b == 0).unwrap_or(0);
    bytes.truncate(end);
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

impl BlockedThread {
    /// Returns the path as bytes.
    pub fn path_bytes(&self) -> &[u8] {
        self.path.as_os_str().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::blocked_threads;

    #[test]
    fn blocked_thread_is_found_with_its_path() {
        let dir = tempfile::tempdir().expect("a directory");
        let fifo = dir.path().join("never written");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .expect("a FIFO");
        std::thread::scope(|scope| {
            scope.spawn(|| std::fs::File::open(&fifo).expect("a FIFO with a writer"));
            let found = loop {
                let found = blocked_threads().into_iter().find(|waiting| waiting.path == fifo);
                if let Some(found) = found {
                    break found;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            };
            assert!(blocked_threads().contains(&found), "it is still blocked");
            let _writer = std::fs::File::options().write(true).open(&fifo).expect("a FIFO");
        });
    }
}
