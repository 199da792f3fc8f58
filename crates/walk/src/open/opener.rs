//! Opens files by number and keeps recently used directories open.

use std::io;

use fsops::{Dir, File, Stat};

use crate::open::dir_slots::DirSlots;
use crate::tree::Tree;
use crate::tree::records::{DirId, FileId, push_component, to_path};

/// Opens files of a [`Tree`] relative to open directories. Each thread has its own.
#[derive(Debug)]
pub struct Opener<'a> {
    tree: &'a Tree,
    open: DirSlots,
    /// The most recently used root. Directories are opened relative to this root if no other
    /// ancestor is open.
    root: Option<(DirId, Dir)>,
}

impl<'a> Opener<'a> {
    /// Returns an opener that keeps one root and at most `open_dirs` other directories open.
    pub fn new(tree: &'a Tree, open_dirs: usize) -> Opener<'a> {
        Opener { tree, open: DirSlots::new(open_dirs), root: None }
    }

    /// Opens a file for reading. The caller must compare its metadata, because the file may have
    /// been replaced since the walk.
    ///
    /// # Errors
    ///
    /// Fails if the file or one of its ancestors cannot be opened.
    pub fn open(&mut self, file: FileId) -> io::Result<File> {
        match self.try_open(file) {
            // The process has no free descriptors. Close the cached directories and try again.
            Err(e) if e.raw_os_error() == Some(EMFILE) => {
                self.open.clear();
                self.root = None;
                self.try_open(file)
            }
            result => result,
        }
    }

    /// Returns the current metadata of the entry at the path of a file.
    ///
    /// # Errors
    ///
    /// Fails if an ancestor cannot be opened, or if the entry does not exist.
    pub fn stat(&mut self, file: FileId) -> io::Result<Stat> {
        let tree = self.tree;
        self.dir(tree.file(file).dir)?.stat_child(tree.name(file))
    }

    fn try_open(&mut self, file: FileId) -> io::Result<File> {
        let tree = self.tree;
        self.dir(tree.file(file).dir)?.open_file(tree.name(file))
    }

    /// Returns a directory, opening it if necessary.
    ///
    /// # Errors
    ///
    /// Fails if the directory or one of its ancestors cannot be opened.
    pub fn dir(&mut self, id: DirId) -> io::Result<&Dir> {
        if self.open.get(id).is_none() {
            let dir = self.open_dir(id)?;
            self.open.put(id, dir);
        }
        self.open.get(id).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Opens a directory from its nearest open ancestor, or from its root.
    fn open_dir(&mut self, id: DirId) -> io::Result<Dir> {
        let mut chain = Vec::new();
        let mut at = id;
        while let Some(parent) = self.tree.dir(at).parent {
            chain.push(at);
            at = parent;
            if let Some(dir) = self.open.get(at) {
                return dir.open_below(&self.join(&chain));
            }
        }
        if chain.is_empty() {
            return self.open_root(at);
        }
        let below = self.join(&chain);
        let root = match self.root.take() {
            Some(known) if known.0 == at => known,
            _ => (at, self.open_root(at)?),
        };
        self.root.insert(root).1.open_below(&below)
    }

    fn open_root(&self, id: DirId) -> io::Result<Dir> {
        let given = &self.tree.root_of(id).given;
        Dir::open(&to_path(if given.is_empty() { b".".to_vec() } else { given.clone() }))
    }

    fn join(&self, chain: &[DirId]) -> Vec<u8> {
        let mut path = Vec::new();
        for &dir in chain.iter().rev() {
            push_component(&mut path, self.tree.dir_name(dir).unwrap_or_default().to_bytes());
        }
        path
    }
}

/// `EMFILE`, errno 24 on every Linux architecture.
const EMFILE: i32 = 24;
