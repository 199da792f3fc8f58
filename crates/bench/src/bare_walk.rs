//! A walk that only opens, lists and closes directories: the least that a program must do to see
//! the names that `lop sweep` sees.
//!
//! Two threads share the work. Each directory is opened with `openat2` by its path below the root,
//! without following links or entering mounts, is listed with `getdents64`, and is closed. No name
//! is compared with anything. The walk covers either the directories of a list or the whole tree.
//! For a list, the race takes the directories that lop opened according to strace, so both programs
//! list the same directories. The time contains the start of the process, as it does for lop.
//!
//! The walk must stay this bare. Anything that it does besides would flatter lop.

use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use rustix::fs::{CWD, FileType, Mode, OFlags, RawDir, ResolveFlags};

use crate::Failure;

const THREADS: usize = 2;

/// The size of the buffer for `getdents64`.
const BUFFER_BYTES: usize = 64 << 10;

/// Number of directories of a list that a thread takes at a time.
const BATCH: usize = 16;

/// Lists the directories of a NUL-separated list, or all directories if there is no list. Returns
/// the number of directories and of names.
///
/// # Errors
///
/// The list or a directory cannot be read.
pub fn run(root: &Path, list: Option<&Path>) -> Result<(u64, u64), Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let top = rustix::fs::openat(CWD, root, flags, Mode::empty());
    let top = top.map_err(|e| Failure::at(root, e))?;
    let (dirs, names) = (AtomicU64::new(0), AtomicU64::new(0));
    let count = |found: u64| {
        dirs.fetch_add(1, Ordering::Relaxed);
        names.fetch_add(found, Ordering::Relaxed);
    };
    match list {
        Some(list) => listed(&top, list, &count)?,
        None => all(&top, &count)?,
    }
    Ok((dirs.into_inner(), names.into_inner()))
}

fn listed(top: &OwnedFd, list: &Path, count: &(impl Fn(u64) + Sync)) -> Result<(), Failure> {
    let bytes = std::fs::read(list).map_err(|e| Failure::at(list, e))?;
    let paths: Vec<&[u8]> = bytes.split(|&b| b == 0).filter(|path| !path.is_empty()).collect();
    let next = AtomicUsize::new(0);
    on_threads(|| {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        loop {
            let from = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = paths.get(from..).filter(|rest| !rest.is_empty()) else {
                return Ok(());
            };
            for path in &batch[..batch.len().min(BATCH)] {
                let path = Path::new(std::ffi::OsStr::from_bytes(path));
                count(list_dir(top, path, &mut buffer, |_| {})?);
            }
        }
    })
}

/// Directories that are not listed yet.
struct Unlisted {
    paths: Vec<PathBuf>,
    /// Number of threads that may still add directories.
    busy: usize,
}

fn all(top: &OwnedFd, count: &(impl Fn(u64) + Sync)) -> Result<(), Failure> {
    let shared = Mutex::new(Unlisted { paths: vec![PathBuf::from(".")], busy: THREADS });
    let changed = Condvar::new();
    let lock = || shared.lock().unwrap_or_else(PoisonError::into_inner);
    on_threads(|| {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        let mut own: Vec<PathBuf> = Vec::new();
        loop {
            if own.is_empty() {
                let mut unlisted = lock();
                unlisted.busy -= 1;
                while unlisted.paths.is_empty() && unlisted.busy > 0 {
                    unlisted = changed.wait(unlisted).unwrap_or_else(PoisonError::into_inner);
                }
                if unlisted.paths.is_empty() {
                    changed.notify_all();
                    return Ok(());
                }
                unlisted.busy += 1;
                // Half remains for the other thread.
                let half = unlisted.paths.len() / 2;
                own = unlisted.paths.split_off(half);
            }
            while let Some(path) = own.pop() {
                let found = list_dir(top, &path, &mut buffer, |name| own.push(path.join(name)));
                if found.is_err() {
                    lock().busy -= 1;
                    changed.notify_all();
                }
                count(found?);
                if own.len() > BATCH && lock().paths.is_empty() {
                    lock().paths.extend(own.drain(..BATCH / 2));
                    changed.notify_all();
                }
            }
        }
    })
}

/// Lists a directory. Calls `subdirectory` for each directory in it, and returns the number of
/// names.
fn list_dir(
    top: &OwnedFd,
    path: &Path,
    buffer: &mut [MaybeUninit<u8>],
    mut subdirectory: impl FnMut(PathBuf),
) -> Result<u64, Failure> {
    let at = |e: rustix::io::Errno| Failure::at(path, e);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
    let dir = rustix::fs::openat2(top.as_fd(), path, flags, Mode::empty(), resolve).map_err(at)?;
    let mut entries = RawDir::new(&dir, buffer);
    let mut names = 0;
    while let Some(entry) = entries.next() {
        let entry = entry.map_err(at)?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        names += 1;
        if entry.file_type() == FileType::Directory {
            subdirectory(PathBuf::from(std::ffi::OsString::from_vec(name.to_vec())));
        }
    }
    Ok(names)
}

/// Runs a function on all threads, and returns its first error.
fn on_threads(work: impl Fn() -> Result<(), Failure> + Sync) -> Result<(), Failure> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(&work)).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
        ended.collect::<Vec<_>>().into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::run;
    use std::fs;

    #[test]
    fn every_directory_of_the_tree_is_listed() {
        let temp = testkit::TempTree::new();
        for dir in 0..40 {
            let path = temp.join(format!("a{dir}/b/c"));
            fs::create_dir_all(&path).expect("made");
            fs::write(path.join("file"), "").expect("written");
        }
        assert_eq!(run(temp.path(), None), Ok((1 + 40 * 3, 40 * 4)));
    }

    #[test]
    fn only_the_directories_of_a_list_are_listed() {
        let temp = testkit::TempTree::new();
        fs::create_dir_all(temp.join("a/b")).expect("made");
        fs::write(temp.join("a/file"), "").expect("written");
        let list = temp.join("list");
        fs::write(&list, b"a\0a/b\0").expect("written");
        assert_eq!(run(temp.path(), Some(&list)), Ok((2, 2)));
        fs::write(&list, b"a\0missing\0").expect("written");
        run(temp.path(), Some(&list)).expect_err("a directory is missing");
    }
}
