//! Groups with the same folder set, so that one decision can settle many groups.
//!
//! The folders of a group are the directories of its members without the trailing components that
//! all of these directories share. The groups of two equal trees `/photos` and `/backup/photos`
//! therefore have the same folder set, however deep their files are. If all members of a group
//! are in one directory, this directory is the only folder.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use walk::DirId;

use crate::index::Index;
use crate::index::dirs::name_of;

/// All folder sets, sorted by reclaimable bytes.
#[derive(Debug)]
pub struct FolderSets {
    sets: Vec<Row>,
    /// The groups of each set, one set after the other.
    groups: Vec<u32>,
    /// The set of each group.
    set_of: Vec<u32>,
    /// All sets, sorted by their folders.
    by_folders: Vec<u32>,
}

#[derive(Debug)]
struct Row {
    /// The numbers of the directories, sorted, each with its files.
    folders: Vec<(u32, Count)>,
    reclaimable: u64,
    /// The range of its groups.
    first: u32,
    groups: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    files: u64,
    bytes: u64,
}

/// Folders that have files in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FolderSet {
    /// Number of groups.
    pub groups: u32,
    /// Number of members of these groups.
    pub files: u64,
    /// The bytes that keeping only one file of each group would free.
    pub reclaimable: u64,
    /// The folders, sorted by path.
    pub folders: Vec<Folder>,
}

/// A folder of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The absolute path.
    pub path: Vec<u8>,
    /// Number of members in this folder or below it.
    pub files: u64,
    /// The sum of the sizes of these members.
    pub bytes: u64,
}

impl FolderSets {
    /// Determines the folders of all groups.
    pub fn new(index: &Index) -> FolderSets {
        let mut known: HashMap<Vec<u32>, u32> = HashMap::new();
        let mut sets: Vec<Row> = Vec::new();
        let mut set_of = Vec::with_capacity(index.len() as usize);
        for at in index.all() {
            let folder_of = folders(index, at);
            let key = folder_of.folders();
            let next = walk::to_u32(sets.len());
            let set = *known.entry(key).or_insert_with_key(|key| {
                let folders = key.iter().map(|&folder| (folder, Count::default())).collect();
                sets.push(Row { folders, reclaimable: 0, first: 0, groups: 0 });
                next
            });
            sets[set as usize].add(index, at, &folder_of);
            set_of.push(set);
        }
        let mut order: Vec<u32> = (0..walk::to_u32(sets.len())).collect();
        // The sort is stable, so equal sets stay in the order of their first groups.
        order.sort_by_key(|&set| Reverse(sets[set as usize].reclaimable));
        FolderSets::in_order(sets, set_of, &order)
    }

    /// Renumbers the sets and sorts the groups by set.
    fn in_order(mut sets: Vec<Row>, mut set_of: Vec<u32>, order: &[u32]) -> FolderSets {
        let (mut ordered, mut renumbered, mut first) = (Vec::new(), vec![0; sets.len()], 0);
        for (number, &set) in (0u32..).zip(order) {
            renumbered[set as usize] = number;
            let row = &mut sets[set as usize];
            row.first = first;
            first += row.groups;
            ordered.push(Row { folders: std::mem::take(&mut row.folders), ..*row });
        }
        for set in &mut set_of {
            *set = renumbered[*set as usize];
        }
        let mut next: Vec<u32> = ordered.iter().map(|row| row.first).collect();
        let mut groups = vec![0; set_of.len()];
        for (at, &set) in (0u32..).zip(&set_of) {
            groups[next[set as usize] as usize] = at;
            next[set as usize] += 1;
        }
        let mut by_folders: Vec<u32> = (0..walk::to_u32(ordered.len())).collect();
        by_folders
            .sort_by(|&a, &b| ordered[a as usize].numbers().cmp(ordered[b as usize].numbers()));
        FolderSets { sets: ordered, groups, set_of, by_folders }
    }

    /// Returns the number of sets.
    pub fn len(&self) -> u32 {
        walk::to_u32(self.sets.len())
    }

    /// Returns whether there are no sets, because there are no groups.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Returns the facts about a set. `index` must be the index that the sets were made of.
    ///
    /// # Panics
    ///
    /// Panics if `set` is not less than [`FolderSets::len`].
    pub fn set(&self, index: &Index, set: u32) -> FolderSet {
        let row = &self.sets[set as usize];
        let folder = |&(number, Count { files, bytes }): &(u32, Count)| Folder {
            path: index.tree().absolute_dir_path(DirId(number)),
            files,
            bytes,
        };
        let mut folders: Vec<Folder> = row.folders.iter().map(folder).collect();
        folders.sort_by(|a, b| a.path.cmp(&b.path));
        let files = folders.iter().map(|folder| folder.files).sum();
        FolderSet { groups: row.groups, files, reclaimable: row.reclaimable, folders }
    }

    /// Returns the groups of a set in the order of the index.
    ///
    /// # Panics
    ///
    /// Panics if `set` is not less than [`FolderSets::len`].
    pub fn groups_of(&self, set: u32) -> &[u32] {
        let Row { first, groups, .. } = self.sets[set as usize];
        &self.groups[first as usize..][..groups as usize]
    }

