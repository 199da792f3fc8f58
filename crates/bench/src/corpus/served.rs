//! The files that web servers serve in races: many small ones, some larger ones, and a very large one.
//!
//! The first set is that of an [article] that compares web servers: 1,000 files of 8 KiB. A server
//! cannot keep all files of the second set open.
//!
//! [article]: https://www.virkki.com/jyri/articles/

use super::content::Content;
use super::plan::Plan;

/// The directory and the number of the files that are small enough and few enough for any cache.
pub(crate) const SMALL: (&str, u64) = ("small", 1_000);
/// The directory and the number of the files of 1 MiB.
pub(crate) const MIB: (&str, u64) = ("mib", 64);
/// The name of the large file.
pub(crate) const BIG: &str = "big";
/// The number of small files that are too many for a cache. Their directory is `many`.
const MANY: u64 = 100_000;
/// The number of these files in each of its subdirectories.
const PER_DIR: u64 = 1_000;

/// The number of names of the tree.
pub(super) const NAMES: u64 = SMALL.1 + MIB.1 + 1 + MANY;

const SMALL_BYTES: u64 = 8 << 10;
const BIG_BYTES: f64 = 4_294_967_296.0;

/// Plans `served`. Only the number of the many files depends on `names`, and only the size of the
/// large file depends on the scale. It stays a multiple of 1 MiB.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a positive size")]
pub(super) fn served(names: u64, scale: f64) -> Plan {
    let mut plan = Plan::new();
    let mut seed = 0;
    let mut add = |plan: &mut Plan, dir: &str, number: u64, size: u64| {
        seed += 1;
        let dir = plan.dir(dir);
        plan.file(dir, format!("f{number}"), Content::plain(size, seed));
    };
    for number in 0..SMALL.1 {
        add(&mut plan, SMALL.0, number, SMALL_BYTES);
    }
    for number in 0..MIB.1 {
        add(&mut plan, MIB.0, number, 1 << 20);
    }
    for number in 0..many(names) {
        add(&mut plan, &format!("many/d{}", number / PER_DIR), number % PER_DIR, SMALL_BYTES);
    }
    let mebibytes = ((BIG_BYTES * scale) as u64 >> 20).max(1);
    plan.file(0, BIG, Content::plain(mebibytes << 20, seed + 1));
    plan
}

/// Returns the path of each of the many files of a tree with so many names, from the root.
pub(crate) fn paths_of_many(names: u64) -> impl Iterator<Item = String> {
    let path = |number| format!("/many/d{}/f{}", number / PER_DIR, number % PER_DIR);
    (0..many(names)).map(path)
}

fn many(names: u64) -> u64 {
    names.saturating_sub(SMALL.1 + MIB.1 + 1)
}

#[cfg(test)]
mod tests {
    use super::{NAMES, paths_of_many, served};

    #[test]
    fn the_published_tree_has_its_sets() {
        let plan = served(NAMES, 1.0);
        let counts = plan.counts();
        assert_eq!((counts.names, counts.groups), (NAMES, 0));
        assert_eq!(counts.bytes, 101_000 * 8_192 + (64 << 20) + (4 << 30));
    }

    #[test]
    fn every_path_of_the_many_files_exists() {
        let plan = served(3_565, 0.001);
        let planned: Vec<_> = plan.paths().map(|path| format!("/{}", path.display())).collect();
        let paths: Vec<_> = paths_of_many(3_565).collect();
        assert_eq!(paths.len(), 2_500);
        assert!(paths.iter().all(|path| planned.contains(path)), "{:?}", paths.last());
    }
}
