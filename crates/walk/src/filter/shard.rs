//! Divides a tree among several scans, so that several hosts can scan it at the same time.
//!
//! The path of a directory decides to which shard its files belong, so the scans need not talk to each
//! other. Directories down to [`DEPTH`] are divided one by one, and everything below a directory at this
//! depth belongs to the same shard. All scans list the directories above it.

use std::num::NonZeroU32;

/// The depth of the directories that are divided as a whole. Directories in the root have depth 1. On file
/// systems that many people use, the first levels are groups, users and projects.
const DEPTH: usize = 3;

/// One of several parts of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Beginning with 0.
    number: u32,
    of: NonZeroU32,
}

impl Shard {
    /// Returns shard `number` of `of` shards. Numbers begin with 1. Returns `None` if there is no such shard.
    pub fn new(number: u32, of: u32) -> Option<Shard> {
        let of = NonZeroU32::new(of)?;
        let number = number.checked_sub(1).filter(|&number| number < of.get())?;
        Some(Shard { number, of })
    }

    /// Returns whether the shard has an entry, given by its path below the root: a file that belongs to
    /// it, or a directory that may contain such files.
    pub(crate) fn has(self, path: &[u8], is_dir: bool) -> bool {
        let mut slashes = (0..path.len()).filter(|&at| path[at] == b'/');
        match (slashes.nth(DEPTH - 1), is_dir) {
            // Below the depth: the directory at this depth decides.
            (Some(end), _) => self.has_dir(&path[..end]),
            (None, false) => {
                let end = path.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
                self.has_dir(&path[..end])
            }
            (None, true) => {
                let depth = path.split(|&byte| byte == b'/').count();
                depth < DEPTH || self.has_dir(path)
            }
        }
    }

    /// Returns whether the files of a directory belong to the shard.
    fn has_dir(self, path: &[u8]) -> bool {
        hash(path) % u64::from(self.of.get()) == u64::from(self.number)
    }
}

/// Returns the FNV-1a hash of a path, mixed once more. All versions of lop must divide a tree in the same
/// way, so the hash is part of the format.
fn hash(path: &[u8]) -> u64 {
    let fnv = path.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = (fnv ^ (fnv >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 32)
}

#[cfg(test)]
mod tests {
    use super::Shard;

    fn shards(of: u32) -> Vec<Shard> {
        (1..=of).map(|number| Shard::new(number, of).expect("a shard")).collect()
    }

    #[test]
    fn numbers_begin_with_one_and_end_with_the_last_shard() {
        assert!(Shard::new(0, 3).is_none() && Shard::new(4, 3).is_none());
        assert!(Shard::new(1, 0).is_none());
        assert_eq!(shards(3).len(), 3);
    }

    #[test]
    fn each_file_belongs_to_one_shard_that_lists_all_directories_above_it() {
        for path in ["file", "a/file", "a/b/file", "a/b/c/file", "a/b/c/d/e/file", "a/b/c/d/f"] {
            let owners: Vec<Shard> =
                shards(7).into_iter().filter(|shard| shard.has(path.as_bytes(), false)).collect();
            assert_eq!(owners.len(), 1, "{path}");
            let ends = (0..path.len()).filter(|&at| path.as_bytes()[at] == b'/');
            for end in ends {
                assert!(owners[0].has(&path.as_bytes()[..end], true), "{}", &path[..end]);
            }
        }
    }

    #[test]
    fn only_one_shard_lists_what_is_below_the_depth() {
        for path in ["a/b/c", "a/b/c/d", "x/y/z/1/2/3/4"] {
            let listing = shards(7).into_iter().filter(|shard| shard.has(path.as_bytes(), true));
            assert_eq!(listing.count(), 1, "{path}");
        }
        assert!(shards(7).iter().all(|shard| shard.has(b"a", true) && shard.has(b"a/b", true)));
    }

    #[test]
    fn directories_are_divided_evenly() {
        let mut files = [0; 8];
        for number in 0..8000 {
            let path = format!("group{}/user{number}/project/data", number % 10);
            let owner = shards(8).iter().position(|shard| shard.has(path.as_bytes(), false));
            files[owner.expect("one")] += 1;
        }
        assert!(files.iter().all(|&files| (850..1150).contains(&files)), "{files:?}");
    }

    #[test]
    fn all_versions_divide_a_tree_in_the_same_way() {
        let owner = |path: &str| shards(64).iter().position(|s| s.has(path.as_bytes(), false));
        assert_eq!([owner("file"), owner("a/b/c/d/file"), owner("home/me/x")], OWNERS);
    }

    /// The shards of some paths, from the first version. They must never change.
    const OWNERS: [Option<usize>; 3] = [Some(1), Some(40), Some(22)];
}
