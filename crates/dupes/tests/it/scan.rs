//! Runs the engine the way the program does, and checks the invariants of every result.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use content::{Digest, Fingerprints};
use device::{Disks, Io, Threads};
use dupes::{ContentKeys, Found, Group, InlineReader, Set, find};
use runtime::{Interrupted, Progress};
use testkit::{Groups, TempTree};
use walk::{FileId, Filter, Opener, Problem, Tree, walk};

/// The digests of files up to this size are computed again from all their bytes.
const CHECKED_SIZE: u64 = 16 << 20;

/// The options of a scan.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) walk: walk::Options,
    pub(crate) find: dupes::Options,
    /// True if files are read during the walk.
    pub(crate) inline_reads: bool,
    /// True if content keys decide whether small files are equal.
    pub(crate) keys: bool,
}

/// Returns the default setup: two threads, and a limit that allows all compared files to be open at
/// once.
pub(crate) fn setup() -> Setup {
    Setup {
        walk: walk::Options {
            filter: Filter::default(),
            one_file_system: false,
            threads: Threads { first: 2, grows: true },
            disks: Arc::default(),
            open_dirs: 16,
            root_timeout: std::time::Duration::from_secs(60),
            changes: None,
            own: walk::OwnFiles::default(),
        },
        find: dupes::Options {
            threads: Threads { first: 2, grows: true },
            disks: Arc::default(),
            open_dirs: 16,
            open_files: 32,
            digests: true,
            hardlinks: false,
        },
        inline_reads: false,
        keys: true,
    }
}

impl Setup {
    pub(crate) fn threads(mut self, threads: usize) -> Setup {
        (self.walk.threads.first, self.find.threads.first) = (threads, threads);
        self
    }

    pub(crate) fn open_dirs(mut self, open_dirs: usize) -> Setup {
        (self.walk.open_dirs, self.find.open_dirs) = (open_dirs, open_dirs);
        self
    }

    pub(crate) fn open_files(mut self, open_files: usize) -> Setup {
        self.find.open_files = open_files;
        self
    }

    pub(crate) fn hardlinks(mut self, hardlinks: bool) -> Setup {
        self.find.hardlinks = hardlinks;
        self
    }

    pub(crate) fn empty(mut self, empty: bool) -> Setup {
        self.walk.filter.empty = empty;
        self
    }

    pub(crate) fn inline_reads(mut self, inline_reads: bool) -> Setup {
        self.inline_reads = inline_reads;
        self
    }

    pub(crate) fn keys(mut self, keys: bool) -> Setup {
        self.keys = keys;
        self
    }

    fn new_keys(&self) -> Option<ContentKeys> {
        self.keys.then(|| ContentKeys::new(self.find.digests))
    }

    /// Walks the roots. Tests can make changes between the walk and the search.
    pub(crate) fn walk<P: AsRef<Path>>(&self, roots: &[P]) -> Walked {
        let roots: Vec<PathBuf> = roots.iter().map(|r| r.as_ref().to_path_buf()).collect();
        let progress = Progress::default();
        let mut keys = self.new_keys();
        let reader = self.inline_reads.then(|| InlineReader::new(keys.as_ref(), &progress));
        let visitor = reader.as_ref().map(|reader| reader as &dyn walk::Visitor);
        let mut tree = walk(&roots, &self.walk, visitor, &progress).expect("not stopped");
        let fingerprints = Fingerprints::new(tree.files().len());
        InlineReader::collect(&mut tree, &fingerprints, &mut keys);
        Walked { tree, fingerprints, keys }
    }

    pub(crate) fn io(mut self, io: Io) -> Setup {
        let disks = Arc::new(Disks::new(io));
        (self.walk.disks, self.find.disks) = (Arc::clone(&disks), disks);
        self
    }

    /// Walks the roots and finds the groups.
    pub(crate) fn scan_once<P: AsRef<Path>>(&self, roots: &[P]) -> Scan {
        self.walk(roots).find(self)
    }

