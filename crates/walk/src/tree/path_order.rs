//! The order of files by path, without building paths.

use std::cmp::Ordering;

use crate::tree::Tree;
use crate::tree::records::{DirId, FileId};

/// A position on the way from a file up to its root.
struct Climb<'a> {
    dir: DirId,
    /// The name of the entry of `dir` that leads to the file.
    name: &'a [u8],
    /// True if that entry is a directory, so that a slash follows its name.
    is_dir: bool,
}

impl<'a> Climb<'a> {
    fn start(tree: &'a Tree, file: FileId) -> Climb<'a> {
        Climb { dir: tree.file(file).dir, name: tree.name(file).to_bytes(), is_dir: false }
    }

    /// Moves up to the parent of `dir`. Returns false if `dir` is a root.
    fn up(&mut self, tree: &'a Tree) -> bool {
        let Some((parent, name)) = tree.dir(self.dir).parent.zip(tree.dir_name(self.dir)) else {
            return false;
        };
        *self = Climb { dir: parent, name: name.to_bytes(), is_dir: true };
        true
    }
}

impl Tree {
    /// Compares the bytes of two printed paths ([`Tree::path`]). Looks only at the directories below
    /// the first one that the paths have in common.
    pub fn compare_paths(&self, a: FileId, b: FileId) -> Ordering {
        let (mut first, mut second) = (Climb::start(self, a), Climb::start(self, b));
        let (mut depth, mut other_depth) = (self.depth(first.dir), self.depth(second.dir));
        while first.dir != second.dir {
            let climbed = match depth.cmp(&other_depth) {
                Ordering::Greater => {
                    depth -= 1;
                    first.up(self)
                }
                Ordering::Less => {
                    other_depth -= 1;
                    second.up(self)
                }
                Ordering::Equal => first.up(self) && second.up(self),
            };
            if !climbed {
                // The files are below different roots.
                return self.path(a).cmp(&self.path(b));
            }
        }
        let common = first.name.len().min(second.name.len());
        // A slash does not occur in a name, so it decides if one of the names ends here.
        let next = |climb: &Climb<'_>| {
            climb.name.get(common).copied().or_else(|| climb.is_dir.then_some(b'/'))
        };
        let order = first.name[..common].cmp(&second.name[..common]);
        match order.then_with(|| next(&first).cmp(&next(&second))) {
            // A directory whose files are on several devices has several records.
            Ordering::Equal if a != b => self.path(a).cmp(&self.path(b)),
            order => order,
        }
    }

    /// Returns the number of ancestors of a directory.
    fn depth(&self, dir: DirId) -> usize {
        std::iter::successors(Some(dir), |&dir| self.dir(dir).parent).skip(1).count()
    }
}
