//! The directories of a tree, indexed by parent and name.
//!
//! A directory with files on several devices has several records in the tree. The first of these
//! records, the *main record*, represents the directory here.

use std::collections::HashMap;

use fsops::FileKey;
use walk::{DirId, Tree};

/// The directories of a tree with their subdirectories, one record for each directory.
pub(crate) struct Layout {
    /// For each record, the main record of its directory.
    main: Vec<u32>,
    /// Main records, sorted by parent and name. The roots come first.
    children: Vec<DirId>,
    /// The index in `children` of the first child of each directory. Index 0 stands for the roots,
    /// and index `n + 1` for directory `n`.
    starts: Vec<u32>,
    /// The additional records of each directory, by main record.
    further: HashMap<u32, Vec<DirId>>,
}

impl Layout {
    pub(crate) fn new(tree: &Tree) -> Layout {
        let mut main: Vec<u32> = Vec::with_capacity(tree.dirs().len());
        let mut known: HashMap<(u32, &[u8]), u32> = HashMap::new();
        let mut further: HashMap<u32, Vec<DirId>> = HashMap::new();
        let mut named: Vec<(u32, &[u8], DirId)> = Vec::new();
        for (number, dir) in (0u32..).zip(tree.dirs()) {
            let id = DirId(number);
            let above = dir.parent.map_or(0, |parent| main[parent.0 as usize] + 1);
            let name = name_of(tree, id);
            let first = *known.entry((above, name)).or_insert(number);
            main.push(first);
            if first == number {
                named.push((above, name, id));
            } else {
                further.entry(first).or_default().push(id);
            }
        }
        named.sort_unstable();
        let mut starts = vec![0; main.len() + 2];
        for &(above, ..) in &named {
            starts[above as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let children = named.into_iter().map(|(.., id)| id).collect();
        Layout { main, children, starts, further }
    }

    /// Returns the subdirectories of a directory, or the roots, sorted by name.
    pub(crate) fn children_of(&self, dir: Option<DirId>) -> &[DirId] {
        let at = dir.map_or(0, |dir| dir.0 as usize + 1);
        &self.children[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Returns the main record of a directory.
    pub(crate) fn main(&self, dir: DirId) -> DirId {
        DirId(self.main[dir.0 as usize])
    }

    /// Returns whether a record is the main record of its directory.
    pub(crate) fn is_main(&self, dir: DirId) -> bool {
        self.main[dir.0 as usize] == dir.0
    }

    /// Returns all records of a directory.
    pub(crate) fn records(&self, dir: DirId) -> impl Iterator<Item = DirId> {
        let further = self.further.get(&dir.0).into_iter().flatten().copied();
        std::iter::once(dir).chain(further)
    }

    /// Returns, for each record, whether its directory is at or below one of the absolute `paths`.
    pub(crate) fn within(&self, tree: &Tree, paths: &[Vec<u8>]) -> Vec<bool> {
        let mut within = vec![false; tree.dirs().len()];
        for path in paths {
            let mut at = self.child(tree, None, b"/");
            for name in path.split(|&b| b == b'/').filter(|name| !name.is_empty()) {
                at = at.and_then(|dir| self.child(tree, Some(dir), name));
            }
            if let Some(dir) = at {
                within[dir.0 as usize] = true;
            }
        }
        for (number, dir) in tree.dirs().iter().enumerate() {
            let above = dir.parent.is_some_and(|parent| within[parent.0 as usize]);
            within[number] |= above || within[self.main[number] as usize];
        }
        within
    }

    fn child(&self, tree: &Tree, dir: Option<DirId>, name: &[u8]) -> Option<DirId> {
        let children = self.children_of(dir);
        let at = children.binary_search_by(|&child| name_of(tree, child).cmp(name)).ok()?;
        Some(children[at])
    }

    /// Returns, for each directory, whether the tree has another path to it that is less deep, or
    /// equally deep and earlier in tree order.
    pub(crate) fn aliases(&self, tree: &Tree) -> Vec<bool> {
        let mut listed: Vec<(FileKey, usize, usize, DirId)> = Vec::new();
        let roots = self.children_of(None).iter().rev();
        let mut waiting: Vec<(DirId, usize)> = roots.map(|&root| (root, 0)).collect();
        let mut order = 0;
        while let Some((dir, depth)) = waiting.pop() {
            let inode = tree.dir(dir).inode;
            if inode != 0 {
                let key = FileKey { device: tree.device_of(dir).number, inode };
                listed.push((key, depth, order, dir));
            }
            order += 1;
            let children = self.children_of(Some(dir)).iter().rev();
            waiting.extend(children.map(|&child| (child, depth + 1)));
        }
        listed.sort_unstable();
        let mut aliases = vec![false; tree.dirs().len()];
        for same in listed.chunk_by(|a, b| a.0 == b.0) {
            for &(.., dir) in &same[1..] {
                aliases[dir.0 as usize] = true;
            }
        }
        aliases
    }
}

/// Returns the name of a directory, or the absolute path if it is a root.
fn name_of(tree: &Tree, dir: DirId) -> &[u8] {
    match tree.dir_name(dir) {
        Some(name) => name.to_bytes(),
        None => &tree.root_of(dir).absolute,
    }
}
