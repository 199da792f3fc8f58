//! Whether git tracks a file or files in a directory.
//!
//! Some projects commit the results of a build. A rule can therefore demand that git tracks nothing
//! in what it takes. lop reads the index of the repository itself, so it needs no git and runs no
//! hooks. If lop cannot find out whether git tracks an entry, it assumes that git does.

mod index;

use std::collections::HashMap;
use std::ffi::{CStr, OsStr};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fsops::{Dir, Kind, Stat};
use walk::split_path;

use self::index::Names;

/// The maximum size of an index. That of a million files takes about 100 MiB.
const MAX_INDEX_BYTES: u64 = 1 << 30;

/// The maximum size of a `.git` file, which contains a path.
const MAX_LINK_BYTES: u64 = 8 << 10;

/// Number of repositories whose tracked names are kept.
const MAX_KEPT: usize = 8;

/// The repositories of a target.
pub(crate) struct Repositories<'t> {
    target: &'t Dir,
    /// The absolute path of the target, without links.
    target_path: &'t [u8],
    /// The repositories whose working trees contain each directory of the target.
    known: HashMap<Vec<u8>, Rc<[Rc<Repository>]>>,
    /// The tracked names of the repositories that were needed last. `None` if they are unknown.
    kept: Vec<(Rc<Repository>, Option<Names>)>,
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
        Repositories { target, target_path, known: HashMap::new(), kept: Vec::new() }
    }

    /// Returns whether git may track an entry, or a file below it. `path` is relative to the target.
    pub(crate) fn may_track(&mut self, path: &[u8]) -> bool {
        // An inner repository does not keep an outer one from tracking files in it.
        let around = self.around(split_path(path).0);
        around.iter().any(|repository| {
            let below = &path[repository.top_len..];
            let relative = joined(&repository.target, below.strip_prefix(b"/").unwrap_or(below));
            self.names(repository).is_none_or(|names| names.has(&relative))
        })
    }

    /// Returns the tracked names of a repository, or `None` if they are unknown.
    fn names(&mut self, repository: &Rc<Repository>) -> Option<&Names> {
        let is_kept = |(kept, _): &(Rc<Repository>, _)| Rc::ptr_eq(kept, repository);
        let at = self.kept.iter().position(is_kept).unwrap_or_else(|| {
            let dir = repository.git_dir.as_ref().map(|dir| match dir {
                GitDir::Relative(path) => self.open(path),
                GitDir::Absolute(path) => Dir::open(path),
            });
            let names = dir.and_then(Result::ok).and_then(|dir| read_names(&dir));
            if self.kept.len() >= MAX_KEPT {
                self.kept.remove(0);
            }
            self.kept.push((Rc::clone(repository), names));
            self.kept.len() - 1
        });
        self.kept[at].1.as_ref()
    }

    fn open(&self, path: &[u8]) -> io::Result<Dir> {
        let path = if path.is_empty() { b".".as_slice() } else { path };
        self.target.open_below_same_mount(path)
    }

    /// Returns the repositories whose working trees contain a directory.
    fn around(&mut self, dir: &[u8]) -> Rc<[Rc<Repository>]> {
        let (mut passed, mut dir) = (Vec::new(), dir);
        let mut found = loop {
            if let Some(known) = self.known.get(dir) {
                break Rc::clone(known);
            }
            passed.push(dir.to_vec());
            if dir.is_empty() {
                break self.around_target();
            }
            dir = split_path(dir).0;
        };
        for dir in passed.into_iter().rev() {
            if let Some(repository) = self.repository(&dir) {
                found = found.iter().cloned().chain([Rc::new(repository)]).collect();
            }
            self.known.insert(dir, Rc::clone(&found));
        }
        found
    }

    /// Returns the repository whose working tree is a directory of the target.
    fn repository(&self, dir: &[u8]) -> Option<Repository> {
        let entry = self.open(dir).and_then(|top| {
            let stat = top.stat_child(c".git")?;
            Ok(GitEntry::of(&stat, || read(&top, c".git", MAX_LINK_BYTES)))
        });
        let git_dir = match entry {
            Err(e) if is_missing(&e) => return None,
            Ok(GitEntry::Dir) => Some(joined(dir, b".git")),
            Ok(GitEntry::File(path)) => self.inside(dir, &path),
            Ok(GitEntry::Unknown) | Err(_) => None,
        };
        let git_dir = git_dir.map(GitDir::Relative);
        Some(Repository { top_len: dir.len(), target: Vec::new(), git_dir })
    }

    /// Returns the repositories whose working trees contain the target.
    fn around_target(&self) -> Rc<[Rc<Repository>]> {
        let path = Path::new(OsStr::from_bytes(self.target_path));
        let repository = |top: &Path| {
            let git = top.join(".git");
            // The directory need not be readable for the user.
            let entry = Stat::of_path(&git).map(|stat| {
                GitEntry::of(&stat, || read(&Dir::open(top)?, c".git", MAX_LINK_BYTES))
            });
            let git_dir = match entry {
                Err(e) if is_missing(&e) => return None,
                Ok(GitEntry::Dir) => Some(git),
                // A relative path is relative to the working tree.
                Ok(GitEntry::File(path)) => Some(top.join(OsStr::from_bytes(&path))),
                Ok(GitEntry::Unknown) | Err(_) => None,
            };
            let git_dir = git_dir.map(GitDir::Absolute);
            let target = path.strip_prefix(top).ok()?.as_os_str().as_bytes().to_vec();
            Some(Rc::new(Repository { top_len: 0, target, git_dir }))
        };
        path.ancestors().skip(1).filter_map(repository).collect()
    }

    /// Returns the path relative to the target of a path in a `.git` file of `dir`. Returns `None`
    /// if it leads out of the target, or may lead through a link and back.
    fn inside(&self, dir: &[u8], path: &[u8]) -> Option<Vec<u8>> {
        let (mut inside, path) = if path.starts_with(b"/") {
            let rest = path.strip_prefix(self.target_path)?;
            (Vec::new(), rest.starts_with(b"/").then_some(rest)?)
        } else {
            (dir.to_vec(), path)
        };
        let mut has_name = false;
        for name in path.split(|&byte| byte == b'/') {
            match name {
                b"" | b"." => {}
                b".." if inside.is_empty() || has_name => return None,
                b".." => inside.truncate(split_path(&inside).0.len()),
                name => {
                    walk::push_component(&mut inside, name);
                    has_name = true;
                }
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
    /// Something else, or a file that cannot be read.
    Unknown,
}

impl GitEntry {
    /// Returns the entry with this metadata. `read` reads the file.
    fn of(stat: &Stat, read: impl FnOnce() -> io::Result<Vec<u8>>) -> GitEntry {
        match stat.kind {
            Kind::Dir => return GitEntry::Dir,
            Kind::File => {}
            _ => return GitEntry::Unknown,
        }
        let text = read().unwrap_or_default();
        match text.strip_prefix(b"gitdir: ").map(<[u8]>::trim_ascii_end) {
            Some(path) if !path.is_empty() => GitEntry::File(path.to_vec()),
            _ => GitEntry::Unknown,
        }
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// Reads the tracked names of a repository. Returns `None` if they cannot be read.
fn read_names(git: &Dir) -> Option<Names> {
    // git writes a new index under this name, for example while it makes a clone.
    if !git.stat_child(c"index.lock").is_err_and(|e| is_missing(&e)) {
        return None;
    }
    match read(git, c"index", MAX_INDEX_BYTES) {
        Ok(index) => Names::parse(&index),
        // In a new repository, nothing is tracked yet.
        Err(e) if is_missing(&e) && git.stat_child(c"HEAD").is_ok() => Some(Names::default()),
        Err(_) => None,
    }
}

fn read(dir: &Dir, name: &CStr, most: u64) -> io::Result<Vec<u8>> {
    let file = dir.open_regular(name)?;
    let Stat { size, .. } = file.stat()?;
    let length = usize::try_from(size).ok().filter(|_| size <= most);
    let mut bytes = vec![0; length.ok_or(ErrorKind::FileTooLarge)?];
    let is_whole = file.read_at(&mut bytes, 0)? == bytes.len();
    if is_whole { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

/// Appends a relative path to a directory, which may be empty.
fn joined(dir: &[u8], path: &[u8]) -> Vec<u8> {
    let mut joined = dir.to_vec();
    walk::push_component(&mut joined, path);
    joined
}
