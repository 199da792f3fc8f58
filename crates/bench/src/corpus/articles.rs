//! Four trees from the articles by the author of jdupes: two with hardly any duplicates, one of
//! pictures, and a huge mixture.
//!
//! The articles publish the numbers of files, directories and duplicates, and the mean sizes.
//! Everything else is our choice.

use super::content::{Content, Shape};
use super::dice::Dice;
use super::plan::Plan;

/// The published figures of a tree, and our choices where a figure was not published.
pub(super) struct Article {
    pub(super) names: u64,
    dirs: u64,
    mean_bytes: f64,
    /// The size of the largest file, if it was published.
    largest_bytes: Option<u64>,
    /// The number of copies, and the number of distinct files that were copied.
    copies: u64,
    copied: u64,
    /// The number of additional hard links, and the number of files that have any.
    links: u64,
    linked: u64,
    /// The spread of sizes (see [`Dice::size`]), and the number of different headers.
    doublings: f64,
    headers: u64,
    extension: &'static str,
}

/// 48,000 files in 135 flat directories, mean 495 KB, no duplicates, five sets of hard links.
pub(super) const NO_DUPS_135: Article = Article {
    names: 48_000,
    dirs: 135,
    mean_bytes: 495_000.0,
    largest_bytes: None,
    copies: 0,
    copied: 0,
    links: 5,
    linked: 5,
    doublings: 1.5,
    headers: 20,
    extension: "bin",
};

/// 31,000 files in 762 directories, mean 260 KB, 208 duplicates in 39 sets.
pub(super) const FEW_DUPS_762: Article = Article {
    names: 31_000,
    dirs: 762,
    mean_bytes: 260_000.0,
    copies: 208,
    copied: 39,
    links: 0,
    linked: 0,
    ..NO_DUPS_135
};

/// 18,500 files in 395 directories, mean 2.6 MB, up to 552 MB, no duplicates.
pub(super) const PHOTOS: Article = Article {
    names: 18_500,
    dirs: 395,
    mean_bytes: 2_600_000.0,
    largest_bytes: Some(552_000_000),
    links: 0,
    linked: 0,
    doublings: 0.9,
    headers: 6,
    extension: "jpg",
    ..NO_DUPS_135
};

/// 900,000 files in 12,599 directories with many hard links and duplicates. How many was not
/// published. In this plan, a quarter of the names are additional hard links, and a fifth are
/// copies.
pub(super) const HUGE_MIXED: Article = Article {
    names: 900_000,
    dirs: 12_599,
    mean_bytes: 20_000.0,
    copies: 180_000,
    copied: 60_000,
    links: 225_000,
    linked: 90_000,
    doublings: 1.9,
    headers: 60,
    extension: "dat",
    ..NO_DUPS_135
};

impl Article {
    /// Plans the tree with scaled sizes and about `names` names. The other counts scale in
    /// proportion.
    pub(super) fn plan(&self, names: u64, scale: f64, seed: u64) -> Plan {
        let mut dice = Dice::new(seed);
        let part = |count: u64| (count * names).div_ceil(self.names);
        let (copies, copied_from) = (part(self.copies), part(self.copied));
        let (links, linked_to) = (part(self.links), part(self.linked));
        let mut plan = Plan::new();
        let dirs: Vec<u32> = (0..part(self.dirs)).map(|n| self.dir(&mut plan, n)).collect();
        let sizes = self.sizes(names.saturating_sub(copies + links).max(2), scale, &mut dice);
        for (number, size) in (1..).zip(sizes) {
            let id = u32::try_from(dice.below(self.headers)).expect("few headers");
            let shape = Shape::Header { id: 10_000 + id, len: 200 + 170 * id };
            let dir = dirs[dice.index(dirs.len())];
            let name = format!("{number:06}.{}", self.extension);
            plan.file(dir, name, Content { size, seed: number, shape });
        }
        // Picks each original once before picking at random, so that every one is copied or linked.
        let originals = plan.inodes.len() as u64;
        let which = |n: u64, of: u64, dice: &mut Dice| if n < of { n } else { dice.below(of) };
        for number in 0..copies {
            let original = which(number, copied_from, &mut dice) * (originals / copied_from);
            let content = plan.inodes[usize::try_from(original).expect("an index")];
            let dir = dirs[dice.index(dirs.len())];
            plan.file(dir, format!("copy {number:06}.{}", self.extension), content);
        }
        for number in 0..links {
            let of = which(number, linked_to, &mut dice) * (originals / linked_to);
            let dir = dirs[dice.index(dirs.len())];
            let inode = u32::try_from(of).expect("an inode of the plan");
            plan.link(dir, format!("link {number:06}.{}", self.extension), inode);
        }
        plan
    }

