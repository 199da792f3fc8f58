//! Small synthetic catalogs, with an oracle that answers every question by checking all files.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;

use content::{ContentId, Fingerprints};
use dupes::{Folders, Related, Relation, RememberedTree, State};
use fsops::{FileKey, Volume};
use runtime::Progress;
use walk::{DirId, FileId, Tree};

/// A file as described in the catalog.
#[derive(Clone, Debug)]
pub(crate) struct ModelFile {
    /// The directories above the file, one letter each.
    pub(crate) dir: String,
    pub(crate) name: String,
    /// The content of the file; `None` for a file with a unique size.
    pub(crate) content: Option<u8>,
    /// The number of the file's inode among the files with the same content; 0 for an inode that no
    /// other file has.
    pub(crate) inode: u8,
    pub(crate) state: State,
}

pub(crate) fn known(dir: &str, name: &str, content: u8) -> ModelFile {
    ModelFile {
        dir: dir.into(),
        name: name.into(),
        content: Some(content),
        inode: 0,
        state: State::Same,
    }
}

/// Returns the size of files with the given content.
pub(crate) fn size(content: Option<u8>) -> u64 {
    content.map_or(64, |content| 10 + u64::from(content) * 7)
}

/// A catalog, and the tree and fingerprints built from it.
pub(crate) struct World {
    pub(crate) files: Vec<ModelFile>,
    pub(crate) tree: Tree,
    pub(crate) fingerprints: Fingerprints,
    /// The paths of directories with untracked entries.
    pub(crate) untracked: BTreeSet<String>,
}

impl World {
    pub(crate) fn new(mut files: Vec<ModelFile>, untracked: &[&str]) -> World {
        files.sort_by(|a, b| (&a.dir, &a.name).cmp(&(&b.dir, &b.name)));
        files.dedup_by(|a, b| (&a.dir, &a.name) == (&b.dir, &b.name));
        // Each file with inode 0 or without a known content gets an inode of its own.
        for (at, file) in files.iter_mut().enumerate() {
            if file.inode == 0 || file.content.is_none() {
                file.inode = 100 + u8::try_from(at).expect("a small tree");
            }
        }
        let (mut tree, mut fingerprints) = (Tree::default(), Fingerprints::new(0));
        let mut dirs = BTreeMap::from([(String::new(), tree.remember_root())]);
        let contents: Vec<ContentId> =
            (0..=u8::MAX).map(|_| fingerprints.new_content(None)).collect();
        for file in &files {
            for end in 1..=file.dir.len() {
                let (above, name) = (&file.dir[..end - 1], &file.dir[end - 1..end]);
                if !dirs.contains_key(&file.dir[..end]) {
                    let name = CString::new(name).expect("no NUL");
                    let id = tree.remember_dir(dirs[above], &name);
                    dirs.insert(file.dir[..end].into(), id);
                }
            }
        }
        for same in files.chunk_by(|a, b| a.dir == b.dir) {
            let dir = dirs[&same[0].dir];
            let key = FileKey { device: 1, inode: 1000 + u64::from(dir.0) };
            tree.place_dir(dir, Some((key, Volume { fsid: 1, magic: 1 })));
            for file in same {
                let inode = u64::from(file.inode) * 256 + u64::from(file.content.unwrap_or(0));
                let size = size(file.content);
                let record = walk::Remembered { size, inode, mtime_ns: 0, ctime_ns: 0 };
                let name = CString::new(file.name.as_str()).expect("no NUL");
                let id = tree.remember_file(dir, &name, record);
                fingerprints.grow(id.0 as usize + 1);
                if let Some(content) = file.content {
                    fingerprints.set_content(id.0, contents[usize::from(content)]);
                }
            }
        }
        let untracked = untracked.iter().filter(|dir| dirs.contains_key(**dir));
        let untracked = untracked.map(ToString::to_string).collect();
        World { files, tree, fingerprints, untracked }
    }

    pub(crate) fn path(&self, dir: DirId) -> String {
        String::from_utf8(self.tree.dir_path(dir)).expect("letters").replace('/', "")
    }

