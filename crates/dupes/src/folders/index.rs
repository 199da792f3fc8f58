//! Indexes the files below each directory as ranges of numbers.
//!
//! Directories are numbered in tree order: parents before children, siblings by name. This is the
//! *directory number*. Files are numbered in the same order, so the files below a directory are a
//! range of *file numbers*. Equal files have the same *content number*. A file without a duplicate
//! has no content number.
//!
//! An *occurrence* is an index into the file numbers sorted by content, so all occurrences of the
//! same content also form a range.

use std::ops::Range;

use content::ContentId;
use fsops::FileKey;
use runtime::{Interrupted, Progress};
use walk::{DirId, FileId};

use super::RememberedTree;
use super::layout::Layout;
use crate::states::State;

/// No content, or no directory.
pub(super) const NONE: u32 = u32::MAX;

/// A directory.
pub(super) struct IndexedDir {
    pub(super) id: DirId,
    /// The directory number of the parent directory, or [`NONE`].
    pub(super) parent: u32,
    /// Number of directory levels with files below this directory. Equal directories have the same
    /// height.
    pub(super) height: u32,
    /// The directory number after the last directory below this one.
    pub(super) end: u32,
    /// The numbers of the files below the directory. The files directly in the directory come
    /// first.
    pub(super) files: Range<u32>,
    /// The file number after the last file directly in the directory.
    pub(super) own_end: u32,
    /// Total size in bytes of the files below the directory.
    pub(super) bytes: u64,
    /// Number of files below the directory that have no duplicate.
    pub(super) lone: u32,
    /// Number of files below the directory that have changed or cannot be inspected.
    pub(super) changed: u32,
    /// Number of entries below the directory that are not remembered, or that are also remembered
    /// under another path.
    pub(super) unknown: u32,
}

impl IndexedDir {
    pub(super) fn count(&self) -> u32 {
        self.files.end - self.files.start
    }

    /// Returns whether all files in the directory count and are identical to a file elsewhere.
    pub(super) fn may_be_redundant(&self) -> bool {
        self.count() > 0 && self.lone == 0 && self.changed == 0 && self.unknown == 0
    }
}

/// A file that counts.
#[derive(Clone, Copy)]
pub(super) struct IndexedFile {
    pub(super) id: FileId,
    pub(super) size: u64,
    pub(super) content: u32,
    /// The number of its inode.
    pub(super) inode: u32,
    /// The number of the directory that directly contains the file.
    pub(super) dir: u32,
}

/// An inode.
pub(super) struct IndexedInode {
    /// Number of names of the inode among the files.
    pub(super) names: u32,
    /// Disk space in bytes that deleting all names of the inode frees.
    pub(super) frees: u64,
}

/// The directories, files and inodes, by number.
pub(super) struct FolderIndex {
    pub(super) dirs: Vec<IndexedDir>,
    pub(super) files: Vec<IndexedFile>,
    pub(super) inodes: Vec<IndexedInode>,
    /// The first occurrence of each content. The last entry is the total number of occurrences.
    starts: Vec<u32>,
    file_numbers: Vec<u32>,
    /// The directory number of each directory of the tree. Only the main record of a directory has
    /// a number. Its other records have [`NONE`].
    dir_number_of: Vec<u32>,
}

impl FolderIndex {
    pub(super) fn new(
        from: &RememberedTree<'_>,
        progress: &Progress,
    ) -> Result<FolderIndex, Interrupted> {
        let layout = Layout::new(from.tree);
        let mut numbering =
            Numbering { from, layout: &layout, dirs: Vec::new(), files: Vec::new() };
        let aliases = layout.aliases(from.tree);
        for &root in layout.children_of(None) {
            progress.check()?;
            numbering.number_below(root, &aliases, progress)?;
        }
        let Numbering { mut dirs, mut files, .. } = numbering;
        progress.check()?;
        let inodes = number_inodes(from, &mut files);
        progress.check()?;
        let (starts, file_numbers) = number_contents(&mut files);
        sum_up(&mut dirs, &files);
        let mut dir_number_of = vec![NONE; from.tree.dirs().len()];
        for (dir_number, dir) in (0u32..).zip(&dirs) {
            dir_number_of[dir.id.0 as usize] = dir_number;
        }
        Ok(FolderIndex { dirs, files, inodes, starts, file_numbers, dir_number_of })
    }

    /// Returns the number of contents that more than one file has.
    pub(super) fn content_count(&self) -> u32 {
        number(self.starts.len() - 1)
    }

    /// Returns the occurrences of a content.
    pub(super) fn occurrences(&self, content: u32) -> Range<u32> {
        self.starts[content as usize]..self.starts[content as usize + 1]
    }

