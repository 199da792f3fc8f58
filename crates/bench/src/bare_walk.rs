//! A walk that only opens, lists and closes directories: the least that a program must do to see
//! the names that `lop sweep` sees.
//!
//! Two threads share the work. Each directory is opened with `openat2` relative to its parent,
//! without following links or entering mounts, is listed with `getdents64`, and is closed. No name
//! is compared with anything. The walk covers either the directories of a list or the whole tree.
//! For a list, the race takes the directories that lop opened according to strace, so both programs
//! list the same directories. The time contains the start of the process, as it does for lop.
//!
//! A list may also contain files, for which the walk calls `statx`. This is the least that a program
//! must do to report their sizes.
//!
//! The walk must stay this bare. Anything that it does besides would flatter lop.

use std::ffi::{CStr, CString};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, ResolveFlags, StatxFlags};

use crate::Failure;

const THREADS: usize = 2;

/// The size of the buffer for `getdents64`.
const BUFFER_BYTES: usize = 64 << 10;

/// Lists the directories of a list (`write_list`), or all directories if there is no list.
/// Returns the number of directories and of names.
///
/// # Errors
///
/// The list or a directory cannot be read.
///
/// # Panics
///
/// Never, because no thread panics.
pub fn run(root: &Path, list: Option<&Path>) -> Result<(u64, u64), Failure> {
    let top = Arc::new(open_root(root)?);
    let unlisted =
        |node, name: &CStr| Unlisted { node, parent: Arc::clone(&top), name: name.into() };
    let (list, start) = match list {
        None => (None, vec![unlisted(0, c".")]),
        Some(path) => {
            let (list, tops) = List::read(path)?;
            let start = tops.iter().map(|&node| unlisted(node, &list.names[node])).collect();
            (Some(list), start)
        }
    };
    let walk = Walk {
        list,
        state: Mutex::new(State { shared: start, busy: THREADS }),
        changed: Condvar::new(),
        idle: AtomicUsize::new(0),
        dirs: AtomicU64::new(0),
        names: AtomicU64::new(0),
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(|| walk.work())).collect();
        let ended = threads.into_iter().map(|thread| thread.join().expect("it does not panic"));
        ended.collect::<Vec<_>>().into_iter().collect::<Result<(), Failure>>()
    })?;
    Ok((walk.dirs.into_inner(), walk.names.into_inner()))
}

/// Opens the root of a tree. The descriptor only serves to open directories below it.
pub(crate) fn open_root(root: &Path) -> Result<OwnedFd, Failure> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, root, flags, Mode::empty()).map_err(|e| Failure::at(root, e))
}

/// Returns the list of directories in the form that [`run`] reads. Each record ends with NUL. It
/// has the number of the nearest ancestor among the earlier records, or `-`, and the path from
/// there, after a slash for directories and a plus sign for files. The paths are relative to the
/// root, and `.` is the root itself. Files outside the directories are left out.
pub(crate) fn write_list<'f>(
    dirs: &[String],
    files: impl IntoIterator<Item = &'f String>,
) -> Vec<u8> {
    let mut sorted: Vec<&str> = dirs.iter().map(String::as_str).collect();
    // An ancestor comes before its descendants.
    sorted.sort_by_key(|dir| (*dir != ".", *dir));
    let mut numbers = std::collections::HashMap::new();
    let mut text = Vec::new();
    for (number, dir) in sorted.into_iter().enumerate() {
        let ancestors = dir.rmatch_indices('/').map(|(at, _)| (&dir[..at], &dir[at + 1..]));
        let from_root = (dir != ".").then_some((".", dir));
        let found = ancestors
            .chain(from_root)
            .find_map(|(ancestor, rest)| Some((numbers.get(ancestor)?, rest)));
        let record = match found {
            Some((ancestor, rest)) => format!("{ancestor}/{rest}"),
            None => format!("-/{dir}"),
        };
        text.extend_from_slice(record.as_bytes());
        text.push(0);
        numbers.insert(dir, number);
    }
    for file in files {
        let (dir, name) = file.rsplit_once('/').unwrap_or((".", file));
        if let Some(number) = numbers.get(dir) {
            text.extend_from_slice(format!("{number}+{name}\0").as_bytes());
        }
    }
    text
}

/// The directories to list.
struct List {
    /// The path of each directory from its nearest ancestor in the list.
    names: Vec<CString>,
    /// The numbers of the directories and files below each directory.
    children: Vec<Vec<usize>>,
    is_file: Vec<bool>,
}

impl List {
    /// Reads a list. Also returns the numbers of the directories without an ancestor in it.
    fn read(path: &Path) -> Result<(Self, Vec<usize>), Failure> {
        let bytes = std::fs::read(path).map_err(|e| Failure::at(path, e))?;
        let mut is_file = Vec::new();
        let (mut names, mut children, mut tops) =
            (Vec::new(), Vec::<Vec<usize>>::new(), Vec::new());
        for record in bytes.split_inclusive(|&b| b == 0) {
            let malformed = || Failure::at(path, "is not a list of directories");
            let slash = record.iter().position(|b| b"/+".contains(b)).ok_or_else(malformed)?;
            let name = CStr::from_bytes_with_nul(&record[slash + 1..]).map_err(|_| malformed())?;
            match std::str::from_utf8(&record[..slash]) {
                Ok("-") => tops.push(names.len()),
                Ok(number) => {
                    let parent = number.parse().ok().and_then(|at: usize| children.get_mut(at));
                    parent.ok_or_else(malformed)?.push(names.len());
                }
                Err(_) => return Err(malformed()),
            }
            is_file.push(record[slash] == b'+');
            names.push(name.to_owned());
            children.push(Vec::new());
        }
        Ok((Self { names, children, is_file }, tops))
    }
}

