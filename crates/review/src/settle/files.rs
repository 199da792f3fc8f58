//! The files of a group, each with its names.

use walk::FileId;

use crate::index::{Condition, Index};

/// The files of a group. They are numbered in the order of their first members.
#[derive(Debug)]
pub(super) struct Files {
    /// The number of the file of each member.
    of_members: Vec<usize>,
    /// The first name and the worst condition of any name of each file.
    files: Vec<(FileId, Condition)>,
}

impl Files {
    pub(super) fn new(index: &Index, at: u32) -> Files {
        let tree = index.tree();
        let members = index.files(at);
        let key = |member: usize| {
            let key = tree.key(members[member]);
            // Files that are gone have no inode numbers, so each name is a file.
            (key.device, key.inode, if key.inode == 0 { member } else { 0 })
        };
        let mut order: Vec<usize> = (0..members.len()).collect();
        order.sort_by_key(|&member| key(member));
        let mut firsts = vec![0; members.len()];
        for names in order.chunk_by(|&a, &b| key(a) == key(b)) {
            // The sort is stable, so the first name comes first.
            for &member in names {
                firsts[member] = names[0];
            }
        }
        let mut files = Files { of_members: Vec::with_capacity(members.len()), files: Vec::new() };
        for (member, (&id, &first)) in members.iter().zip(&firsts).enumerate() {
            let condition = index.condition(id);
            let file = if first == member {
                files.files.push((id, condition));
                files.files.len() - 1
            } else {
                files.of_members[first]
            };
            files.files[file].1 = files.files[file].1.max(condition);
            files.of_members.push(file);
        }
        files
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns the number of the file of each member.
    pub(super) fn of_members(&self) -> impl Iterator<Item = usize> {
        self.of_members.iter().copied()
    }

    /// Returns the worst condition of any name of a file.
    pub(super) fn condition(&self, file: usize) -> Condition {
        self.files[file].1
    }

    pub(super) fn first_name(&self, file: usize) -> FileId {
        self.files[file].0
    }

    /// Returns the files that may be acted on.
    pub(super) fn sound(&self) -> impl Iterator<Item = usize> {
        (0..self.len()).filter(|&file| self.condition(file).is_sound())
    }
}