    /// Returns the total number of occurrences.
    pub(super) fn occurrence_count(&self) -> usize {
        self.file_numbers.len()
    }

    /// Returns the file number of an occurrence. Within one content, file numbers ascend.
    pub(super) fn file_at(&self, occurrence: u32) -> u32 {
        self.file_numbers[occurrence as usize]
    }

    /// Returns the first occurrence of a content at or after a file number. If there is none,
    /// returns the end of the content's occurrences.
    pub(super) fn occurrence_from(&self, content: u32, file_number: u32) -> u32 {
        let occurrences = self.occurrences(content);
        let below = &self.file_numbers[occurrences.start as usize..occurrences.end as usize];
        occurrences.start + number(below.partition_point(|&p| p < file_number))
    }

    /// Returns whether a file in a range of file numbers has this content.
    pub(super) fn has(&self, content: u32, within: &Range<u32>) -> bool {
        let occurrence = self.occurrence_from(content, within.start);
        occurrence < self.occurrences(content).end && self.file_at(occurrence) < within.end
    }

    /// Returns the files below a directory of the tree.
    pub(super) fn files_of(&self, dir: DirId) -> &[IndexedFile] {
        match self.dir_number_of[dir.0 as usize] {
            NONE => &[],
            dir_number => self.below(dir_number),
        }
    }

    /// Returns the files below a directory.
    pub(super) fn below(&self, dir_number: u32) -> &[IndexedFile] {
        let files = &self.dirs[dir_number as usize].files;
        &self.files[files.start as usize..files.end as usize]
    }

    /// Returns whether `inner` is `outer` or below it.
    pub(super) fn is_within(&self, inner: u32, outer: u32) -> bool {
        (outer..self.dirs[outer as usize].end).contains(&inner)
    }

    /// Returns the numbers of the subdirectories directly in a directory.
    pub(super) fn children(&self, dir_number: u32) -> impl Iterator<Item = u32> {
        let end = self.dirs[dir_number as usize].end;
        let next = move |&child: &u32| Some(self.dirs[child as usize].end).filter(|&n| n < end);
        std::iter::successors(Some(dir_number + 1).filter(|&first| first < end), next)
    }

    /// Returns whether all files below a directory are in a single one of its subdirectories.
    pub(super) fn is_wrapper(&self, dir_number: u32) -> bool {
        let dir = &self.dirs[dir_number as usize];
        let all = |child: u32| self.dirs[child as usize].count() == dir.count();
        dir.own_end == dir.files.start && self.children(dir_number).any(all)
    }

    /// Returns the child of `above` that is `dir_number` or one of its ancestors. `dir_number` must
    /// be below `above`.
    pub(super) fn child_towards(&self, above: u32, mut dir_number: u32) -> u32 {
        while self.dirs[dir_number as usize].parent != above {
            dir_number = self.dirs[dir_number as usize].parent;
        }
        dir_number
    }

    /// Returns the topmost directory that is `dir_number` or an ancestor of it, and that is neither
    /// above nor below `other`. Returns `None` if `dir_number` or `other` is within the other
    /// directory.
    pub(super) fn largest_disjoint(&self, dir_number: u32, other: u32) -> Option<u32> {
        if self.is_within(dir_number, other) {
            return None;
        }
        let mut at = dir_number;
        while !self.is_within(other, at) {
            let parent = self.dirs[at as usize].parent;
            if parent == NONE || self.is_within(other, parent) {
                return Some(at);
            }
            at = parent;
        }
        None
    }
}

/// Numbers directories and files in tree order.
struct Numbering<'a> {
    from: &'a RememberedTree<'a>,
    layout: &'a Layout,
    dirs: Vec<IndexedDir>,
    files: Vec<IndexedFile>,
}

impl Numbering<'_> {
    /// Numbers a root and everything below it.
    fn number_below(
        &mut self,
        root: DirId,
        aliases: &[bool],
        progress: &Progress,
    ) -> Result<(), Interrupted> {
        let mut waiting = vec![(root, NONE)];
        while let Some((dir, parent)) = waiting.pop() {
            progress.check()?;
            // All directories numbered between a directory and its next sibling are below that
            // directory.
            let dir_number = number(self.dirs.len());
            self.add_dir(dir, parent, aliases[dir.0 as usize]);
            let children = self.layout.children_of(Some(dir));
            waiting.extend(children.iter().rev().map(|&child| (child, dir_number)));
        }
        Ok(())
    }

    fn add_dir(&mut self, id: DirId, parent: u32, alias: bool) {
        let RememberedTree { tree, states, untracked, .. } = *self.from;
        let dir_number = number(self.dirs.len());
        let start = number(self.files.len());
        let (mut changed, mut unknown) = (0, 0);
        for record in self.layout.records(id) {
            unknown += untracked.get(record.0 as usize).copied().unwrap_or(0);
            for file in tree.files_in(record) {
                match states[file as usize] {
                    State::Same => self.add_file(FileId(file), dir_number),
                    State::Gone => {}
                    _ => changed += 1,
                }
            }
        }
        if alias {
            self.files.truncate(start as usize);
            unknown += 1;
        }
        let end = number(self.files.len());
        self.dirs.push(IndexedDir {
            id,
            parent,
            height: 0,
            end: dir_number + 1,
            files: start..end,
            own_end: end,
            bytes: 0,
            lone: 0,
            changed,
            unknown,
        });
    }

    fn add_file(&mut self, id: FileId, dir_number: u32) {
        let size = self.from.tree.file(id).size;
        if size > 0 {
            self.files.push(IndexedFile { id, size, content: NONE, inode: 0, dir: dir_number });
        }
    }
}

