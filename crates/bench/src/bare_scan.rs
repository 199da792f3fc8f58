//! A scan that makes only the system calls that no duplicate finder can avoid: the least that a
//! program must do if it already knows the answer.
//!
//! Two threads take directories from a list. Each directory is opened with `openat` relative to the
//! root, listed with `getdents64`, and closed. `statx` is called for each regular file in it. If the
//! list says how many bytes a finder must read of a file, the file is opened and read by `pread`. The
//! scan hashes and compares no bytes. It reads a file completely if another file is equal, and reads
//! 8 KiB if another file has only the same size. The list is made from the known content of the tree
//! (`write_list`). The time contains the start of the process and the reading of the list.
//!
//! The scan must stay this bare. Anything that it does besides would flatter lop.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, OsStr};
use std::fmt;
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fsops::ReadBuffer;
use rustix::fs::{AtFlags, Mode, OFlags, RawDir, StatxFlags};
use rustix::io::Errno;

use crate::Failure;
use crate::bare_walk::open_root;
use crate::tools::Groups;

/// The size of the buffer for `getdents64`.
const LISTING_BYTES: usize = 32 << 10;

/// The size of the buffer for `pread`. Most files fit into it, so a larger one would save few calls.
const READING_BYTES: usize = 128 << 10;

/// The number of bytes to read of a file that is unlike the other files of its size. A finder must
/// read something of it, and the first blocks nearly always differ.
const HEAD_BYTES: u64 = 8 << 10;

/// The work that a scan did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Done {
    /// Number of directories.
    dirs: u64,
    /// Number of names of regular files.
    files: u64,
    /// Number of bytes read.
    bytes: u64,
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dirs, files, bytes } = self;
        write!(f, "{dirs} directories, {files} files, {bytes} bytes read")
    }
}

/// Scans the tree below `root` by a list of `write_list`.
///
/// # Errors
///
/// The list is malformed, or a directory or file of the list cannot be read.
///
/// # Panics
///
/// Never, because no thread panics.
pub fn run(root: &Path, list: &Path) -> Result<Done, Failure> {
    let bytes = fs::read(list).map_err(|e| Failure::at(list, e))?;
    let dirs = dirs(&bytes).ok_or_else(|| Failure::at(list, "is not a list of files"))?;
    let root = open_root(root)?;
    let next = AtomicUsize::new(0);
    let work = || Worker::new(root.as_fd()).work(&dirs, &next);
    let [here, there] = std::thread::scope(|scope| {
        // The thread copies the descriptor table, so each of the two threads has one of its own.
        let thread = runtime::spawn_with_own_descriptors(scope, work);
        let here = work();
        let there = thread.map(|thread| thread.join().expect("it does not panic"));
        [here, there.unwrap_or_else(|e| Err(Failure::new(e.to_string())))]
    });
    let (here, there) = (here?, there?);
    Ok(Done {
        dirs: here.dirs + there.dirs,
        files: here.files + there.files,
        bytes: here.bytes + there.bytes,
    })
}

/// A directory of the list: its path from the root, and the records of its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ListedDir<'l> {
    path: &'l CStr,
    files: &'l [u8],
}

/// Returns the directories of a list, or `None` if the list is malformed.
fn dirs(mut list: &[u8]) -> Option<Vec<ListedDir<'_>>> {
    let mut dirs = Vec::new();
    while !list.is_empty() {
        let (length, path, rest) = record(list)?;
        let (files, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
        dirs.push(ListedDir { path, files });
        list = rest;
    }
    Some(dirs)
}

/// Splits the first record from a list. Returns its number, its path and the rest of the list.
fn record(list: &[u8]) -> Option<(u64, &CStr, &[u8])> {
    let slash = list.iter().position(|&byte| byte == b'/')?;
    let number = std::str::from_utf8(&list[..slash]).ok()?.parse().ok()?;
    let path = CStr::from_bytes_until_nul(&list[slash + 1..]).ok()?;
    let rest = &list[slash + 1 + path.to_bytes_with_nul().len()..];
    Some((number, path, rest))
}

/// A thread with its buffers.
struct Worker<'r> {
    root: BorrowedFd<'r>,
    listing: Vec<MaybeUninit<u8>>,
    reading: ReadBuffer,
    done: Done,
}

