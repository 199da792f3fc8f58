//! `server2018`: the tree of a home server, built to the published counts of a real one.
//!
//! The counts come from articles by the author of dupd that compare duplicate finders, 2018 and
//! 2022. The tree itself was never published. Types, sizes, names and directories are our choice.

use super::content::{Content, Shape};
use super::dice::Dice;
use super::plan::{OtherKind, Plan};

/// The number of files of each sort. [`PUBLISHED`] holds the numbers from the article.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Makeup {
    /// Number of empty files and of entries that are not regular files.
    pub(super) empty_or_other: u64,
    /// Number of files with a unique size.
    pub(super) lone: u64,
    /// Number of groups of identical files.
    pub(super) groups: u64,
    /// Number of files in these groups.
    pub(super) in_groups: u64,
    /// Number of files whose size is shared but whose content is unique.
    pub(super) unlike: u64,
}

/// 154,205 files, of which 134,312 are candidates.
pub(super) const PUBLISHED: Makeup = Makeup {
    empty_or_other: 1_216,
    lone: 18_677,
    groups: 13_828,
    in_groups: 44_926,
    unlike: 89_386,
};

/// The mean size at scale 1. The tree then has 4.9 GB. It is large enough to tell tools apart and
/// small enough to stay in memory.
const MEAN_BYTES: f64 = 32_000.0;

/// A sort of files: its names, sizes and directories.
struct Sort {
    /// Percentage of all files that are of this sort.
    share: u64,
    median_bytes: f64,
    /// See [`Dice::size`].
    doublings: f64,
    /// The number of different headers, and the length of the longest.
    headers: u32,
    header_bytes: u32,
    extensions: &'static [&'static str],
    /// Draws a directory.
    place: fn(&mut Dice) -> String,
}

/// The approximate number of original files in a directory.
const FILES_PER_PLACE: u64 = 9;

const SORTS: [Sort; 5] = [
    Sort {
        share: 48,
        median_bytes: 3_000.0,
        doublings: 1.6,
        headers: 40,
        header_bytes: 1_800,
        extensions: &["c", "h", "py", "rs", "js", "txt", "md", "html"],
        place: |dice| {
            let part = ["src", "include", "tests", "doc", "lib/core", "lib/net", "tools"];
            format!("src/project{:03}/{}", dice.low_index(400), part[dice.index(part.len())])
        },
    },
    Sort {
        share: 17,
        median_bytes: 18_000.0,
        doublings: 1.7,
        headers: 12,
        header_bytes: 4_000,
        extensions: &["pdf", "odt", "doc", "xls", "eml"],
        place: |dice| {
            let topic = ["letters", "tax", "school", "house", "insurance", "recipes", "manuals"];
            format!("documents/{}/{}", 1998 + dice.below(21), topic[dice.index(topic.len())])
        },
    },
    Sort {
        share: 24,
        median_bytes: 40_000.0,
        doublings: 1.2,
        headers: 8,
        header_bytes: 12_000,
        extensions: &["jpg", "jpg", "jpg", "png", "gif"],
        place: |dice| {
            let (year, month) = (2001 + dice.below(18), 1 + dice.below(12));
            format!("pictures/{year}/{year}-{month:02}/event{}", dice.below(6))
        },
    },
    Sort {
        share: 10,
        median_bytes: 110_000.0,
        doublings: 0.8,
        headers: 120,
        header_bytes: 4_096,
        extensions: &["mp3", "mp3", "ogg", "flac"],
        place: |dice| format!("music/artist{:03}/album{}", dice.low_index(300), dice.below(8)),
    },
    Sort {
        share: 1,
        median_bytes: 700_000.0,
        doublings: 1.4,
        headers: 5,
        header_bytes: 40_000,
        extensions: &["mp4", "avi", "mkv"],
        place: |dice| format!("video/{}", 2004 + dice.below(15)),
    },
];

/// Files of the same size. For each distinct content, `copies` holds the number of files.
struct Class {
    sort: usize,
    copies: Vec<u64>,
}

impl Class {
    fn files(&self) -> u64 {
        self.copies.iter().sum()
    }
}

impl Makeup {
    /// Returns a makeup of about `files` files in the same proportions.
    pub(super) fn of(files: u64) -> Self {
        let all =
            PUBLISHED.empty_or_other + PUBLISHED.lone + PUBLISHED.in_groups + PUBLISHED.unlike;
        let part = |count: u64| (count * files).div_ceil(all);
        let groups = part(PUBLISHED.groups);
        Self {
            empty_or_other: part(PUBLISHED.empty_or_other),
            lone: part(PUBLISHED.lone),
            groups,
            in_groups: part(PUBLISHED.in_groups).max(2 * groups),
            unlike: part(PUBLISHED.unlike).max(2),
        }
    }
}

