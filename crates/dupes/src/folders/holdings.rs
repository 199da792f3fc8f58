//! What is below each directory, as ranges of numbers.
//!
//! Directories are numbered along the tree, each before those below it and these by name: a *place*.
//! Files are numbered the same way: a *position*. So the files below a directory are a range of
//! positions. Files that are alike have the same *item*; a file that is like no other has none.

use std::ops::Range;

use content::ContentId;
use fsops::FileKey;
use runtime::{Interrupted, Progress};
use walk::{DirId, FileId};

use super::Remembered;
use super::layout::Layout;
use crate::verify::State;

/// No item, no place.
pub(super) const NONE: u32 = u32::MAX;

/// A directory.
pub(super) struct Place {
    pub(super) id: DirId,
    /// The place of the directory it is in, or [`NONE`].
    pub(super) parent: u32,
    /// How many directories with files are below each other in it; the same for equal ones.
    pub(super) height: u32,
    /// The place after the last one below it.
    pub(super) end: u32,
    /// The positions of the files below it, its own first.
    pub(super) files: Range<u32>,
    /// The position after its own files.
    pub(super) own_end: u32,
    /// Bytes in the files below it.
    pub(super) bytes: u64,
    /// Files below it that are like no other.
    pub(super) lone: u32,
    /// Files below it that changed or cannot be looked at.
    pub(super) changed: u32,
    /// Entries below it that are not remembered, or by another path too.
    pub(super) unknown: u32,
}

impl Place {
    pub(super) fn count(&self) -> u32 {
        self.files.end - self.files.start
    }

    /// Returns whether all that is in it counts and has a like elsewhere.
    pub(super) fn may_be_spare(&self) -> bool {
        self.count() > 0 && self.lone == 0 && self.changed == 0 && self.unknown == 0
    }
}

/// A file that counts.
#[derive(Clone, Copy)]
pub(super) struct Held {
    pub(super) id: FileId,
    pub(super) size: u64,
    pub(super) item: u32,
    /// Number of its inode.
    pub(super) inode: u32,
    /// The place it is directly in.
    pub(super) place: u32,
}

/// An inode.
pub(super) struct Inode {
    /// Files that are names of it.
    pub(super) names: u32,
    /// Bytes that are free once all of them are gone.
    pub(super) frees: u64,
}

/// See the module.
pub(super) struct Holdings {
    pub(super) dirs: Vec<Place>,
    pub(super) files: Vec<Held>,
    pub(super) inodes: Vec<Inode>,
    /// Where the positions of each item start among `positions`, and where the last ones end.
    starts: Vec<u32>,
    positions: Vec<u32>,
    /// The place of each directory of the tree, [`NONE`] for further records of one.
    place_of: Vec<u32>,
}

impl Holdings {
    pub(super) fn new(from: &Remembered<'_>, progress: &Progress) -> Result<Holdings, Interrupted> {
        let layout = Layout::new(from.tree);
        let mut tour = Tour { from, layout: &layout, dirs: Vec::new(), files: Vec::new() };
        let aliases = layout.aliases(from.tree);
        for &root in layout.children_of(None) {
            progress.check()?;
            tour.go_from(root, &aliases, progress)?;
        }
        let Tour { mut dirs, mut files, .. } = tour;
        progress.check()?;
        let inodes = number_inodes(from, &mut files);
        progress.check()?;
        let (starts, positions) = number_items(&mut files);
        sum_up(&mut dirs, &files);
        let mut place_of = vec![NONE; from.tree.dirs().len()];
        for (place, dir) in (0u32..).zip(&dirs) {
            place_of[dir.id.0 as usize] = place;
        }
        Ok(Holdings { dirs, files, inodes, starts, positions, place_of })
    }

    /// Returns the number of items.
    pub(super) fn items(&self) -> u32 {
        number(self.starts.len() - 1)
    }