impl<'r> Worker<'r> {
    fn new(root: BorrowedFd<'r>) -> Self {
        let listing = vec![MaybeUninit::uninit(); LISTING_BYTES];
        Self { root, listing, reading: ReadBuffer::default(), done: Done::default() }
    }

    /// Takes directories until none is left.
    fn work(mut self, dirs: &[ListedDir], next: &AtomicUsize) -> Result<Done, Failure> {
        while let Some(dir) = dirs.get(next.fetch_add(1, Relaxed)) {
            self.scan_dir(dir)?;
        }
        Ok(self.done)
    }

    fn scan_dir(&mut self, listed: &ListedDir) -> Result<(), Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let dir = rustix::fs::openat(self.root, listed.path, flags, Mode::empty());
        let dir = dir.map_err(|e| failure(listed.path, e))?;
        let mut entries = RawDir::new(&dir, &mut self.listing);
        while let Some(entry) = entries.next() {
            entry.map_err(|e| failure(listed.path, e))?;
        }
        let mut files = listed.files;
        while !files.is_empty() {
            let malformed = || failure(listed.path, Errno::INVAL);
            let (bytes, name, rest) = record(files).ok_or_else(malformed)?;
            self.scan_file(dir.as_fd(), name, bytes).map_err(|e| failure(name, e))?;
            files = rest;
        }
        self.done.dirs += 1;
        Ok(())
    }

    /// Examines a file and reads this many bytes of it.
    fn scan_file(&mut self, dir: BorrowedFd, name: &CStr, bytes: u64) -> Result<(), Errno> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        rustix::fs::statx(dir, name, flags, StatxFlags::BASIC_STATS)?;
        self.done.files += 1;
        if bytes == 0 {
            return Ok(());
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let file = rustix::fs::openat(dir, name, flags, Mode::empty())?;
        let mut at = 0;
        while at < bytes {
            let length = usize::try_from(bytes - at).unwrap_or(READING_BYTES).min(READING_BYTES);
            match rustix::io::pread(&file, &mut self.reading.bytes(READING_BYTES)[..length], at)? {
                0 => return Err(Errno::NODATA),
                read => at += read as u64,
            }
        }
        self.done.bytes += bytes;
        Ok(())
    }
}

fn failure(name: &CStr, error: Errno) -> Failure {
    Failure::at(Path::new(OsStr::from_bytes(name.to_bytes())), error)
}

/// Returns the list of the tree below `root`, whose groups of equal files are known.
///
/// A record consists of a number, a slash, a path and NUL. The record of a directory has the length
/// of the records of its files, which follow it, and the path from the root. The record of a regular
/// file has the number of bytes to read and its name.
///
/// # Errors
///
/// A directory or file of the tree cannot be examined.
pub(crate) fn write_list(root: &Path, groups: &Groups) -> Result<Vec<u8>, Failure> {
    let tree = FoundDir::walk(root)?;
    let mut inode_of_size = HashMap::new();
    let mut shared_sizes = HashSet::new();
    for file in tree.iter().flat_map(|dir| &dir.files) {
        if *inode_of_size.entry(file.size).or_insert(file.inode) != file.inode {
            shared_sizes.insert(file.size);
        }
    }
    let in_groups: HashSet<u64> = groups.iter().flatten().copied().collect();
    let mut seen = HashSet::new();
    let mut list = Vec::new();
    for dir in &tree {
        let mut records = Vec::new();
        for FoundFile { name, inode, size } in &dir.files {
            let bytes = if !seen.insert(*inode) {
                0
            } else if in_groups.contains(inode) {
                *size
            } else if shared_sizes.contains(size) {
                HEAD_BYTES.min(*size)
            } else {
                0
            };
            add_record(&mut records, bytes, name);
        }
        add_record(&mut list, records.len() as u64, &dir.path);
        list.append(&mut records);
    }
    Ok(list)
}

fn add_record(list: &mut Vec<u8>, number: u64, path: &[u8]) {
    list.extend_from_slice(format!("{number}/").as_bytes());
    list.extend_from_slice(path);
    list.push(0);
}

/// A directory with its regular files.
struct FoundDir {
    /// The path from the root; `.` for the root itself.
    path: Vec<u8>,
    files: Vec<FoundFile>,
}

struct FoundFile {
    name: Vec<u8>,
    inode: u64,
    size: u64,
}