/// Plans the tree. `scale` applies to the sizes, and `makeup` gives the counts.
pub(super) fn plan(makeup: Makeup, scale: f64, seed: u64) -> Plan {
    let mut dice = Dice::new(seed);
    let mut classes = classes(makeup, &mut dice);
    classes.extend((0..makeup.lone).map(|_| Class { sort: sort(&mut dice), copies: vec![1] }));
    let sizes = sizes(&classes, scale, &mut dice);
    let mut files = Vec::new();
    for (class, size) in classes.iter().zip(sizes) {
        for &copies in &class.copies {
            let seed = files.len() as u64 + 1;
            files.push((class.sort, content(class.sort, size, seed, &mut dice), copies));
        }
    }
    // The order of names within a directory is independent of their sizes.
    dice.shuffle(&mut files);
    let places = SORTS.each_ref().map(|sort| places(sort, makeup, &mut dice));
    let mut plan = Plan::new();
    for (sort, content, copies) in files {
        put(&mut plan, &SORTS[sort], &places[sort], content, copies, &mut dice);
    }
    empty_and_other(&mut plan, makeup.empty_or_other, &places[0], &mut dice);
    plan
}

/// Draws the directories of a sort, in proportion to its files.
fn places(sort: &Sort, makeup: Makeup, dice: &mut Dice) -> Vec<String> {
    let files = (makeup.lone + makeup.unlike + makeup.in_groups) * sort.share / 100;
    (0..=files / FILES_PER_PLACE).map(|_| (sort.place)(dice)).collect()
}

fn sort(dice: &mut Dice) -> usize {
    let mut left = dice.below(100);
    let found = SORTS.iter().position(|sort| {
        let here = left < sort.share;
        left = left.saturating_sub(sort.share);
        here
    });
    found.expect("the shares add up to 100")
}

/// Distributes the groups and the unique files over classes of at least two files.
fn classes(makeup: Makeup, dice: &mut Dice) -> Vec<Class> {
    let mut groups = vec![2; usize::try_from(makeup.groups).expect("a count of files")];
    for _ in 2 * makeup.groups..makeup.in_groups {
        let lucky = dice.low_index(groups.len());
        groups[lucky] += 1;
    }
    let mut classes = Vec::new();
    let mut unlike = makeup.unlike;
    while unlike > 0 {
        // Most sizes are shared by few files and some by hundreds. The mean is 35.
        let many = 2 + (dice.low_index(12) * (1 + dice.low_index(40))) as u64;
        // Avoids a class of a single file, which would not share its size.
        let take = if unlike < many + 2 { unlike } else { many };
        let copies = (0..take).map(|_| 1).collect();
        classes.push(Class { sort: sort(dice), copies });
        unlike -= take;
    }
    let mixed = classes.len();
    for (number, copies) in groups.into_iter().enumerate() {
        if number % 6 == 0 {
            classes.push(Class { sort: sort(dice), copies: vec![copies] });
        } else {
            classes[dice.index(mixed)].copies.push(copies);
        }
    }
    classes
}

/// Draws a size for each class. The more files a class has, the smaller they tend to be.
#[expect(clippy::cast_precision_loss, reason = "far less than 2^53")]
fn drawn(classes: &[Class], dice: &mut Dice) -> Vec<f64> {
    let mut sizes = vec![0.0; classes.len()];
    for (number, sort) in SORTS.iter().enumerate() {
        let of_sort = (0..classes.len()).filter(|&class| classes[class].sort == number);
        let weigh = |class: usize| (class, classes[class].files() as f64 * dice.unit());
        let mut of_sort: Vec<(usize, f64)> = of_sort.map(weigh).collect();
        of_sort.sort_by(|a, b| b.1.total_cmp(&a.1));
        let size = |_: &_| dice.size(sort.median_bytes, sort.doublings);
        let mut of_size: Vec<f64> = of_sort.iter().map(size).collect();
        of_size.sort_by(f64::total_cmp);
        for ((class, _), size) in of_sort.into_iter().zip(of_size) {
            sizes[class] = size;
        }
    }
    sizes
}

