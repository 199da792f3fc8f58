//! The shape of a directory tree: directories in preorder, siblings sorted by name.
//!
//! In preorder, a directory and everything below it have consecutive numbers. To find out whether one
//! directory contains another, or to find the lowest common ancestor of many, it is enough to look at
//! the smallest and the largest number. Everything in this crate relies on this order.

/// Directories in preorder. The first one is the top.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// The parent of each directory. The parent of the top is the top.
    pub(crate) parents: Vec<u32>,
    /// For each directory, the number after the last directory below it.
    pub(crate) ends: Vec<u32>,
}

/// The order in which the directories of a list appear in a [`Shape`].
#[derive(Debug)]
pub(crate) struct Order {
    /// For each number of the shape, the position in the list.
    pub(crate) positions: Vec<u32>,
    /// For each position in the list, the number in the shape, or [`UNREACHABLE`].
    pub(crate) numbers: Vec<u32>,
}

/// The number of a directory that is not below the top.
pub(crate) const UNREACHABLE: u32 = u32::MAX;

impl Shape {
    /// Arranges the directories of a list. For each directory, `parents` has the position of its
    /// parent in the list, or its own position if it has none. Siblings with the same name become
    /// one directory; only the first of them may have children.
    pub(crate) fn arrange<'n>(
        parents: &[u32],
        name: impl Fn(u32) -> &'n [u8],
        top: u32,
    ) -> (Shape, Order) {
        let children = Children::new(parents, top, &name);
        let mut shape = Shape::default();
        let mut order = Order { positions: Vec::new(), numbers: vec![UNREACHABLE; parents.len()] };
        let mut waiting = vec![(top, 0)];
        while let Some((position, parent)) = waiting.pop() {
            let number = to_u32(shape.parents.len());
            shape.parents.push(parent);
            order.positions.push(position);
            order.numbers[position as usize] = number;
            waiting.extend(children.of(position).rev().map(|child| (child, number)));
        }
        for &(duplicate, first) in &children.duplicates {
            order.numbers[duplicate as usize] = order.numbers[first as usize];
        }
        shape.ends = ends(&shape.parents);
        (shape, order)
    }

    /// Returns the number of directories.
    pub(crate) fn len(&self) -> u32 {
        to_u32(self.parents.len())
    }

    /// Returns the lowest directory that contains some directories. `first` and `last` are the smallest
    /// and the largest of their numbers.
    pub(crate) fn common(&self, first: u32, last: u32) -> u32 {
        let mut dir = first;
        while self.ends[dir as usize] <= last {
            dir = self.parents[dir as usize];
        }
        dir
    }

    /// Returns the directories directly in `dir`, sorted by name.
    pub(crate) fn children(&self, dir: u32) -> impl Iterator<Item = u32> {
        let end = self.ends[dir as usize];
        let first = Some(dir + 1).filter(|&child| child < end);
        std::iter::successors(first, move |&child| {
            Some(self.ends[child as usize]).filter(|&next| next < end)
        })
    }

    /// Calls `add` for each directory except the top, with the numbers of its parent and of itself.
    /// A directory comes after everything below it.
    pub(crate) fn each_upward(&self, mut add: impl FnMut(usize, usize)) {
        for dir in (1..self.parents.len()).rev() {
            add(self.parents[dir] as usize, dir);
        }
    }
}

fn ends(parents: &[u32]) -> Vec<u32> {
    let mut ends: Vec<u32> = (1..=to_u32(parents.len())).collect();
    for dir in (1..parents.len()).rev() {
        let parent = parents[dir] as usize;
        ends[parent] = ends[parent].max(ends[dir]);
    }
    ends
}

/// The children of each directory of a list.
struct Children {
    /// For each directory, the index of its first child in `positions`.
    starts: Vec<u32>,
    /// All children, those of one directory sorted by name. [`UNREACHABLE`] for duplicates.
    positions: Vec<u32>,
    /// Siblings with the same name: each one, and the first of them.
    duplicates: Vec<(u32, u32)>,
}

impl Children {
    fn new<'n>(parents: &[u32], top: u32, name: &impl Fn(u32) -> &'n [u8]) -> Children {
        let others = || (0..).zip(parents).filter(|&(position, _)| position != top);
        let mut starts = vec![0u32; parents.len() + 1];
        others().for_each(|(_, &parent)| starts[parent as usize + 1] += 1);
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut children = vec![0; parents.len().saturating_sub(1)];
        for (position, &parent) in others() {
            children[next[parent as usize] as usize] = position;
            next[parent as usize] += 1;
        }
        let mut duplicates = Vec::new();
        for bounds in starts.windows(2) {
            let siblings = &mut children[bounds[0] as usize..bounds[1] as usize];
            // The rows of a catalog are sorted already.
            if !siblings.is_sorted_by_key(|&child| name(child)) {
                siblings.sort_by_key(|&child| name(child));
            }
            let Some((mut first, rest)) = siblings.split_first_mut().map(|(a, b)| (*a, b)) else {
                continue;
            };
            for sibling in rest {
                if name(*sibling) == name(first) {
                    duplicates.push((std::mem::replace(sibling, UNREACHABLE), first));
                } else {
                    first = *sibling;
                }
            }
        }
        Children { starts, positions: children, duplicates }
    }

    fn of(&self, position: u32) -> impl DoubleEndedIterator<Item = u32> {
        let start = self.starts[position as usize] as usize;
        let all = &self.positions[start..self.starts[position as usize + 1] as usize];
        all.iter().copied().filter(|&child| child != UNREACHABLE)
    }
}

/// Converts a number of directories to 32 bits.
///
/// # Panics
///
/// Panics if there are more than 2^32 directories.
pub(crate) fn to_u32(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 directories")
}
