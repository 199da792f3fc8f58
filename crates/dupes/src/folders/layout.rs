//! The directories of a tree by parent and name.
//!
//! A directory whose files are on several devices has several records in the tree; here the first stands
//! for all of them.

use std::collections::HashMap;

use fsops::FileKey;
use walk::{DirId, Tree};

/// The directories of a tree without further records, and what is directly in each.
pub(super) struct Layout {
    /// For each directory the record that stands for it: the first of its path.
    main: Vec<u32>,
    /// Main records by parent and name; roots first.
    children: Vec<DirId>,
    /// Where the children of a directory start, by its number plus one; roots at 0.
    starts: Vec<u32>,
    /// Further records by their main one.
    further: HashMap<u32, Vec<DirId>>,
}

impl Layout {
    pub(super) fn new(tree: &Tree) -> Layout {
        let mut main: Vec<u32> = Vec::with_capacity(tree.dirs().len());
        let mut known: HashMap<(u32, &[u8]), u32> = HashMap::new();
        let mut further: HashMap<u32, Vec<DirId>> = HashMap::new();
        let mut named: Vec<(u32, &[u8], DirId)> = Vec::new();
        for (number, dir) in (0u32..).zip(tree.dirs()) {
            let id = DirId(number);
            let above = dir.parent.map_or(0, |parent| main[parent.0 as usize] + 1);
            let name = match tree.dir_name(id) {
                Some(name) => name.to_bytes(),
                None => &tree.root_of(id).absolute,
            };
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

    /// Returns the directories in a directory, or the roots, by name.
    pub(super) fn children_of(&self, dir: Option<DirId>) -> &[DirId] {
        let at = dir.map_or(0, |dir| dir.0 as usize + 1);
        &self.children[self.starts[at] as usize..self.starts[at + 1] as usize]
    }

    /// Returns whether a record stands for its directory.
    pub(super) fn is_main(&self, dir: DirId) -> bool {
        self.main[dir.0 as usize] == dir.0
    }

    /// Returns the records of a directory.
    pub(super) fn records(&self, dir: DirId) -> impl Iterator<Item = DirId> {
        let further = self.further.get(&dir.0).into_iter().flatten().copied();
        std::iter::once(dir).chain(further)
    }

    /// Returns for each directory whether it is reached by a shorter or an earlier path too.
    pub(super) fn aliases(&self, tree: &Tree) -> Vec<bool> {
        let mut depth = vec![0u32; tree.dirs().len()];
        let mut listed: Vec<(FileKey, u32, u32)> = Vec::new();
        for (number, dir) in (0u32..).zip(tree.dirs()) {
            depth[number as usize] = dir.parent.map_or(0, |parent| depth[parent.0 as usize] + 1);
            if dir.inode != 0 && self.main[number as usize] == number {
                let device = tree.device_of(DirId(number)).number;
                let key = FileKey { device, inode: dir.inode };
                listed.push((key, depth[number as usize], number));
            }
        }
        listed.sort_unstable();
        let mut aliases = vec![false; tree.dirs().len()];
        for same in listed.chunk_by(|a, b| a.0 == b.0) {
            for &(.., number) in &same[1..] {
                aliases[number as usize] = true;
            }
        }
        aliases
    }
}