    /// Walks the roots and finds the groups, once for each kind of disk, with and without content
    /// keys. Asserts that the results are the same.
    pub(crate) fn scan<P: AsRef<Path>>(&self, roots: &[P]) -> Scan {
        let scan = self.scan_once(roots);
        for (io, keys) in [(Io::Hdd, true), (Io::Ssd, true), (Io::Ssd, false), (Io::Auto, false)] {
            let setup = self.clone().io(io).keys(keys);
            let other = setup.scan_once(roots);
            assert_eq!(scan.listed(), other.listed(), "{io:?}, {keys}");
            assert_eq!(scan.problems(), other.problems(), "{io:?}, {keys}");
        }
        scan
    }
}

/// A tree that was walked, and what is known about its files.
pub(crate) struct Walked {
    pub(crate) tree: Tree,
    pub(crate) fingerprints: Fingerprints,
    /// The content keys that were computed during the walk.
    pub(crate) keys: Option<ContentKeys>,
}

impl Walked {
    pub(crate) fn new(tree: Tree, fingerprints: Fingerprints) -> Walked {
        Walked { tree, fingerprints, keys: None }
    }

    /// Finds the groups.
    pub(crate) fn find(self, setup: &Setup) -> Scan {
        self.try_find(setup, Arc::default()).ok().expect("not stopped")
    }

    /// Finds the groups. If `progress` was stopped, returns `self` with what was found before the
    /// stop.
    pub(crate) fn try_find(
        self,
        setup: &Setup,
        progress: Arc<Progress>,
    ) -> Result<Scan, Box<Walked>> {
        let Walked { tree, fingerprints, keys } = self;
        let keys = keys.or_else(|| setup.new_keys());
        match find(&tree, &fingerprints, keys, &setup.find, &progress) {
            Ok(mut found) => {
                found.sort(&tree, &progress);
                let scan = Scan { tree, fingerprints, found, progress };
                scan.check(setup);
                Ok(scan)
            }
            Err(Interrupted) => Err(Box::new(Walked::new(tree, fingerprints))),
        }
    }

    /// Returns the file at `path`. The path starts with the root as it was passed to the walk.
    pub(crate) fn file(&self, path: &Path) -> FileId {
        file_at(&self.tree, path)
    }
}

fn file_at(tree: &Tree, path: &Path) -> FileId {
    use std::os::unix::ffi::OsStrExt;
    ids(tree).find(|&id| tree.path(id) == path.as_os_str().as_bytes()).expect("a file of the walk")
}

/// Returns a temporary directory in memory, if possible. Creating thousands of directories on disk
/// takes long, and other tests cover file systems on disk.
pub(crate) fn in_memory() -> TempTree {
    let shared = Path::new("/dev/shm");
    if shared.is_dir() { TempTree::new_in(shared) } else { TempTree::new() }
}

/// Returns the ids of all files.
pub(crate) fn ids(tree: &Tree) -> impl Iterator<Item = FileId> {
    (0u32..).map(FileId).take(tree.files().len())
}

/// The result of a scan.
pub(crate) struct Scan {
    pub(crate) tree: Tree,
    pub(crate) fingerprints: Fingerprints,
    pub(crate) found: Found,
    pub(crate) progress: Arc<Progress>,
}

impl Scan {
    /// Returns the groups. Paths start with the root as it was passed to the walk.
    pub(crate) fn groups(&self) -> Groups {
        self.found.groups.iter().map(|g| self.paths(g.files).into_iter().collect()).collect()
    }

    /// Returns the groups, with absolute paths.
    pub(crate) fn absolute_groups(&self) -> Groups {
        let path = |&id: &FileId| self.tree.absolute_path(id);
        self.found.groups.iter().map(|g| g.files.iter().map(path).collect()).collect()
    }