    /// Returns the slots of an item: indexes of [`Holdings::position`].
    pub(super) fn slots(&self, item: u32) -> Range<u32> {
        self.starts[item as usize]..self.starts[item as usize + 1]
    }

    /// Returns how many slots there are.
    pub(super) fn all_slots(&self) -> usize {
        self.positions.len()
    }

    /// Returns the position in a slot; those of an item are in ascending order.
    pub(super) fn position(&self, slot: u32) -> u32 {
        self.positions[slot as usize]
    }

    /// Returns the first slot of an item at or after a position, or the end of its slots.
    pub(super) fn slot_from(&self, item: u32, position: u32) -> u32 {
        let slots = self.slots(item);
        let below = &self.positions[slots.start as usize..slots.end as usize];
        slots.start + number(below.partition_point(|&p| p < position))
    }

    /// Returns whether there is a file with this item in a range of positions.
    pub(super) fn has(&self, item: u32, within: &Range<u32>) -> bool {
        let slot = self.slot_from(item, within.start);
        slot < self.slots(item).end && self.position(slot) < within.end
    }

    /// Returns the files below a directory of the tree.
    pub(super) fn files_of(&self, dir: DirId) -> &[Held] {
        match self.place_of[dir.0 as usize] {
            NONE => &[],
            place => self.below(place),
        }
    }

    /// Returns the files below a place.
    pub(super) fn below(&self, place: u32) -> &[Held] {
        let files = &self.dirs[place as usize].files;
        &self.files[files.start as usize..files.end as usize]
    }

    /// Returns whether `inner` is `outer` or below it.
    pub(super) fn is_within(&self, inner: u32, outer: u32) -> bool {
        (outer..self.dirs[outer as usize].end).contains(&inner)
    }

    /// Returns the directories directly in a place.
    pub(super) fn children(&self, place: u32) -> impl Iterator<Item = u32> {
        let end = self.dirs[place as usize].end;
        let next = move |&child: &u32| Some(self.dirs[child as usize].end).filter(|&n| n < end);
        std::iter::successors(Some(place + 1).filter(|&first| first < end), next)
    }

    /// Returns whether all files of a place are in one directory in it.
    pub(super) fn is_mere_way(&self, place: u32) -> bool {
        let dir = &self.dirs[place as usize];
        let all = |child: u32| self.dirs[child as usize].count() == dir.count();
        dir.own_end == dir.files.start && self.children(place).any(all)
    }

    /// Returns the directory directly in `above` that `place`, which is below it, is or is below.
    pub(super) fn child_towards(&self, above: u32, mut place: u32) -> u32 {
        while self.dirs[place as usize].parent != above {
            place = self.dirs[place as usize].parent;
        }
        place
    }

    /// Returns the largest directory that has `place` in it and is neither above nor below `other`;
    /// there is none if one of the two is within the other.
    pub(super) fn apart(&self, place: u32, other: u32) -> Option<u32> {
        if self.is_within(place, other) {
            return None;
        }
        let mut at = place;
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

/// A walk along the tree that numbers what it meets.
struct Tour<'a> {
    from: &'a Remembered<'a>,
    layout: &'a Layout,
    dirs: Vec<Place>,
    files: Vec<Held>,
}

impl Tour<'_> {
    /// Numbers a root and everything below it.
    fn go_from(
        &mut self,
        root: DirId,
        aliases: &[bool],
        progress: &Progress,
    ) -> Result<(), Interrupted> {
        let mut waiting = vec![(root, NONE)];
        while let Some((dir, parent)) = waiting.pop() {
            progress.check()?;
            // What was numbered since the directory before was all below that.
            let place = number(self.dirs.len());
            self.enter(dir, parent, aliases[dir.0 as usize]);
            let children = self.layout.children_of(Some(dir));
            waiting.extend(children.iter().rev().map(|&child| (child, place)));
        }
        Ok(())
    }

