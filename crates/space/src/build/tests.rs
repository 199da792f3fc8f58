//! Compares the totals with those of a slow reference computation.

use std::collections::BTreeMap;

use catalog::SpaceRow;
use proptest::prelude::*;

use super::{Contents, Dirs, Files, Orphans, Tree, build};
use crate::part::Part;
use crate::space::{By, DirId, Space, TOP, Totals};

/// A small catalog. Directories and files are random; a file is a set of names.
#[derive(Clone, Debug)]
struct Model {
    /// The parent of each directory; the directory itself has the next number.
    parents: Vec<usize>,
    files: Vec<ModelFile>,
    /// Reclaimable bytes of each content.
    reclaimable: Vec<u64>,
}

#[derive(Clone, Debug)]
struct ModelFile {
    /// The directory of each name.
    dirs: Vec<usize>,
    size: u64,
    allocated: u64,
    mtime_ns: i64,
    content: Option<usize>,
}

fn models() -> impl Strategy<Value = Model> {
    let file = (
        prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        0..20_000u64,
        0..9u64,
        -5..5i64,
        prop::option::of(0..6usize),
    );
    let parents = prop::collection::vec(any::<prop::sample::Index>(), 0..12);
    let reclaimable = prop::collection::vec(0..50u64, 6);
    (parents, prop::collection::vec(file, 0..30), reclaimable).prop_map(
        |(parents, files, reclaimable)| {
            let parents: Vec<usize> =
                parents.iter().enumerate().map(|(at, parent)| parent.index(at + 1)).collect();
            let count = parents.len() + 1;
            let files =
                files.into_iter().map(|(dirs, size, blocks, mtime_ns, content)| ModelFile {
                    dirs: dirs.iter().map(|dir| dir.index(count)).collect(),
                    size,
                    allocated: blocks * 512,
                    mtime_ns,
                    content,
                });
            Model { parents, files: files.collect(), reclaimable }
        },
    )
}

impl Model {
    fn is_in(&self, mut dir: usize, top: usize) -> bool {
        while dir != top && dir != 0 {
            dir = self.parents[dir - 1];
        }
        dir == top
    }

    /// Counts what is below a directory, file by file.
    fn totals(&self, top: usize) -> Totals {
        let mut totals = Totals::default();
        for file in &self.files {
            let inside = file.dirs.iter().filter(|&&dir| self.is_in(dir, top)).count();
            totals.names += inside as u64;
            if inside > 0 {
                let oldest = totals.oldest_ns.unwrap_or(i64::MAX).min(file.mtime_ns);
                totals.oldest_ns = Some(oldest);
                totals.newest_ns = Some(totals.newest_ns.unwrap_or(i64::MIN).max(file.mtime_ns));
            }
            if inside == file.dirs.len() {
                totals.files += 1;
                totals.bytes += file.size;
                totals.allocated += file.allocated;
            }
        }
        totals
    }

    /// Returns the range in which the reclaimable bytes of a directory must be. Bytes that cannot
    /// be divided by the number of redundant files may be attributed to any of them.
    fn reclaimable(&self, top: usize) -> std::ops::RangeInclusive<u64> {
        let (mut least, mut most) = (0, 0);
        for (content, &bytes) in self.reclaimable.iter().enumerate() {
            let files: Vec<&ModelFile> =
                self.files.iter().filter(|file| file.content == Some(content)).collect();
            let inside = |file: &&&ModelFile| file.dirs.iter().all(|&dir| self.is_in(dir, top));
            let removable = files.iter().filter(inside).count() as u64;
            let all = files.len() as u64;
            if all < 2 {
                continue;
            }
            let redundant = all - 1;
            if removable == all {
                (least, most) = (least + bytes, most + bytes);
            } else {
                least += bytes / redundant * removable;
                most += bytes / redundant * removable;
                most += if removable > 0 { bytes % redundant } else { 0 };
            }
        }
        least..=most
    }