/// A directory that is not listed yet.
struct Unlisted {
    /// Its number in the list.
    node: usize,
    parent: Arc<OwnedFd>,
    name: CString,
}

struct State {
    /// Directories that any thread may take.
    shared: Vec<Unlisted>,
    /// Number of threads that may still add directories.
    busy: usize,
}

struct Walk {
    list: Option<List>,
    state: Mutex<State>,
    changed: Condvar,
    /// Number of threads that wait for directories.
    idle: AtomicUsize,
    dirs: AtomicU64,
    names: AtomicU64,
}

impl Walk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) -> Result<(), Failure> {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        let mut own = Vec::new();
        let (mut dirs, mut names) = (0, 0);
        let mut outcome = Ok(());
        while outcome.is_ok() && self.take(&mut own) {
            while let Some(unlisted) = own.pop() {
                match self.list_dir(&unlisted, &mut buffer, &mut own) {
                    Ok(found) => (dirs, names) = (dirs + 1, names + found),
                    Err(failure) => outcome = Err(failure),
                }
                if outcome.is_err() {
                    // The other thread must not wait for this one.
                    self.lock().busy -= 1;
                    self.changed.notify_all();
                    break;
                }
                if own.len() > 1 && self.idle.load(Relaxed) > 0 {
                    // The directories that were found first have the most below them.
                    let half = own.len() / 2;
                    self.lock().shared.extend(own.drain(..half));
                    self.changed.notify_all();
                }
            }
        }
        self.dirs.fetch_add(dirs, Relaxed);
        self.names.fetch_add(names, Relaxed);
        outcome
    }

    /// Waits for directories and takes half of those that are shared. Returns false if all have
    /// been listed.
    fn take(&self, own: &mut Vec<Unlisted>) -> bool {
        let mut state = self.lock();
        state.busy -= 1;
        self.idle.fetch_add(1, Relaxed);
        while state.shared.is_empty() && state.busy > 0 {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        self.idle.fetch_sub(1, Relaxed);
        if state.shared.is_empty() {
            self.changed.notify_all();
            return false;
        }
        state.busy += 1;
        let half = state.shared.len() / 2;
        *own = state.shared.split_off(half);
        true
    }

    /// Lists a directory, adds the directories below it to `own`, and returns the number of names.
    fn list_dir(
        &self,
        unlisted: &Unlisted,
        buffer: &mut [MaybeUninit<u8>],
        own: &mut Vec<Unlisted>,
    ) -> Result<u64, Failure> {
        let Unlisted { node, parent, name } = unlisted;
        let at = |e: rustix::io::Errno| Failure::new(format!("{}: {e}", name.to_string_lossy()));
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_XDEV;
        let dir = rustix::fs::openat2(parent, name, flags, Mode::empty(), resolve).map_err(at)?;
        let dir = Arc::new(dir);
        let mut add = |node, name: &CStr| {
            own.push(Unlisted { node, parent: Arc::clone(&dir), name: name.to_owned() });
        };
        let mut entries = RawDir::new(&*dir, buffer);
        let mut names = 0;
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(at)?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            names += 1;
            if self.list.is_none() && entry.file_type() == FileType::Directory {
                add(0, name);
            }
        }
        if let Some(list) = &self.list {
            for &child in &list.children[*node] {
                if list.is_file[child] {
                    let flags = AtFlags::SYMLINK_NOFOLLOW;
                    let name = &list.names[child];
                    rustix::fs::statx(&dir, name, flags, StatxFlags::BASIC_STATS).map_err(at)?;
                } else {
                    add(child, &list.names[child]);
                }
            }
        }
        Ok(names)
    }
}

#[cfg(test)]
mod tests {
    use super::{run, write_list};
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
        fs::create_dir_all(temp.join("a/b/c")).expect("made");
        fs::write(temp.join("a/file"), "").expect("written");
        let list = temp.join("list");
        let files = ["a/file".to_owned(), "elsewhere/file".to_owned()];
        let write = |dirs: &[&str]| {
            let dirs: Vec<String> = dirs.iter().map(|&dir| dir.to_owned()).collect();
            fs::write(&list, write_list(&dirs, &files)).expect("written");
        };
        write(&["a", "a/b/c"]);
        assert_eq!(run(temp.path(), Some(&list)), Ok((2, 2)));
        write(&["a/b", ".", "a"]);
        assert_eq!(run(temp.path(), Some(&list)), Ok((3, 5)));
        write(&["a", "missing"]);
        run(temp.path(), Some(&list)).expect_err("a directory is missing");
    }

    #[test]
    fn a_list_refers_to_the_nearest_ancestor() {
        let dirs = ["a/b/c", ".", "a", "d/e"].map(str::to_owned);
        let files = ["a/1", "2", "a/b/3"].map(str::to_owned);
        let expected = b"-/.\x000/a\x001/b/c\x000/d/e\x001+1\x000+2\0";
        assert_eq!(write_list(&dirs, &files), expected);
    }
}
