//! The files that web servers serve in races: many small ones, some larger ones, and a very large one.
//!
//! The first set is that of an [article] that compares web servers: 1,000 files of 8 KiB. A server
//! cannot keep all files of the second set open.
//!
//! [article]: https://www.virkki.com/jyri/articles/

use super::content::Content;
use super::plan::Plan;

/// The number of names of the published tree.
pub(super) const NAMES: u64 = 101_065;
/// The path of the large file.
pub(crate) const BIG: &str = "big";
/// The number of files in each subdirectory of `many`.
const PER_DIR: u64 = 1_000;

const SMALL_BYTES: u64 = 8 << 10;
const BIG_BYTES: f64 = 4_294_967_296.0;

/// The number of files in each set of a tree. In the published tree, `many` has 100,000.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sets {
    /// 8 KiB each, in `small`. They are few enough for any cache.
    small: u64,
    /// 1 MiB each, in `mib`.
    mib: u64,
    /// 8 KiB each, in subdirectories of `many`. They are too many for most caches.
    many: u64,
}

impl Sets {
    /// Returns the sets of a tree with so many names.
    pub(crate) fn of(names: u64) -> Self {
        let (small, mib) = ((names / 4).clamp(1, 1_000), (names / 16).clamp(1, 64));
        Self { small, mib, many: names.saturating_sub(small + mib + 1) }
    }

    /// Returns the path of each file of `small`, from the root.
    pub(crate) fn small(self) -> impl Iterator<Item = String> {
        (0..self.small).map(|number| format!("small/f{number}"))
    }

    /// Returns the path of each file of `mib`.
    pub(crate) fn mib(self) -> impl Iterator<Item = String> {
        (0..self.mib).map(|number| format!("mib/f{number}"))
    }

    /// Returns the path of each file of `many`.
    pub(crate) fn many(self) -> impl Iterator<Item = String> {
        (0..self.many).map(|number| format!("many/d{}/f{}", number / PER_DIR, number % PER_DIR))
    }
}

/// Plans `served`. The scale affects only the size of the large file, which stays a multiple of
/// 1 MiB.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive size")]
pub(super) fn served(names: u64, scale: f64) -> Plan {
    let sets = Sets::of(names);
    let big_bytes = ((BIG_BYTES * scale) as u64 >> 20).max(1) << 20;
    let small = sets.small().chain(sets.many()).map(|path| (path, SMALL_BYTES));
    let larger = sets.mib().map(|path| (path, 1 << 20)).chain([(BIG.to_owned(), big_bytes)]);
    let mut plan = Plan::new();
    for (seed, (path, size)) in (1..).zip(small.chain(larger)) {
        let (dir, name) = path.rsplit_once('/').unwrap_or(("", &path));
        let dir = plan.dir(dir);
        plan.file(dir, name, Content::plain(size, seed));
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::{BIG, NAMES, Sets, served};

    #[test]
    fn the_published_tree_has_its_sets() {
        let plan = served(NAMES, 1.0);
        let counts = plan.counts();
        assert_eq!((counts.names, counts.groups), (NAMES, 0));
        assert_eq!(counts.bytes, 101_000 * 8_192 + (64 << 20) + (4 << 30));
    }

    #[test]
    fn every_path_is_planned() {
        for names in [1, 120, 3_000] {
            let plan = served(names, 0.001);
            let planned: Vec<_> = plan.paths().map(|path| path.display().to_string()).collect();
            let sets = Sets::of(names);
            let paths: Vec<_> = sets.small().chain(sets.many()).chain(sets.mib()).collect();
            assert_eq!(paths.len() + 1, planned.len(), "and the large file");
            assert!(paths.iter().all(|path| planned.contains(path)), "{:?}", paths.last());
            assert!(planned.contains(&BIG.to_owned()));
        }
    }
}
