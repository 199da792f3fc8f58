//! A catalog with files that do not exist, in directories that do.
//!
//! The index needs existing directories to tell which disks are mounted. It never opens files, so
//! files need no contents.

use std::collections::{BTreeMap, HashMap};
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use catalog::{Catalog, Choice, CopyCount, FileState, Mark, Marker, ScanRecord, TreeMatch, Writer};
use content::{Digest, head_of};
use fsops::Dir;
use review::{Decider, Review};
use testkit::TempTree;
use walk::{DirId, FileId, Remembered, Tree};

/// The time from which the ages of files are counted.
pub(crate) const NOW_NS: i64 = 2_000_000_000_000_000_000;
/// A day in nanoseconds.
pub(crate) const DAY: i64 = 86_400_000_000_000;
/// The reclaimable bytes of a file.
pub(crate) const BLOCK: u64 = 4096;

/// A file of the catalog. Files with the same letter are identical.
#[derive(Clone, Debug)]
pub(crate) struct Copy {
    pub(crate) path: String,
    pub(crate) letter: u8,
    pub(crate) size: u64,
    pub(crate) inode: u64,
    pub(crate) mtime_ns: i64,
}

/// Files that are identical to each other, given by path. The letter also determines their size.
pub(crate) fn copies(letter: u8, paths: &[&str]) -> Vec<Copy> {
    let file = |path: &&str| Copy {
        path: (*path).into(),
        letter,
        size: 1000 * u64::from(letter),
        inode: 0,
        mtime_ns: NOW_NS - DAY,
    };
    paths.iter().map(file).collect()
}

/// A folder for files, and a catalog of them. A path that starts with `//` is not below the folder.
pub(crate) struct Shelf {
    tree: TempTree,
    state: TempTree,
}

impl Shelf {
    /// Makes a catalog of files.
    pub(crate) fn new(files: &[Vec<Copy>]) -> Shelf {
        let shelf = Shelf { tree: TempTree::new(), state: TempTree::new() };
        shelf.scan(files);
        shelf
    }

    pub(crate) fn catalog_path(&self) -> PathBuf {
        self.state.join("lop.db")
    }

    pub(crate) fn catalog(&self) -> Catalog {
        Catalog::open(&self.catalog_path()).expect("opens")
    }

    pub(crate) fn decider(&self) -> Decider {
        Decider::open(&self.catalog_path()).expect("opens")
    }

    pub(crate) fn review(&self) -> Review {
        Review::load(&self.catalog(), NOW_NS).expect("loads")
    }

    /// Returns the absolute path of a file.
    pub(crate) fn path(&self, path: &str) -> Vec<u8> {
        let path = path.strip_prefix('/').map_or_else(
            || self.tree.join(path.to_string()),
            |absolute| Path::new(absolute).to_path_buf(),
        );
        path.into_os_string().into_encoded_bytes()
    }

    pub(crate) fn paths(&self, paths: &[&str]) -> Vec<Vec<u8>> {
        paths.iter().map(|path| self.path(path)).collect()
    }

    /// Returns the choice to keep some of the files that are in groups now.
    pub(crate) fn keep_files(&self, keep: &[&str]) -> Choice {
        let (keep, review) = (self.paths(keep), self.review());
        let all = (0..review.index().len()).flat_map(|at| review.index().members(at));
        let others = all.map(|member| member.path).filter(|path| !keep.contains(path)).collect();
        Choice::Files { keep, others }
    }

    /// Returns a path below the folder as text, and other paths with an additional slash.
    pub(crate) fn short(&self, path: &[u8]) -> String {
        let top = self.path("");
        let top = top.strip_suffix(b"/").unwrap_or(&top);
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match path.strip_prefix(top) {
            Some(below) => text(below.strip_prefix(b"/").unwrap_or(below)),
            None => format!("/{}", text(path)),
        }
    }

