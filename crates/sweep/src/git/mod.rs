//! Whether git tracks files in a directory.
//!
//! Some projects commit the results of a build. A rule can therefore demand that git tracks nothing
//! in a directory. lop reads the index of the repository itself, so it needs no git and runs no
//! hooks, and an answer that lop does not know counts as yes.

mod index;

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fsops::{Dir, Kind, Stat};
use walk::split_path;

/// The maximum size of an index. That of a million files takes about 100 MiB.
const MAX_INDEX_BYTES: u64 = 1 << 30;

/// The maximum size of a `.git` file, which contains a path.
const MAX_LINK_BYTES: u64 = 8 << 10;

/// The repositories of a target.
pub(crate) struct Repositories<'t> {
    target: &'t Dir,
    /// The absolute path of the target, without links.
    target_path: &'t [u8],
    /// The repository that each directory of the target belongs to.
    known: HashMap<Vec<u8>, Option<Rc<Repository>>>,
    /// The index of the repository that was needed last. `None` if it could not be read.
    last: Option<(Rc<Repository>, Option<Vec<u8>>)>,
}

/// A repository with a working tree.
struct Repository {
    /// The length of the working tree's path, which is relative to the target.
    top_len: usize,
    /// The path of the target relative to the working tree, if the target is inside of it.
    target: Vec<u8>,
    /// The directory with the repository's files. `None` if lop does not look there.
    git_dir: Option<GitDir>,
}

/// The path of a directory with a repository's files.
enum GitDir {
    Relative(Vec<u8>),
    Absolute(PathBuf),
}

impl<'t> Repositories<'t> {
    pub(crate) fn new(target: &'t Dir, target_path: &'t [u8]) -> Repositories<'t> {
        Repositories { target, target_path, known: HashMap::new(), last: None }
    }

    /// Returns whether git may track files in a directory, whose path is relative to the target.
    pub(crate) fn may_track(&mut self, path: &[u8]) -> bool {
        let Some(repository) = self.around(split_path(path).0) else { return false };
        let below = &path[repository.top_len..];
        let relative = joined(&repository.target, below.strip_prefix(b"/").unwrap_or(below));
        match self.index(&repository) {
            Some([]) => false,
            Some(index) => index::lists(index, &relative).unwrap_or(true),
            None => true,
        }
    }

    /// Returns the index of a repository. It is empty if no file is tracked.
    fn index(&mut self, repository: &Rc<Repository>) -> Option<&[u8]> {
        let last = self.last.take().filter(|(last, _)| Rc::ptr_eq(last, repository));
        let last = last.unwrap_or_else(|| {
            let dir = repository.git_dir.as_ref().map(|dir| match dir {
                GitDir::Relative(path) => self.open(path),
                GitDir::Absolute(path) => Dir::open(path),
            });
            let index = dir.and_then(|dir| dir.and_then(|dir| read_index(&dir)).ok());
            (Rc::clone(repository), index)
        });
        self.last.insert(last).1.as_deref()
    }

    fn open(&self, path: &[u8]) -> io::Result<Dir> {
        let path = if path.is_empty() { b".".as_slice() } else { path };
        self.target.open_below_same_mount(path)
    }

    /// Returns the repository that a directory belongs to.
    fn around(&mut self, dir: &[u8]) -> Option<Rc<Repository>> {
        let (mut passed, mut dir) = (Vec::new(), dir);
        let found = loop {
            if let Some(known) = self.known.get(dir) {
                break known.clone();
            }
            passed.push(dir.to_vec());
            if let Some(found) = self.repository(dir) {
                break Some(Rc::new(found));
            }
            if dir.is_empty() {
                break self.around_target().map(Rc::new);
            }
            dir = split_path(dir).0;
        };
        self.known.extend(passed.into_iter().map(|dir| (dir, found.clone())));
        found
    }

    /// Returns the repository whose working tree is a directory of the target.
    fn repository(&self, dir: &[u8]) -> Option<Repository> {
        let git_dir = match git_entry(&self.open(dir).ok()?)? {
            GitEntry::Dir => Some(joined(dir, b".git")),
            GitEntry::File(path) => self.inside(dir, &path),
        };
        let git_dir = git_dir.map(GitDir::Relative);
        Some(Repository { top_len: dir.len(), target: Vec::new(), git_dir })
    }

    /// Returns the repository whose working tree contains the target.
    fn around_target(&self) -> Option<Repository> {
        let path = Path::new(OsStr::from_bytes(self.target_path));
        path.ancestors().skip(1).find_map(|top| {
            let git_dir = match git_entry(&Dir::open(top).ok()?)? {
                GitEntry::Dir => top.join(".git"),
                // A relative path is relative to the working tree.
                GitEntry::File(path) => top.join(OsStr::from_bytes(&path)),
            };
            let target = path.strip_prefix(top).ok()?.as_os_str().as_bytes().to_vec();
            Some(Repository { top_len: 0, target, git_dir: Some(GitDir::Absolute(git_dir)) })
        })
    }

    /// Returns the path relative to the target of a path in a `.git` file of `dir`. Returns `None`
    /// if it leads out of the target.
    fn inside(&self, dir: &[u8], path: &[u8]) -> Option<Vec<u8>> {
        let (mut inside, path) = if path.starts_with(b"/") {
            let rest = path.strip_prefix(self.target_path)?;
            (Vec::new(), rest.starts_with(b"/").then_some(rest)?)
        } else {
            (dir.to_vec(), path)
        };
        for name in path.split(|&byte| byte == b'/') {
            match name {
                b"" | b"." => {}
                b".." if inside.is_empty() => return None,
                b".." => inside.truncate(split_path(&inside).0.len()),
                name => walk::push_component(&mut inside, name),
            }
        }
        Some(inside)
    }
}

/// The entry `.git` of a working tree.
enum GitEntry {
    Dir,
    /// A file that names the directory, as in submodules and linked working trees.
    File(Vec<u8>),
}

/// Returns the entry `.git` of a directory, if it has one.
fn git_entry(top: &Dir) -> Option<GitEntry> {
    let stat = top.stat_child(c".git").ok()?;
    if stat.kind != Kind::File {
        return Some(GitEntry::Dir);
    }
    let text = read(top, c".git", MAX_LINK_BYTES).unwrap_or_default();
    let path = text.strip_prefix(b"gitdir: ").unwrap_or_default().trim_ascii_end();
    Some(GitEntry::File(path.to_vec()))
}

/// Reads the index in the directory of a repository.
fn read_index(git: &Dir) -> io::Result<Vec<u8>> {
    match read(git, c"index", MAX_INDEX_BYTES) {
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        answer => answer,
    }
}

fn read(dir: &Dir, name: &CStr, most: u64) -> io::Result<Vec<u8>> {
    let file = dir.open_regular(name)?;
    let Stat { size, .. } = file.stat()?;
    let length = usize::try_from(size).ok().filter(|_| size <= most);
    let mut bytes = vec![0; length.ok_or(ErrorKind::FileTooLarge)?];
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read_at(&mut bytes[filled..], filled as u64) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(read) => filled += read,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(bytes)
}

/// Appends a relative path to a directory, which may be empty.
fn joined(dir: &[u8], path: &[u8]) -> Vec<u8> {
    let mut joined = dir.to_vec();
    walk::push_component(&mut joined, path);
    joined
}
