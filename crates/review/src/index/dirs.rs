//! The directories of a tree by path.
//!
//! A remembered tree may have several records of one directory, for files on several file systems.
//! All of them have the same *number* here: the number of the first record. Compare numbers, never
//! `DirId`s, to find out whether two files are in the same directory.

use std::cmp::Ordering;
use std::collections::HashMap;

use walk::{DirId, Tree};

/// The number of the root directory.
pub(crate) const ROOT: u32 = 0;

/// The directories of a tree, each with one number.
#[derive(Debug, Default)]
pub(crate) struct Dirs {
    /// The number of each record.
    number: Vec<u32>,
    /// For each number, a number that is the same for directories with the same name.
    name: Vec<u32>,
    /// For each record, its place when the tree is listed. A directory precedes its
    /// subdirectories, and these are sorted by name.
    rank: Vec<u32>,
    /// The numbers of all directories but the root, sorted by parent and name.
    children: Vec<u32>,
}

impl Dirs {
    pub(crate) fn new(tree: &Tree) -> Dirs {
        let mut dirs = Dirs::default();
        let mut names: HashMap<&[u8], u32> = HashMap::new();
        let mut known: HashMap<(u32, u32), u32> = HashMap::new();
        for (id, record) in (0u32..).zip(tree.dirs()) {
            let (mut number, mut name) = (ROOT, u32::MAX);
            if let Some(parent) = record.parent {
                let next = walk::to_u32(names.len());
                name = *names.entry(name_of(tree, id)).or_insert(next);
                let parent = dirs.number[parent.0 as usize];
                number = *known.entry((parent, name)).or_insert(id);
            }
            dirs.number.push(number);
            dirs.name.push(name);
        }
        dirs.children = (1..walk::to_u32(tree.dirs().len()))
            .filter(|&id| dirs.number[id as usize] == id)
            .collect();
        let mut children = std::mem::take(&mut dirs.children);
        children.sort_by(|&a, &b| dirs.compare(tree, a, (dirs.parent(tree, b), name_of(tree, b))));
        dirs.children = children;
        dirs.rank = dirs.ranks(tree);
        dirs
    }

    /// Returns the number of a directory.
    pub(crate) fn number(&self, dir: DirId) -> u32 {
        self.number[dir.0 as usize]
    }

    /// Returns the place of a directory in the order of the tree.
    pub(crate) fn rank(&self, dir: DirId) -> u32 {
        self.rank[dir.0 as usize]
    }

    /// Returns the number of the parent of a directory, or `None` for the root directory.
    pub(crate) fn parent(&self, tree: &Tree, number: u32) -> Option<u32> {
        tree.dir(DirId(number)).parent.map(|parent| self.number(parent))
    }

    /// Returns a number that is the same for directories with the same name.
    pub(crate) fn name(&self, number: u32) -> u32 {
        self.name[number as usize]
    }

    /// Returns the number of the directory at an absolute path.
    pub(crate) fn find(&self, tree: &Tree, path: &[u8]) -> Option<u32> {
        let names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        names.fold((!self.number.is_empty()).then_some(ROOT), |parent, name| {
            let key = (Some(parent?), name);
            let found = self.children.binary_search_by(|&child| self.compare(tree, child, key));
            found.ok().map(|found| self.children[found])
        })
    }

    /// Compares a directory with a parent and a name.
    fn compare(&self, tree: &Tree, dir: u32, (parent, name): (Option<u32>, &[u8])) -> Ordering {
        self.parent(tree, dir).cmp(&parent).then_with(|| name_of(tree, dir).cmp(name))
    }

    fn ranks(&self, tree: &Tree) -> Vec<u32> {
        let mut ranks = vec![0; self.number.len()];
        let mut stack = vec![ROOT];
        let mut rank = 0;
        while let Some(dir) = stack.pop().filter(|_| !ranks.is_empty()) {
            ranks[dir as usize] = rank;
            rank += 1;
            stack.extend(self.children_of(tree, dir).iter().rev());
        }
        (0..ranks.len()).map(|id| ranks[self.number[id] as usize]).collect()
    }

    fn children_of(&self, tree: &Tree, parent: u32) -> &[u32] {
        let parent_of = |&child: &u32| self.parent(tree, child);
        let start = self.children.partition_point(|child| parent_of(child) < Some(parent));
        let below = &self.children[start..];
        &below[..below.partition_point(|child| parent_of(child) == Some(parent))]
    }
}

/// Returns the name of a directory with this number.
pub(crate) fn name_of(tree: &Tree, dir: u32) -> &[u8] {
    tree.dir_name(DirId(dir)).unwrap_or_default().to_bytes()
}