    /// Returns the size, reclaimable bytes, digest and paths of each group, in the order found.
    pub(crate) fn listed(&self) -> Vec<(u64, u64, Option<Digest>, Vec<String>)> {
        let path = |p: Vec<u8>| p.escape_ascii().to_string();
        let paths = |g: Set<'_, Group>| self.paths(g.files).into_iter().map(path).collect();
        let line = |g: Set<'_, Group>| (g.size, g.reclaimable, g.digest, paths(g));
        self.found.groups.iter().map(line).collect()
    }

    /// Returns the paths of files that could not be examined, with the reasons.
    pub(crate) fn problems(&self) -> BTreeMap<Vec<u8>, String> {
        let of = |problems: &[Problem]| {
            problems.iter().map(|p| (p.path.clone(), p.reason.to_string())).collect::<Vec<_>>()
        };
        let all = [of(&self.tree.problems), of(&self.found.problems)].concat();
        let count = all.len();
        let map: BTreeMap<_, _> = all.into_iter().collect();
        assert_eq!(map.len(), count, "something is reported twice");
        map
    }

    /// Returns the only group.
    pub(crate) fn only_group(&self) -> Set<'_, Group> {
        assert_eq!(self.found.groups.len(), 1, "{:?}", self.groups());
        self.found.groups.get(0)
    }

    /// Returns the number of files that were opened for reading.
    pub(crate) fn opened(&self) -> u64 {
        self.progress.opened.load(Relaxed)
    }

    /// Returns the number of bytes that were read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.progress.bytes_read.load(Relaxed)
    }

    /// Finds the groups again with the fingerprints of this scan.
    pub(crate) fn again(self, setup: &Setup) -> Scan {
        Walked::new(self.tree, self.fingerprints).find(setup)
    }

    fn paths(&self, files: &[FileId]) -> Vec<Vec<u8>> {
        files.iter().map(|&f| self.tree.path(f)).collect()
    }

    /// Checks the invariants that hold for every result, even if its groups are wrong.
    fn check(&self, setup: &Setup) {
        let mut in_groups = BTreeSet::new();
        let mut opener = Opener::new(&self.tree, 4);
        for group in self.found.groups.iter() {
            let paths = self.paths(group.files);
            assert!(paths.len() > 1 && paths.is_sorted(), "{group:?}");
            let keys: BTreeSet<_> = group.files.iter().map(|&f| self.tree.key(f)).collect();
            assert_eq!(keys.len(), group.inodes as usize, "{group:?}");
            assert!(setup.find.hardlinks || keys.len() == group.files.len(), "{group:?}");
            assert!(group.files.iter().all(|&f| self.tree.file(f).size == group.size));
            let whole = group.size.next_multiple_of(4096);
            assert!(group.reclaimable <= whole.saturating_mul(keys.len() as u64 - 1));
            assert!(paths.into_iter().all(|path| in_groups.insert(path)), "a file in two groups");
            if setup.find.digests {
                check_digest(&group, &mut opener);
            }
        }
        let order =
            |g: Set<'_, Group>| (std::cmp::Reverse(g.reclaimable), self.tree.path(g.files[0]));
        assert!(self.found.groups.iter().map(order).is_sorted());
        assert!(self.found.problems.is_sorted_by_key(|p| &p.path));
        assert!(self.found.problems.iter().all(|p| !in_groups.contains(&p.path)));
        assert!(self.found.known <= self.found.candidates);
    }
}

/// Compares the digest of a group with the bytes of its last file.
fn check_digest(group: &Set<'_, Group>, opener: &mut Opener<'_>) {
    let Some(digest) = group.digest else {
        assert!(group.inodes == 1 || group.size > 1 << 30, "no digest of {group:?}");
        return;
    };
    if group.size > CHECKED_SIZE {
        return;
    }
    let last = *group.files.last().expect("a group has files");
    let file = opener.open(last).expect("a file of a group can be opened");
    let mut bytes = vec![0; usize::try_from(group.size).expect("a checked size is small")];
    assert_eq!(file.read_at(&mut bytes, 0).expect("readable"), bytes.len());
    assert_eq!(digest.0, *blake3::hash(&bytes).as_bytes());
}