    /// Returns the directories. Their names are not in order, and their ids differ from positions.
    fn dirs(&self) -> Dirs {
        let mut dirs = Dirs::new(id(0));
        for (at, &parent) in (1..).zip(&self.parents) {
            dirs.push(id(at), id(parent), name(at).as_bytes());
        }
        dirs
    }

    fn rows(&self) -> Vec<(i64, SpaceRow)> {
        let mut rows: Vec<(i64, SpaceRow)> = Vec::new();
        for (inode, file) in (1..).zip(&self.files) {
            let row = SpaceRow {
                volume: 1,
                inode,
                size: file.size,
                allocated: file.allocated,
                mtime_ns: file.mtime_ns,
                content: file.content.map(|content| 40 + i64::try_from(content).expect("small")),
            };
            rows.extend(file.dirs.iter().map(|&dir| (id(dir), row)));
        }
        rows.sort_by_key(|row| row.0);
        rows
    }

    fn space(&self, parts: usize) -> Space {
        let contents: Vec<(i64, u64)> = (40..).zip(self.reclaimable.iter().copied()).collect();
        let rows = self.rows();
        let chunks = rows.chunks(rows.len().div_ceil(parts).max(1));
        let files = chunks.map(files).reduce(|mut all, more| {
            all.add_all(more);
            all
        });
        let tree = Tree::new(&self.dirs());
        build(tree, &Contents::new(&contents), files.unwrap_or_else(|| Files::for_about(64)))
            .expect("no orphans")
    }
}

fn id(dir: usize) -> i64 {
    i64::try_from(dir * 3 + 1).expect("small")
}

/// Returns a name that no other directory has.
fn name(dir: usize) -> String {
    format!("d{}", (dir * 7) % 13)
}

/// Returns the directory of the space for each directory of the model.
fn numbers(model: &Model, space: &Space) -> Vec<DirId> {
    let mut numbers = vec![TOP];
    for (at, &parent) in (1..).zip(&model.parents) {
        let children = space.children(numbers[parent], By::Size);
        let found = children.into_iter().find(|&child| space.name(child) == name(at).as_bytes());
        numbers.push(found.expect("every directory is there"));
    }
    numbers
}

proptest! {
    #[test]
    fn totals_equal_those_of_a_count_file_by_file(model in models(), parts in 1..4usize) {
        let space = model.space(parts);
        for (dir, number) in numbers(&model, &space).into_iter().enumerate() {
            let found = space.totals(number);
            let expected = Totals { reclaimable: found.reclaimable, ..model.totals(dir) };
            prop_assert_eq!(found, expected, "directory {}", dir);
            let range = model.reclaimable(dir);
            prop_assert!(range.contains(&found.reclaimable), "{} in {:?}", found.reclaimable, range);
        }
    }

    #[test]
    fn the_top_reclaims_exactly_what_all_contents_reclaim(model in models()) {
        let mut files: BTreeMap<usize, u64> = BTreeMap::new();
        for content in model.files.iter().filter_map(|file| file.content) {
            *files.entry(content).or_default() += 1;
        }
        let shared = files.iter().filter(|(_, files)| **files > 1);
        let expected: u64 = shared.map(|(&content, _)| model.reclaimable[content]).sum();
        prop_assert_eq!(model.space(1).totals(TOP).reclaimable, expected);
    }
}

/// Returns the directories with these ids, parents and names below the root directory, whose id is 1.
fn dirs(rows: &[(i64, i64, &str)]) -> Dirs {
    let mut dirs = Dirs::new(1);
    for &(id, parent, name) in rows {
        dirs.push(id, parent, name.as_bytes());
    }
    dirs
}

fn files(rows: &[(i64, SpaceRow)]) -> Files {
    let mut part = Part::default();
    for (dir, file) in rows {
        part.add(*dir, file);
    }
    let mut files = Files::for_about(64);
    files.add(part);
    files
}