    /// Adds directory `n`. A small tree is flat, and a large one has two levels.
    fn dir(&self, plan: &mut Plan, n: u64) -> u32 {
        if self.dirs < 1_000 {
            return plan.dir(format!("dir{n:03}"));
        }
        plan.dir(format!("part{:02}/dir{n:05}", n % 97))
    }

    #[expect(clippy::cast_precision_loss, reason = "far less than 2^53")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of files")]
    fn sizes(&self, files: u64, scale: f64, dice: &mut Dice) -> Vec<u64> {
        let mut drawn: Vec<f64> = (0..files).map(|_| dice.size(1.0, self.doublings)).collect();
        let factor = scale * self.mean_bytes * files as f64 / drawn.iter().sum::<f64>();
        for size in &mut drawn {
            *size *= factor;
        }
        if let Some(largest) = self.largest_bytes {
            // The other files shrink to make up for the largest one, so that the mean size does not
            // change.
            let largest = largest as f64 * scale;
            let all: f64 = drawn.iter().sum();
            let rest = (all - largest).max(all / 2.0) / (all - drawn[0]);
            for size in &mut drawn {
                *size = (*size * rest).min(largest);
            }
            drawn[0] = largest;
        }
        drawn.into_iter().map(|size| (size as u64).max(16)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Article, FEW_DUPS_762, HUGE_MIXED, NO_DUPS_135, PHOTOS};
    use crate::corpus::Counts;

    fn counts(article: &Article, names: u64) -> Counts {
        article.plan(names, 0.01, 1).counts()
    }

    #[test]
    fn no_dups_135_has_none_and_five_sets_of_links() {
        let counts = counts(&NO_DUPS_135, NO_DUPS_135.names);
        assert_eq!((counts.names, counts.dirs, counts.linked), (48_000, 135, 5));
        assert_eq!((counts.groups, counts.in_groups), (0, 0));
    }

    #[test]
    fn few_dups_762_has_208_in_39_sets() {
        let counts = counts(&FEW_DUPS_762, FEW_DUPS_762.names);
        assert_eq!((counts.names, counts.dirs, counts.linked), (31_000, 762, 0));
        assert_eq!((counts.groups, counts.in_groups - counts.groups), (39, 208));
    }

    #[test]
    fn photos_are_large_and_all_different() {
        let plan = PHOTOS.plan(PHOTOS.names, 1.0, 1);
        let counts = plan.counts();
        assert_eq!((counts.names, counts.dirs, counts.groups), (18_500, 395, 0));
        let mean = counts.bytes / counts.inodes;
        assert!((2_500_000..2_700_000).contains(&mean), "{mean}");
        let largest = plan.inodes.iter().map(|content| content.size).max();
        assert_eq!(largest, Some(552_000_000));
    }

    #[test]
    fn huge_mixed_has_links_and_copies_everywhere() {
        let counts = counts(&HUGE_MIXED, HUGE_MIXED.names);
        assert_eq!((counts.names, counts.linked, counts.groups), (900_000, 90_000, 60_000));
        assert_eq!(counts.in_groups, 240_000);
        assert_eq!(counts.dirs, 12_599 + 97);
    }

    #[test]
    fn counts_scale_with_the_number_of_names() {
        let counts = counts(&HUGE_MIXED, 9_000);
        assert_eq!((counts.names, counts.linked, counts.groups), (9_000, 900, 600));
    }
}