    /// Commits the files as a scan would.
    pub(crate) fn scan(&self, files: &[Vec<Copy>]) {
        let writer = Writer::open(&self.catalog_path(), |_| ()).expect("opens");
        let (mut tree, letters) = self.tree_of(files);
        let found = if writer.is_new() {
            TreeMatch::empty(&tree)
        } else {
            writer.catalog().match_tree(&mut tree, false).expect("matches")
        };
        let facts = &found.fingerprints;
        let mut contents: BTreeMap<u8, Vec<FileId>> = BTreeMap::new();
        for (file, letter) in (0..).map(FileId).zip(letters) {
            facts.set_head(file.0, head_of(&[letter]));
            contents.entry(letter).or_default().push(file);
        }
        let count = |(letter, files): (u8, Vec<FileId>)| {
            let known = files.iter().find_map(|file| facts.content(file.0));
            let content = known.unwrap_or_else(|| facts.new_content(Some(Digest::of(&[letter]))));
            for file in &files {
                facts.set_content(file.0, content);
            }
            let mut inodes: Vec<u64> = files.iter().map(|file| tree.file(*file).inode).collect();
            inodes.sort_unstable();
            inodes.dedup();
            let reclaimable = BLOCK * (inodes.len() as u64 - 1);
            CopyCount { content, inodes: u32::try_from(inodes.len()).expect("few"), reclaimable }
        };
        let counts: Vec<CopyCount> = contents.into_iter().map(count).collect();
        let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
        let started_ms = i64::try_from(started.as_millis()).expect("small");
        let options = String::new();
        let record = ScanRecord {
            started_ms,
            finished_ms: started_ms,
            options,
            files: 1,
            bytes: 1,
            position: None,
        };
        writer.commit(&tree, found, counts.into_iter(), &[], &record, &[]).expect("commits");
    }

    /// Marks a file in the catalog.
    pub(crate) fn mark(&self, path: &str, state: FileState) {
        let loaded = self.catalog().load(catalog::Rows::All).expect("loads");
        let path = self.path(path);
        let mut files = (0..).map(FileId).take(loaded.tree.files().len());
        let file = files.find(|file| loaded.tree.absolute_path(*file) == path).expect("exists");
        let marker = Marker::open(&self.catalog_path()).expect("opens");
        let marks = [Mark::of(&loaded.tree, file, state)];
        assert!(marker.mark(&marks).expect("marks") > 0);
    }

    /// Removes a directory, so that its files are gone.
    pub(crate) fn remove_dir(&self, path: &str) {
        fs::remove_dir(self.tree.join(path.to_string())).expect("removed");
    }

    /// Returns a tree of the files, and the letter of each file. Creates the directories.
    fn tree_of(&self, files: &[Vec<Copy>]) -> (Tree, Vec<u8>) {
        let mut by_dir: BTreeMap<Vec<u8>, Vec<(Vec<u8>, &Copy)>> = BTreeMap::new();
        for file in files.iter().flatten() {
            let path = self.path(&file.path);
            let (dir, name) = walk::split_path(&path);
            by_dir.entry(dir.to_vec()).or_default().push((name.to_vec(), file));
        }
        let (mut tree, mut letters) = (Tree::default(), Vec::new());
        let mut ids = HashMap::from([(Vec::new(), tree.remember_root())]);
        for (dir, mut files) in by_dir {
            let place = PathBuf::from(String::from_utf8(dir.clone()).expect("text")).join("");
            let place = if dir.is_empty() { PathBuf::from("/") } else { place };
            fs::create_dir_all(&place).expect("made");
            let id = dir_of(&mut tree, &mut ids, &dir);
            let open = Dir::open(&place).expect("opens");
            let key = open.stat().expect("metadata").key();
            tree.place_dir(id, Some((key, open.volume().expect("a volume"))));
            files.sort();
            for (name, file) in files {
                let inode = if file.inode == 0 { number(&file.path) } else { file.inode };
                let (size, mtime_ns) = (file.size, file.mtime_ns);
                let file_record = Remembered { size, inode, mtime_ns, ctime_ns: 1_000_000_009 };
                tree.remember_file(id, &CString::new(name).expect("no NUL"), file_record);
                letters.push(file.letter);
            }
        }
        (tree, letters)
    }
}

/// Returns an inode number that depends only on the path.
fn number(path: &str) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    std::hash::Hash::hash(path, &mut hasher);
    std::hash::Hasher::finish(&hasher) >> 16 | 1 << 40
}

fn dir_of(tree: &mut Tree, ids: &mut HashMap<Vec<u8>, DirId>, path: &[u8]) -> DirId {
    if let Some(&id) = ids.get(path) {
        return id;
    }
    let (above, name) = walk::split_path(path);
    let above = dir_of(tree, ids, above);
    let id = tree.remember_dir(above, &CString::new(name).expect("no NUL"));
    ids.insert(path.to_vec(), id);
    id
}

impl PartialEq for Copy {
    fn eq(&self, other: &Copy) -> bool {
        self.path == other.path
    }
}

impl Eq for Copy {}

impl PartialOrd for Copy {
    fn partial_cmp(&self, other: &Copy) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Copy {
    fn cmp(&self, other: &Copy) -> std::cmp::Ordering {
        self.path.cmp(&other.path)
    }
}