fn file(dir: i64, inode: u64, content: Option<i64>) -> (i64, SpaceRow) {
    let row = SpaceRow { volume: 1, inode, size: 5000, allocated: 8192, mtime_ns: 0, content };
    (dir, row)
}

fn space(rows: &[(i64, i64, &str)], names: &[(i64, SpaceRow)], contents: &[(i64, u64)]) -> Space {
    let tree = Tree::new(&dirs(rows));
    build(tree, &Contents::new(contents), files(names)).expect("no orphans")
}

#[test]
fn a_hard_link_counts_in_the_lowest_directory_with_all_its_names() {
    let rows = [(2, 1, "a"), (3, 2, "x"), (4, 2, "y")];
    let space = space(&rows, &[file(3, 7, None), file(4, 7, None)], &[]);
    let files = |path: &[u8]| space.totals(space.find(path).expect("is there")).files;
    assert_eq!((files(b"/a/x"), files(b"/a/y"), files(b"/a")), (0, 0, 1));
    assert_eq!(space.own(space.find(b"/a").expect("is there")).allocated, 8192);
}

#[test]
fn all_copies_in_a_directory_can_go_if_another_one_is_outside() {
    let rows = [(2, 1, "inside"), (3, 1, "outside")];
    let files = [file(2, 1, Some(9)), file(2, 2, Some(9)), file(3, 3, Some(9))];
    let space = space(&rows, &files, &[(9, 16_384)]);
    let of = |path: &[u8]| space.totals(space.find(path).expect("is there")).reclaimable;
    assert_eq!((of(b"/inside"), of(b"/outside"), of(b"/")), (16_384, 8192, 16_384));
}

#[test]
fn orders_sort_by_their_total_and_then_by_name() {
    let rows = [(2, 1, "b"), (3, 1, "a"), (4, 1, "c")];
    let files = [file(2, 1, Some(9)), file(3, 2, Some(9)), file(4, 3, None), file(4, 4, None)];
    let space = space(&rows, &files, &[(9, 4096)]);
    let order = |by| -> Vec<&[u8]> {
        space.children(TOP, by).into_iter().map(|dir| space.name(dir)).collect()
    };
    assert_eq!(order(By::Size), [b"c", b"a", b"b"]);
    assert_eq!(order(By::Reclaimable), [b"a", b"b", b"c"]);
    assert_eq!(order(By::Files), [b"c", b"a", b"b"]);
}

#[test]
fn paths_lead_to_directories_and_back() {
    let rows = [(2, 1, "home"), (3, 2, "me")];
    let space = space(&rows, &[], &[]);
    for path in [&b"/"[..], b"/home", b"/home/me"] {
        let found = space.find(path).expect("is there");
        assert_eq!(space.path(found), path);
    }
    assert_eq!(space.find(b"/home/you"), None);
    assert_eq!(space.find(b"/me"), None);
}

#[test]
fn files_without_a_directory_are_counted_as_orphans() {
    // The ids have wide gaps or not.
    for id in [5, 5_000_000] {
        let rows = [(id, 6, "a"), (6, id, "b")];
        let files = files(&[file(id, 1, None), file(77, 2, None), file(1, 3, None)]);
        let result = build(Tree::new(&dirs(&rows)), &Contents::new(&[]), files);
        assert_eq!(result.expect_err("two files have no directory"), Orphans(2));
    }
}

#[test]
fn sums_of_a_forged_catalog_do_not_overflow() {
    let rows = [(2, 1, "a")];
    let huge = |inode| (2, SpaceRow { allocated: u64::MAX, ..file(2, inode, Some(9)).1 });
    let contents = [(9, u64::MAX >> 1)];
    let space = space(&rows, &[huge(1), huge(2), huge(3)], &contents);
    assert_eq!(space.totals(TOP).files, 3);
}

#[test]
fn a_directory_takes_at_most_100_bytes_with_a_name_of_20() {
    assert!(size_of::<super::Sums>() + size_of::<(u32, u32, u32)>() + 20 <= 100);
}
