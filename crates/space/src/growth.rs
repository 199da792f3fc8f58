//! Compares the results of two scans, and attributes the difference to the directories of a [`Space`].
//!
//! Directories are matched by their path below the root, because the catalog gives a directory a
//! new id if it disappears and returns. A directory that the later scan did not find counts in the
//! lowest directory above it that the catalog still has.

use crate::record::Record;
use crate::shape::Shape;
use crate::space::{DirId, Names, Space, UNKNOWN};

impl Space {
    /// Compares two scans of the root at an absolute path. Afterwards, [`crate::Totals::grown`] of
    /// all directories at, below and above the root includes the difference. Does not compare a
    /// root that is at or below a root that was compared before.
    ///
    /// Returns whether the scans were compared.
    pub fn compare(&mut self, root: &[u8], earlier: &Record, later: &Record) -> bool {
        let Some(root) = self.find(root) else { return false };
        let mut grown = self.grown.take().unwrap_or_else(|| vec![UNKNOWN; self.len() as usize]);
        let is_new = grown[root.0 as usize] == UNKNOWN;
        if is_new {
            let own = self.differences(root, earlier, later);
            self.add(root, &own, &mut grown);
        }
        self.grown = Some(grown);
        is_new
    }

    /// Forgets all comparisons.
    pub fn forget_comparisons(&mut self) {
        self.grown = None;
    }

    /// Returns the difference of each directory at or below the root, without its subdirectories.
    fn differences(&self, root: DirId, earlier: &Record, later: &Record) -> Vec<i64> {
        let end = self.shape.ends[root.0 as usize];
        let mut own = vec![0i64; (end - root.0) as usize];
        let mut add = |record: &Record, sign: i64| {
            each_match(&self.shape, &self.names, root.0, record, |dir, allocated| {
                let own = &mut own[(dir - root.0) as usize];
                *own = own.wrapping_add(allocated.cast_signed().wrapping_mul(sign));
            });
        };
        add(later, 1);
        add(earlier, -1);
        own
    }

    fn add(&self, root: DirId, own: &[i64], grown: &mut [i64]) {
        let below = root.0 as usize..self.shape.ends[root.0 as usize] as usize;
        grown[below.clone()].copy_from_slice(own);
        for dir in below.skip(1).rev() {
            let parent = self.shape.parents[dir] as usize;
            grown[parent] = grown[parent].wrapping_add(grown[dir]);
        }
        let sum = grown[root.0 as usize];
        let above = std::iter::successors(self.parent(root), |&dir| self.parent(dir));
        for dir in above {
            let grown = &mut grown[dir.0 as usize];
            *grown = if *grown == UNKNOWN { sum } else { grown.wrapping_add(sum) };
        }
    }
}

