//! Helpers that walk trees and check the invariants of the result.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use device::{Disks, Io, Threads};
use fsops::FileKey;
use runtime::Progress;
use testkit::{PathBytes, TempTree};
use walk::{DirId, FileId, Filter, Options, Tree, walk};

/// Returns the options that most tests use.
pub(crate) fn options() -> Options {
    Options {
        filter: filter(|f| f.empty = true),
        one_file_system: false,
        threads: Threads { first: 2, grows: true },
        disks: Arc::default(),
        open_dirs: 8,
        root_timeout: std::time::Duration::from_secs(60),
        changes: None,
        own: walk::OwnFiles::default(),
    }
}

/// Returns disks that are classified as `io` without a probe.
pub(crate) fn disks(io: Io) -> Arc<Disks> {
    Arc::new(Disks::new(io))
}

/// Returns a worker pool that starts with `first` threads and grows while its threads wait.
pub(crate) fn workers(first: usize) -> Threads {
    Threads { first, grows: true }
}

/// Creates a temporary directory in memory if possible. Creating thousands of directories on a disk
/// takes too long, and other tests cover file systems on disks.
pub(crate) fn in_memory() -> TempTree {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { TempTree::new_in(shared) } else { TempTree::new() }
}

/// Returns the default filter, changed by `set`.
pub(crate) fn filter(set: impl FnOnce(&mut Filter)) -> Filter {
    let mut filter = Filter::default();
    set(&mut filter);
    filter
}

/// Walks the roots once for each kind of disk. Checks the resulting trees, and that all of them
/// contain the same files.
pub(crate) fn found_with<P: AsRef<Path>>(roots: &[P], options: &Options) -> Tree {
    let trees = [Io::Auto, Io::Hdd, Io::Ssd]
        .map(|io| found_once(roots, &Options { disks: disks(io), ..options.clone() }));
    let [auto, others @ ..] = trees;
    for other in &others {
        assert!(actual(&auto) == actual(other), "the files depend on the kind of disk");
        assert_eq!(problems(&auto), problems(other));
        assert_eq!(auto.skipped, other.skipped);
    }
    auto
}

/// Walks the roots once and checks the tree.
pub(crate) fn found_once<P: AsRef<Path>>(roots: &[P], options: &Options) -> Tree {
    let roots: Vec<PathBuf> = roots.iter().map(|r| r.as_ref().to_path_buf()).collect();
    let tree = walk(&roots, options, None, &Progress::default()).expect("not stopped");
    check(&tree);
    tree
}

/// Walks one root with the options that most tests use.
pub(crate) fn found(root: impl AsRef<Path>) -> Tree {
    found_with(&[root], &options())
}

/// Returns the IDs of all files.
pub(crate) fn ids(tree: &Tree) -> impl Iterator<Item = FileId> {
    (0u32..).map(FileId).take(tree.files().len())
}

/// Returns the printed paths of all files.
pub(crate) fn paths(tree: &Tree) -> BTreeSet<Vec<u8>> {
    ids(tree).map(|id| tree.path(id)).collect()
}

/// Returns the paths of all files relative to `root`.
pub(crate) fn names(root: impl AsRef<Path>, tree: &Tree) -> BTreeSet<String> {
    let prefix = [root.as_ref().path_bytes(), b"/"].concat();
    let below = |path: Vec<u8>| {
        let name = path.strip_prefix(&prefix[..]).expect("a path below the root");
        name.escape_ascii().to_string()
    };
    paths(tree).into_iter().map(below).collect()
}

/// Returns the reasons why entries could not be examined, by path.
pub(crate) fn problems(tree: &Tree) -> BTreeMap<Vec<u8>, String> {
    tree.problems.iter().map(|p| (p.path.clone(), p.reason.to_string())).collect()
}

/// Returns the size and identity of each regular file below a directory, as found with `std`.
pub(crate) fn expected(root: &Path) -> BTreeMap<Vec<u8>, (u64, FileKey)> {
    let (mut files, mut dirs) = (BTreeMap::new(), vec![root.to_path_buf()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("metadata");
            if metadata.is_dir() {
                dirs.push(path);
            } else if metadata.is_file() {
                let what = (metadata.len(), key(&metadata));
                files.insert(path.path_bytes().to_vec(), what);
            }
        }
    }
    files
}

fn key(metadata: &fs::Metadata) -> FileKey {
    let (major, minor) = (rustix::fs::major(metadata.dev()), rustix::fs::minor(metadata.dev()));
    FileKey { device: u64::from(major) << 32 | u64::from(minor), inode: metadata.ino() }
}

/// Returns the size and identity of each file of a tree, for comparison with [`expected`].
pub(crate) fn actual(tree: &Tree) -> BTreeMap<Vec<u8>, (u64, FileKey)> {
    ids(tree).map(|id| (tree.path(id), (tree.file(id).size, tree.key(id)))).collect()
}

/// Checks that the tables of a tree are consistent.
fn check(tree: &Tree) {
    let mut seen = BTreeSet::new();
    for (dir, number) in tree.dirs().iter().zip(0u32..) {
        let id = DirId(number);
        assert!(dir.parent.is_none_or(|parent| parent < id), "a parent comes after its child");
        assert_eq!(dir.parent.is_none(), tree.dir_name(id).is_none());
        for file in tree.files_in(id).map(FileId) {
            assert_eq!(tree.file(file).dir, id);
            assert!(seen.insert(file), "a file in two directories");
            let parent = [tree.dir_path(id), tree.name(file).to_bytes().to_vec()];
            let path = tree.path(file);
            assert!(path.starts_with(&parent[0]) && path.ends_with(&parent[1]));
        }
    }
    assert_eq!(seen.len(), tree.files().len(), "a file in no directory");
    assert_eq!(paths(tree).len(), tree.files().len(), "a path found twice");
    assert!(tree.problems.is_sorted_by_key(|p| &p.path));
    for root in tree.roots() {
        assert!(tree.dirs().len() > root.dir.0 as usize);
        assert!(root.absolute.starts_with(b"/"));
    }
}

/// Converts an absolute path to one relative to the working directory.
pub(crate) fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().expect("a working directory");
    let mut relative: PathBuf = here.components().skip(1).map(|_| "..").collect();
    relative.push(path.strip_prefix("/").expect("an absolute path"));
    relative
}