    /// Returns the folder of each member of a group, as its position in [`FolderSet::folders`].
    /// `index` must be the index that the sets were made of.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn folders_of(&self, index: &Index, at: u32) -> Vec<u32> {
        let path = |number| index.tree().absolute_dir_path(DirId(number));
        let folder_of = folders(index, at);
        let mut sorted: Vec<(Vec<u8>, u32)> =
            folder_of.folders().into_iter().map(|number| (path(number), number)).collect();
        sorted.sort();
        let positions: HashMap<u32, u32> =
            sorted.into_iter().map(|(_, number)| number).zip(0..).collect();
        let of_member = index.records(at).map(|record| {
            let number = folder_of.get(index.dirs.number(record.dir));
            positions.get(&number).copied().unwrap_or(0)
        });
        of_member.collect()
    }

    /// Returns the path that the files of all groups have in common below the folders of a set, such as
    /// `Photos` for copies below `/data/Photos` and `/backup/Photos`. The path is empty if files of one group
    /// are directly in the folders, or if groups have nothing in common. `index` must be the index that the
    /// sets were made of.
    ///
    /// # Panics
    ///
    /// Panics if `set` is not less than [`FolderSets::len`].
    pub fn common_end(&self, index: &Index, set: u32) -> Vec<u8> {
        let (tree, dirs) = (index.tree(), &index.dirs);
        let (mut common, mut seen): (Option<Vec<u32>>, _) = (None, HashSet::new());
        for &at in self.groups_of(set) {
            let Some(record) = index.records(at).next() else { continue };
            let dir = dirs.number(record.dir);
            let folder = folders(index, at).get(dir);
            if !seen.insert((dir, folder)) {
                continue;
            }
            let up = std::iter::successors(Some(dir), |&dir| dirs.parent(tree, dir));
            let mut end: Vec<u32> = up.take_while(|&dir| dir != folder).collect();
            end.reverse();
            let is_same = |(a, b): &(&u32, &u32)| dirs.name(**a) == dirs.name(**b);
            let length = match &common {
                Some(before) => before.iter().zip(&end).take_while(is_same).count(),
                None => end.len(),
            };
            end.truncate(length);
            if end.is_empty() {
                return Vec::new();
            }
            common = Some(end);
        }
        let common = common.unwrap_or_default();
        let names: Vec<&[u8]> = common.iter().map(|&dir| name_of(tree, dir)).collect();
        names.join(&b'/')
    }

    /// Returns the set of a group.
    ///
    /// # Panics
    ///
    /// Panics if the group is not in the index.
    pub fn set_of(&self, at: u32) -> u32 {
        self.set_of[at as usize]
    }

    /// Returns the set that consists of exactly these folders. `index` must be the index that the
    /// sets were made of.
    pub fn find(&self, index: &Index, paths: &[Vec<u8>]) -> Option<u32> {
        let numbers = paths.iter().map(|path| index.dirs.find(index.tree(), path));
        let mut numbers = numbers.collect::<Option<Vec<u32>>>()?;
        numbers.sort_unstable();
        let found = self.by_folders.binary_search_by(|&set| {
            self.sets[set as usize].numbers().cmp(numbers.iter().copied())
        });
        found.ok().map(|found| self.by_folders[found])
    }
}

/// Returns those of `paths` that are below a folder. If a decision keeps the files in the folder, it means those
/// that are not in other folders of the set below it.
pub fn folders_below<'p>(
    folder: &[u8],
    paths: impl IntoIterator<Item = &'p [u8]>,
) -> impl Iterator<Item = &'p [u8]> {
    let start = [folder.strip_suffix(b"/").unwrap_or(folder), b"/"].concat();
    paths.into_iter().filter(move |path| path.len() > start.len() && path.starts_with(&start))
}

impl Row {
    fn numbers(&self) -> impl Iterator<Item = u32> {
        self.folders.iter().map(|(number, _)| *number)
    }

    fn add(&mut self, index: &Index, at: u32, folder_of: &FolderOf) {
        let size = index.size(at);
        for record in index.records(at) {
            let folder = folder_of.get(index.dirs.number(record.dir));
            let Ok(found) = self.folders.binary_search_by_key(&folder, |(number, _)| *number)
            else {
                continue;
            };
            let count = &mut self.folders[found].1;
            count.files += 1;
            count.bytes = count.bytes.saturating_add(size);
        }
        self.groups += 1;
        self.reclaimable = self.reclaimable.saturating_add(index.gain(at).0);
    }
}

/// The folder of each directory of a group.
#[derive(Debug)]
pub(crate) struct FolderOf {
    /// Numbers of the directories, sorted, and of their folders.
    dirs: Vec<(u32, u32)>,
}

impl FolderOf {
    /// Returns the folder of a directory. Both are numbers from [`crate::index::dirs::Dirs`].
    pub(crate) fn get(&self, dir: u32) -> u32 {
        let found = self.dirs.binary_search_by_key(&dir, |(dir, _)| *dir);
        found.map_or(dir, |found| self.dirs[found].1)
    }

    /// Returns the folders of the set, sorted by number.
    pub(crate) fn folders(&self) -> Vec<u32> {
        let mut folders: Vec<u32> = self.dirs.iter().map(|(_, folder)| *folder).collect();
        folders.sort_unstable();
        folders
    }
}

/// Determines the folders of a group.
///
/// Different directories with the same name have different parents, so the folders stay different
/// while components are stripped.
pub(crate) fn folders(index: &Index, at: u32) -> FolderOf {
    let (tree, dirs) = (index.tree(), &index.dirs);
    let mut all: Vec<u32> = index.records(at).map(|file| dirs.number(file.dir)).collect();
    all.sort_unstable();
    all.dedup();
    let mut folder_of: Vec<(u32, u32)> = all.into_iter().map(|dir| (dir, dir)).collect();
    while folder_of.len() > 1 {
        let name = dirs.name(folder_of[0].1);
        if !folder_of.iter().all(|&(_, folder)| dirs.name(folder) == name) {
            break;
        }
        for (_, folder) in &mut folder_of {
            *folder = dirs.parent(tree, *folder).unwrap_or(*folder);
        }
    }
    FolderOf { dirs: folder_of }
}