/// Numbers inodes. Gives all names of an inode the same content: the known content of any of the
/// names or, if there is none, a content number that no other inode has.
fn number_inodes(from: &RememberedTree<'_>, files: &mut [IndexedFile]) -> Vec<IndexedInode> {
    let RememberedTree { tree, fingerprints, reclaimable, .. } = *from;
    let mut names: Vec<(FileKey, u32)> =
        (0u32..).zip(&*files).map(|(at, file)| (tree.key(file.id), at)).collect();
    names.sort_unstable();
    let mut inodes = Vec::new();
    let mut copies = vec![0u32; fingerprints.contents()];
    let contents: Vec<Option<ContentId>> = names
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| same.iter().find_map(|&(_, at)| fingerprints.content(files[at as usize].id.0)))
        .collect();
    for content in contents.iter().flatten() {
        copies[content.index()] += 1;
    }
    for (same, content) in names.chunk_by(|a, b| a.0 == b.0).zip(&contents) {
        let inode = number(inodes.len());
        let allocated = tree.allocated(files[same[0].1 as usize].id);
        let content_number =
            content.map_or(fingerprints.contents() + inodes.len(), ContentId::index);
        for &(_, at) in same {
            let file = &mut files[at as usize];
            (file.content, file.inode) = (number(content_number), inode);
        }
        let frees = content.filter(|content| copies[content.index()] > 1).map(|content| {
            // The bytes that deleting all copies but one would free, divided evenly among them.
            // Shared extents free nothing.
            let others = u64::from(copies[content.index()] - 1);
            (reclaimable(content) / others).min(allocated)
        });
        inodes.push(IndexedInode { names: number(same.len()), frees: frees.unwrap_or(allocated) });
    }
    inodes
}

/// Renumbers the contents that more than one file has, and assigns [`NONE`] to all other files.
/// Returns the first occurrence of each content, and the file numbers of all occurrences.
fn number_contents(files: &mut [IndexedFile]) -> (Vec<u32>, Vec<u32>) {
    let mut by_content: Vec<(u32, u32)> =
        (0u32..).zip(&*files).map(|(at, f)| (f.content, at)).collect();
    by_content.sort_unstable();
    let (mut starts, mut file_numbers) = (vec![0], Vec::new());
    for same in by_content.chunk_by(|a, b| a.0 == b.0) {
        let content = if same.len() > 1 { number(starts.len() - 1) } else { NONE };
        for &(_, at) in same {
            files[at as usize].content = content;
        }
        if content != NONE {
            file_numbers.extend(same.iter().map(|&(_, at)| at));
            starts.push(number(file_numbers.len()));
        }
    }
    (starts, file_numbers)
}

/// Computes the totals of each directory from the directories below it.
fn sum_up(dirs: &mut [IndexedDir], files: &[IndexedFile]) {
    for file in files {
        let dir = &mut dirs[file.dir as usize];
        dir.bytes = dir.bytes.saturating_add(file.size);
        dir.lone += u32::from(file.content == NONE);
    }
    for dir_number in (0..dirs.len()).rev() {
        let dir = &dirs[dir_number];
        let IndexedDir { parent, end, height, bytes, lone, changed, unknown, .. } = *dir;
        let (files_end, height) = (dir.files.end, if dir.count() > 0 { height + 1 } else { 0 });
        if parent == NONE {
            continue;
        }
        let above = &mut dirs[parent as usize];
        above.end = above.end.max(end);
        above.height = above.height.max(height);
        above.files.end = above.files.end.max(files_end);
        above.bytes = above.bytes.saturating_add(bytes);
        above.lone += lone;
        above.changed = above.changed.saturating_add(changed);
        above.unknown = above.unknown.saturating_add(unknown);
    }
}

/// Returns a length as a 32-bit number.
pub(super) fn number(length: usize) -> u32 {
    u32::try_from(length).expect("fewer files and directories than the tree has numbers for")
}