/// Calls `each` with the disk space of each directory of a record. The other argument is the
/// directory of the space at the same path or, if there is none, the lowest one above this path.
fn each_match(
    shape: &Shape,
    names: &Names,
    root: u32,
    record: &Record,
    mut each: impl FnMut(u32, u64),
) {
    // For each directory on the path to the last one: the directory of the space, and its next child
    // that may match. There are no more children to match if it is 0, the number of the top.
    let mut path: Vec<(u32, u32)> = Vec::new();
    for recorded in &record.dirs {
        path.truncate(recorded.depth as usize);
        let dir = match path.last_mut() {
            None => Some(root),
            Some((parent, next)) => {
                let end = shape.ends[*parent as usize];
                let name = record.name(recorded);
                while *next != 0 && *next < end && names.get(*next) < name {
                    *next = shape.ends[*next as usize];
                }
                let is_match = *next != 0 && *next < end && names.get(*next) == name;
                is_match.then_some(*next)
            }
        };
        let nearest = dir.or(path.last().map(|&(parent, _)| parent)).unwrap_or(root);
        each(nearest, recorded.allocated);
        path.push((nearest, dir.map_or(0, |dir| dir + 1)));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::build::{Contents, Dirs, Files, Tree, build};
    use crate::record::tests::record;
    use crate::space::{By, Space};

    /// Returns a space with directories at these paths.
    fn space(paths: &[&str]) -> Space {
        let (mut dirs, mut known) = (Dirs::new(1), BTreeMap::from([("", 1)]));
        for (id, path) in (2..).zip(paths) {
            let (above, name) = path.rsplit_once('/').expect("an absolute path");
            dirs.push(id, known[above], name.as_bytes());
            known.insert(path, id);
        }
        let files = Files::for_about(0);
        build(Tree::new(&dirs), &Contents::new(&[]), files).expect("no orphans")
    }

    fn grown(space: &Space, path: &str) -> Option<i64> {
        space.totals(space.find(path.as_bytes()).expect("is there")).grown
    }

    const BLOCK: i64 = 4096;

    #[test]
    fn growth_counts_in_each_directory_and_above() {
        let mut space = space(&["/r", "/r/a", "/r/a/b", "/r/c", "/s"]);
        let earlier = record(&[("a/b/x", 1, 4096), ("c/y", 2, 8192)]);
        let later = record(&[("a/b/x", 1, 4096 * 4), ("c/y", 2, 4096), ("z", 3, 1)]);
        assert_eq!(grown(&space, "/r"), None);
        assert!(space.compare(b"/r", &earlier, &later));
        let all = ["/", "/r", "/r/a", "/r/a/b", "/r/c"].map(|path| grown(&space, path));
        assert_eq!(all, [3, 3, 3, 3, -1].map(|blocks| Some(blocks * BLOCK)));
        assert_eq!(grown(&space, "/s"), None, "no scan of this directory is compared");
    }

    #[test]
    fn a_new_directory_counts_completely() {
        let mut space = space(&["/r", "/r/new", "/r/new/deep"]);
        space.compare(b"/r", &record(&[]), &record(&[("new/deep/x", 1, 9000)]));
        assert_eq!(grown(&space, "/r/new/deep"), Some(3 * BLOCK));
        assert_eq!(grown(&space, "/r/new"), Some(3 * BLOCK));
    }

    #[test]
    fn a_directory_that_is_gone_counts_in_the_lowest_one_that_is_left() {
        let mut space = space(&["/r", "/r/a", "/r/a/m", "/r/b"]);
        let earlier = record(&[("a/gone/deep/x", 1, 1), ("a/gone/y", 2, 1), ("b/z", 3, 1)]);
        space.compare(b"/r", &earlier, &record(&[("a/m/x", 1, 1), ("b/z", 3, 1)]));
        let all = ["/r/a", "/r/a/m", "/r/b", "/r"].map(|path| grown(&space, path));
        assert_eq!(all, [-1, 1, 0, -1].map(|blocks| Some(blocks * BLOCK)));
    }

    #[test]
    fn directories_below_a_gone_one_do_not_match_its_siblings() {
        let mut space = space(&["/r", "/r/m"]);
        space.compare(
            b"/r",
            &record(&[("gone/m/x", 1, 1), ("m/y", 2, 1)]),
            &record(&[("m/y", 2, 1)]),
        );
        assert_eq!((grown(&space, "/r"), grown(&space, "/r/m")), (Some(-BLOCK), Some(0)));
    }

    #[test]
    fn several_roots_add_up_above_them() {
        let mut space = space(&["/p", "/p/r", "/p/s"]);
        assert!(space.compare(b"/p/r", &record(&[]), &record(&[("x", 1, 1)])));
        assert!(space.compare(b"/p/s", &record(&[("x", 1, 8192)]), &record(&[])));
        assert_eq!(grown(&space, "/p"), Some(-BLOCK));
        let order = space.children(space.find(b"/p").expect("is there"), By::Grown);
        assert_eq!(order.iter().map(|&dir| space.name(dir)).collect::<Vec<_>>(), [b"r", b"s"]);
        assert!(!space.compare(b"/p/s", &record(&[]), &record(&[("x", 1, 1)])), "is done once");
        assert!(!space.compare(b"/q", &record(&[]), &record(&[])), "is not in the catalog");
        assert_eq!(grown(&space, "/p"), Some(-BLOCK));
    }

    #[test]
    fn a_root_below_a_compared_root_is_left_out() {
        let mut space = space(&["/r", "/r/a"]);
        space.compare(b"/r", &record(&[]), &record(&[("a/x", 1, 1)]));
        assert!(!space.compare(b"/r/a", &record(&[]), &record(&[("x", 1, 99_999)])));
        assert_eq!(grown(&space, "/r/a"), Some(BLOCK));
        space.forget_comparisons();
        assert_eq!(grown(&space, "/r/a"), None);
    }

    #[test]
    fn the_root_directory_can_be_compared() {
        let mut space = space(&["/a"]);
        space.compare(b"/", &record(&[]), &record(&[("a/x", 1, 1)]));
        assert_eq!((grown(&space, "/"), grown(&space, "/a")), (Some(BLOCK), Some(BLOCK)));
    }
}