    fn enter(&mut self, id: DirId, parent: u32, alias: bool) {
        let Remembered { tree, states, newcomers, .. } = *self.from;
        let place = number(self.dirs.len());
        let start = number(self.files.len());
        let (mut changed, mut unknown) = (0, 0);
        for record in self.layout.records(id) {
            unknown += newcomers.get(record.0 as usize).copied().unwrap_or(0);
            for file in tree.files_in(record) {
                match states[file as usize] {
                    State::Same => self.hold(FileId(file), place),
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
        self.dirs.push(Place {
            id,
            parent,
            height: 0,
            end: place + 1,
            files: start..end,
            own_end: end,
            bytes: 0,
            lone: 0,
            changed,
            unknown,
        });
    }

    fn hold(&mut self, id: FileId, place: u32) {
        let size = self.from.tree.file(id).size;
        if size > 0 {
            self.files.push(Held { id, size, item: NONE, inode: 0, place });
        }
    }
}

/// Numbers inodes, and gives their names the content that is known by any of these, or a number of
/// their own, as item.
fn number_inodes(from: &Remembered<'_>, files: &mut [Held]) -> Vec<Inode> {
    let Remembered { tree, facts, reclaimable, .. } = *from;
    let mut names: Vec<(FileKey, u32)> =
        (0u32..).zip(&*files).map(|(at, file)| (tree.key(file.id), at)).collect();
    names.sort_unstable();
    let mut inodes = Vec::new();
    let mut copies = vec![0u32; facts.contents()];
    let contents: Vec<Option<ContentId>> = names
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same| same.iter().find_map(|&(_, at)| facts.content(files[at as usize].id.0)))
        .collect();
    for content in contents.iter().flatten() {
        copies[content.index()] += 1;
    }
    for (same, content) in names.chunk_by(|a, b| a.0 == b.0).zip(&contents) {
        let inode = number(inodes.len());
        let size = files[same[0].1 as usize].size;
        let item = content.map_or(facts.contents() + inodes.len(), ContentId::index);
        for &(_, at) in same {
            let file = &mut files[at as usize];
            (file.item, file.inode) = (number(item), inode);
        }
        let frees = content.filter(|content| copies[content.index()] > 1).map(|content| {
            // What all copies but one would free, shared out evenly: nothing for shared extents.
            let others = u64::from(copies[content.index()] - 1);
            (reclaimable(content) / others).min(size)
        });
        inodes.push(Inode { names: number(same.len()), frees: frees.unwrap_or(size) });
    }
    inodes
}

/// Numbers items anew, without those that a single file has; returns where the positions of each
/// start, and the positions.
fn number_items(files: &mut [Held]) -> (Vec<u32>, Vec<u32>) {
    let mut by_item: Vec<(u32, u32)> = (0u32..).zip(&*files).map(|(at, f)| (f.item, at)).collect();
    by_item.sort_unstable();
    let (mut starts, mut positions) = (vec![0], Vec::new());
    for same in by_item.chunk_by(|a, b| a.0 == b.0) {
        let item = if same.len() > 1 { number(starts.len() - 1) } else { NONE };
        for &(_, at) in same {
            files[at as usize].item = item;
        }
        if item != NONE {
            positions.extend(same.iter().map(|&(_, at)| at));
            starts.push(number(positions.len()));
        }
    }
    (starts, positions)
}

/// Fills in what is known of a directory only when those below it are.
fn sum_up(dirs: &mut [Place], files: &[Held]) {
    for file in files {
        let dir = &mut dirs[file.place as usize];
        dir.bytes = dir.bytes.saturating_add(file.size);
        dir.lone += u32::from(file.item == NONE);
    }
    for place in (0..dirs.len()).rev() {
        let dir = &dirs[place];
        let Place { parent, end, height, bytes, lone, changed, unknown, .. } = *dir;
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

/// Returns a length as a number of 32 bits.
pub(super) fn number(length: usize) -> u32 {
    u32::try_from(length).expect("fewer files and directories than the tree has numbers for")
}