impl FoundDir {
    /// Returns all directories of the tree, each before the directories below it.
    fn walk(root: &Path) -> Result<Vec<Self>, Failure> {
        let mut found = Vec::new();
        let mut unlisted = vec![root.to_path_buf()];
        while let Some(path) = unlisted.pop() {
            let mut files = Vec::new();
            for entry in fs::read_dir(&path).map_err(|e| Failure::at(&path, e))? {
                let entry = entry.map_err(|e| Failure::at(&path, e))?;
                let below = entry.path();
                let metadata = fs::symlink_metadata(&below).map_err(|e| Failure::at(&below, e))?;
                if metadata.is_dir() {
                    unlisted.push(below);
                } else if metadata.is_file() {
                    let name = entry.file_name().as_bytes().to_vec();
                    files.push(FoundFile { name, inode: metadata.ino(), size: metadata.len() });
                }
            }
            let from_root = path.strip_prefix(root).unwrap_or(&path).as_os_str().as_bytes();
            let path = if from_root.is_empty() { b".".to_vec() } else { from_root.to_vec() };
            found.push(Self { path, files });
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::{Done, dirs, record, run, write_list};
    use crate::tools::Groups;
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::MetadataExt;
    use std::path::Path;

    /// Makes two equal files of 300 kB, one of them with two names, and returns their group.
    fn make_tree(root: &Path) -> Groups {
        fs::create_dir_all(root.join("a/b")).expect("made");
        let equal = vec![7; 300_000];
        for (path, content) in [
            ("a/equal", &equal[..]),
            ("a/b/3 equal", &equal),
            ("same size 1", &[1; 9_000]),
            ("a/same size 2", &[2; 9_000]),
            ("a/small 1", b"one"),
            ("a/b/small 2", b"two"),
            ("lone", b"alone"),
            ("empty 1", b""),
            ("empty 2", b""),
        ] {
            fs::write(root.join(path), content).expect("written");
        }
        fs::hard_link(root.join("a/equal"), root.join("7 linked")).expect("linked");
        fs::hard_link(root.join("lone"), root.join("a/lone")).expect("linked");
        std::os::unix::fs::symlink("lone", root.join("link")).expect("made");
        let inode = |path: &str| root.join(path).symlink_metadata().expect("made").ino();
        BTreeSet::from([BTreeSet::from([inode("a/equal"), inode("a/b/3 equal")])])
    }

    #[test]
    fn equal_files_are_read_completely_and_others_in_part() {
        let temp = testkit::TempTree::new();
        let root = temp.join("tree");
        let groups = make_tree(&root);
        let list = temp.join("list");
        fs::write(&list, write_list(&root, &groups).expect("readable")).expect("written");
        let bytes = 2 * 300_000 + 2 * 8_192 + 2 * 3;
        assert_eq!(run(&root, &list), Ok(Done { dirs: 3, files: 11, bytes }));
        fs::remove_file(root.join("lone")).expect("removed");
        let failure = run(&root, &list).expect_err("a file is missing");
        assert!(failure.to_string().contains("lone"), "{failure}");
    }

    #[test]
    fn a_list_has_each_directory_with_its_files() {
        let temp = testkit::TempTree::new();
        let groups = make_tree(temp.path());
        let list = write_list(temp.path(), &groups).expect("readable");
        let mut found = BTreeSet::new();
        for dir in dirs(&list).expect("well-formed") {
            let mut files = dir.files;
            while let Some((bytes, name, rest)) = record(files) {
                let path = Path::new(std::ffi::OsStr::from_bytes(dir.path.to_bytes()));
                found.insert((path.join(name.to_str().expect("text")), bytes));
                files = rest;
            }
        }
        let bytes = |path: &str| found.iter().find(|(known, _)| known == Path::new(path));
        assert_eq!(found.len(), 11, "{found:?}");
        assert_eq!(bytes("a/b/3 equal").map(|file| file.1), Some(300_000));
        assert_eq!(bytes("./lone").map(|file| file.1), Some(0));
    }

    #[test]
    fn malformed_lists_are_noticed() {
        for list in ["x", "1/a", "x/a\0", "9/a\x000/b\0"] {
            assert_eq!(dirs(list.as_bytes()), None, "{list:?}");
        }
        assert_eq!(dirs(b"").map(|dirs| dirs.len()), Some(0));
    }
}