    pub(crate) fn ask<T>(&self, then: impl FnOnce(&Folders<'_>, Vec<Related>) -> T) -> T {
        let states: Vec<State> = (0u32..)
            .zip(self.tree.files())
            .map(|(id, _)| {
                let (dir, name) = (self.tree.file(FileId(id)).dir, self.tree.name(FileId(id)));
                let path = (self.path(dir), name.to_str().expect("letters").to_string());
                let file = self.files.iter().find(|f| (&f.dir, &f.name) == (&path.0, &path.1));
                file.expect("one of them").state
            })
            .collect();
        let mut counts = vec![0; self.tree.dirs().len()];
        for (id, _) in (0u32..).zip(self.tree.dirs()) {
            counts[id as usize] = u32::from(self.untracked.contains(&self.path(DirId(id))));
        }
        let (progress, all) = (Progress::default(), |_: ContentId| u64::MAX);
        let remembered = RememberedTree {
            tree: &self.tree,
            fingerprints: &self.fingerprints,
            states: &states,
            untracked: &counts,
            reclaimable: &all,
        };
        let folders = Folders::new(&remembered, &progress).expect("not stopped");
        let related = folders.related(&progress).expect("not stopped");
        then(&folders, related)
    }

    /// Returns the relations found, as sorted text: `a = b`, `a < b`, `a ~ b`.
    pub(crate) fn relations(&self) -> Vec<String> {
        self.ask(|_, related| {
            let mut relations: Vec<String> = related
                .iter()
                .map(|r| {
                    let paths: Vec<String> = r.folders.iter().map(|f| self.path(f.dir)).collect();
                    paths.join(match r.relation {
                        Relation::Equal => " = ",
                        Relation::Contained => " < ",
                        Relation::Overlapping => " ~ ",
                    })
                })
                .collect();
            relations.sort();
            relations
        })
    }

    // The functions below form the oracle, which answers every question by checking all files.

    pub(crate) fn dirs(&self) -> BTreeSet<String> {
        let ups = |dir: &str| (0..=dir.len()).map(|end| dir[..end].to_string()).collect::<Vec<_>>();
        self.files.iter().flat_map(|file| ups(&file.dir)).collect()
    }

    pub(crate) fn in_dir<'a>(&'a self, dir: &'a str) -> impl Iterator<Item = &'a ModelFile> {
        self.files.iter().filter(move |f| f.dir.starts_with(dir) && f.state == State::Same)
    }

    pub(crate) fn is_whole(&self, dir: &str) -> bool {
        let below = |path: &str| path.starts_with(dir);
        let known = |f: &&ModelFile| below(&f.dir) && !matches!(f.state, State::Same | State::Gone);
        !self.files.iter().any(|f| known(&f)) && !self.untracked.iter().any(|d| below(d))
    }

    /// Returns relative paths with contents. A file without a known content is represented by its
    /// inode instead.
    pub(crate) fn listing(&self, dir: &str) -> BTreeMap<String, (Option<u8>, u8)> {
        let relative = |f: &ModelFile| format!("{}/{}", &f.dir[dir.len()..], f.name);
        let own = |f: &ModelFile| if f.content.is_some() { 0 } else { f.inode };
        self.in_dir(dir).map(|f| (relative(f), (f.content, own(f)))).collect()
    }

    pub(crate) fn copies(&self, content: u8) -> usize {
        self.in_dir("").filter(|f| f.content == Some(content)).count()
    }

    /// Counts the files in `dir`, and their bytes, whose content also occurs in `other` in a file
    /// accepted by `counts`.
    pub(crate) fn shared(
        &self,
        dir: &str,
        other: &str,
        counts: impl Fn(&ModelFile) -> bool,
    ) -> (u64, u64) {
        let there: BTreeSet<u8> =
            self.in_dir(other).filter(|f| counts(f)).filter_map(|f| f.content).collect();
        let shared = self.in_dir(dir).filter(|f| f.content.is_some_and(|c| there.contains(&c)));
        shared.fold((0, 0), |(n, bytes), f| (n + 1, bytes + size(f.content)))
    }

    /// Sums the disk space of the inodes whose names are all among `files`.
    pub(crate) fn frees<'a>(&'a self, files: impl Iterator<Item = &'a ModelFile>) -> u64 {
        let inode = |f: &ModelFile| (f.content, f.inode);
        let mut names: BTreeMap<_, usize> = BTreeMap::new();
        files.for_each(|f| *names.entry(inode(f)).or_default() += 1);
        let all = |key| self.in_dir("").filter(|f| inode(f) == key).count();
        names
            .iter()
            .filter(|(key, n)| all(**key) == **n)
            .map(|(key, _)| walk::usual_allocation(size(key.0)))
            .sum()
    }
}