/// Returns a different size for each class.
///
/// The scale determines the sum of the sizes. Because the sizes differ, a tree with the full counts
/// cannot be smaller than 1 GB.
#[expect(clippy::cast_precision_loss, reason = "far less than 2^53")]
fn sizes(classes: &[Class], scale: f64, dice: &mut Dice) -> Vec<u64> {
    let drawn = drawn(classes, dice);
    let mut by_size: Vec<usize> = (0..classes.len()).collect();
    by_size.sort_by(|&a, &b| drawn[a].total_cmp(&drawn[b]));
    let files: u64 = classes.iter().map(Class::files).sum();
    let wanted = scale * MEAN_BYTES * files as f64;
    // Making sizes distinct increases them, so a search finds the right factor.
    let (mut low, mut high) = (0.0, 64.0 * scale);
    for _ in 0..30 {
        let middle = f64::midpoint(low, high);
        let sizes = apart(&drawn, &by_size, middle);
        let bytes: u64 = classes.iter().zip(&sizes).map(|(class, size)| class.files() * size).sum();
        if (bytes as f64) < wanted { low = middle } else { high = middle }
    }
    apart(&drawn, &by_size, low)
}

/// Multiplies sizes by a factor and increases sizes that collide.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of files")]
fn apart(drawn: &[f64], by_size: &[usize], factor: f64) -> Vec<u64> {
    let mut sizes = vec![0; drawn.len()];
    // 16 bytes are enough to tell files with the same header apart.
    let mut next = 16;
    for &class in by_size {
        sizes[class] = next.max((drawn[class] * factor) as u64);
        next = sizes[class] + 1;
    }
    sizes
}

fn content(sort: usize, size: u64, seed: u64, dice: &mut Dice) -> Content {
    let Sort { headers, header_bytes, .. } = SORTS[sort];
    let which = u32::try_from(dice.below(u64::from(headers))).expect("below a u32");
    let id = which + 1000 * u32::try_from(sort).expect("one of five");
    // The number of a header determines its length.
    let len = header_bytes * (which + 1) / headers;
    Content { size, seed, shape: Shape::Header { id, len } }
}

/// Places all copies of a file. The first copy goes into a directory of its sort, and most others
/// go into backups.
fn put(
    plan: &mut Plan,
    sort: &Sort,
    places: &[String],
    content: Content,
    copies: u64,
    dice: &mut Dice,
) {
    let home = &places[dice.index(places.len())];
    let extension = sort.extensions[dice.index(sort.extensions.len())];
    for copy in 0..copies {
        let number = plan.names.len();
        let (dir, name) = match (copy, dice.below(3)) {
            (0, _) => (home.clone(), format!("{number:06}.{extension}")),
            (_, 0) => {
                let other = &places[dice.index(places.len())];
                (other.clone(), format!("{number:06} copy.{extension}"))
            }
            _ => {
                let year = 2015 + dice.below(3);
                (format!("backup/{year}/{home}"), format!("{number:06}.{extension}"))
            }
        };
        let dir = plan.dir(dir);
        plan.file(dir, name, content);
    }
}

fn empty_and_other(plan: &mut Plan, count: u64, places: &[String], dice: &mut Dice) {
    for number in 0..count {
        let dir = plan.dir(&places[dice.index(places.len())]);
        match number % 76 {
            0 => plan.other(dir, format!("pipe{number}"), OtherKind::Fifo),
            1..20 => plan.other(dir, format!("link{number}"), OtherKind::Symlink("../src".into())),
            _ => drop(plan.file(dir, format!("__init__{number}.py"), Content::EMPTY)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Makeup, PUBLISHED, plan};

    #[test]
    fn the_counts_are_the_published_ones() {
        let counts = plan(PUBLISHED, 0.3, 1).counts();
        assert_eq!(counts.names, 154_205);
        assert_eq!(counts.inodes - counts.lone - 134_312, 896, "empty files");
        assert_eq!(counts.empty_or_other, 1_216);
        assert_eq!(counts.lone, 18_677);
        assert_eq!(counts.in_groups, 44_926);
        assert_eq!(counts.groups, 13_828);
        assert_eq!(counts.unlike, 89_386);
    }

    #[test]
    fn the_proportions_hold_for_other_numbers_of_files() {
        assert_eq!(Makeup::of(154_205), PUBLISHED);
        for files in [10, 1_000, 20_000] {
            let counts = plan(Makeup::of(files), 0.1, 1).counts();
            assert!((files..files + 10).contains(&counts.names), "{counts}");
            assert_eq!(counts.groups, Makeup::of(files).groups);
            assert_eq!(counts.unlike, Makeup::of(files).unlike);
            assert_eq!(counts.lone, Makeup::of(files).lone);
        }
    }

    #[test]
    fn scale_applies_to_the_bytes() {
        let bytes = |scale| plan(PUBLISHED, scale, 1).counts().bytes;
        assert!((4_500_000_000..5_500_000_000).contains(&bytes(1.0)), "{}", bytes(1.0));
        assert!((1_400_000_000..1_550_000_000).contains(&bytes(0.3)), "{}", bytes(0.3));
    }
}
