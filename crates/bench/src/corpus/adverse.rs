//! Trees that defeat common assumptions of duplicate finders: that sizes differ, that prefixes
//! differ, or that files are small.

use std::path::PathBuf;

use super::content::{Content, Shape};
use super::dice::Dice;
use super::plan::Plan;

/// The size of every file of `same-size` at scale 1.
const SAME_SIZE_BYTES: f64 = 16_384.0;
/// The size of the files of `late` at scale 1.
const LATE_BYTES: f64 = 4_194_304.0;
/// The size of the images of `vm-images` at scale 1.
const IMAGE_BYTES: f64 = 268_435_456.0;

/// Plans `same-size`: different files of one size, a hundred to a directory, like the logs of a
/// robot.
///
/// All files begin with the same line. dupd 1.x needed an hour for such a tree.
pub(super) fn same_size(files: u64, scale: f64) -> Plan {
    let mut plan = Plan::new();
    let shape = Shape::Header { id: 20_000, len: 64 };
    for number in 0..files {
        let dir = plan.dir(format!("day{:04}", number / 100));
        let content = Content { size: scaled(SAME_SIZE_BYTES, scale), seed: number + 1, shape };
        plan.file(dir, format!("log.{:02}", number % 100), content);
    }
    plan
}

/// Plans `late`: families of eight files. Within a family, two files are identical. Four others
/// differ from these in one byte near the end, and the last two in one byte in the middle.
pub(super) fn late(files: u64, scale: f64) -> Plan {
    let mut plan = Plan::new();
    let size = scaled(LATE_BYTES, scale);
    for number in 0..files {
        let (family, member) = (number / 8, number % 8);
        // `seed` is added to the byte at offset `at`. It is 0 for the identical pair.
        let (at, seed) = match member {
            0 | 1 => (size - 8, 0),
            2..6 => (size - 8, member),
            _ => (size / 2, member),
        };
        let shape = Shape::Marked { family: 30_000 + family, at };
        let dir = plan.dir(format!("family{family:04}"));
        plan.file(dir, format!("member{member}"), Content { size, seed, shape });
    }
    plan
}

/// Plans `vm-images`: large images in families of six. Two images are identical. Each of the other
/// four has the same beginning as this pair but a different end. The common part is 1/2, 3/4, 15/16
/// or 255/256 of the image. A quarter of each image consists of holes.
pub(super) fn vm_images(files: u64, scale: f64) -> Plan {
    let mut plan = Plan::new();
    let size = scaled(IMAGE_BYTES, scale);
    for number in 0..files {
        let (family, member) = (number / 6, number % 6);
        let shared = match member {
            0 | 1 => size,
            2 => size / 2,
            3 => size / 4 * 3,
            4 => size / 16 * 15,
            _ => size / 256 * 255,
        };
        let seed = if member < 2 { 0 } else { number };
        let shape = Shape::Image { family: 40_000 + family, shared };
        let dir = plan.dir(format!("host{family}"));
        plan.file(dir, format!("disk{member}.img"), Content { size, seed, shape });
    }
    plan
}

/// Plans `flat`: one directory of small files, every tenth a copy of another.
pub(super) fn flat(files: u64, seed: u64) -> Plan {
    let mut dice = Dice::new(seed);
    let mut plan = Plan::new();
    let dir = plan.dir("flat");
    for number in 0..files {
        let content = if number % 10 == 9 {
            plan.inodes[usize::try_from(number - 9).expect("an index")]
        } else {
            Content::plain(16 + dice.below(200), number + 1)
        };
        plan.file(dir, format!("entry{number:07}"), content);
    }
    plan
}

/// Plans `empty`: empty files, a thousand to a directory.
pub(super) fn empty(files: u64) -> Plan {
    let mut plan = Plan::new();
    for number in 0..files {
        let dir = plan.dir(format!("d{:05}", number / 1_000));
        plan.file(dir, format!("f{:03}", number % 1_000), Content::EMPTY);
    }
    plan
}

/// Plans `flat-empty`: one directory of empty files.
pub(super) fn flat_empty(files: u64) -> Plan {
    let mut plan = Plan::new();
    let dir = plan.dir("flat");
    for number in 0..files {
        plan.file(dir, format!("entry{number:08}"), Content::EMPTY);
    }
    plan
}

/// Plans `tiny-dirs`: empty files, two to a directory, fifty directories in each parent.
pub(super) fn tiny_dirs(files: u64) -> Plan {
    let mut plan = Plan::new();
    for number in 0..files {
        let dir = plan.dir(format!("d{:05}/e{:02}", number / 100, number / 2 % 50));
        plan.file(dir, format!("f{}", number % 2), Content::EMPTY);
    }
    plan
}

/// Plans `chains`: empty files, one to a directory, in chains of five hundred nested directories.
pub(super) fn chains(files: u64) -> Plan {
    let mut plan = Plan::new();
    let mut path = PathBuf::new();
    for number in 0..files {
        if number % 500 == 0 {
            path = PathBuf::from(format!("c{:05}", number / 500));
        }
        path.push("d");
        let dir = plan.dir(&path);
        plan.file(dir, "f", Content::EMPTY);
    }
    plan
}

/// Returns the scaled size, rounded down to whole 8-byte words. The result is large enough that
/// files of this size can differ.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes of files")]
fn scaled(bytes: f64, scale: f64) -> u64 {
    ((bytes * scale) as u64).max(1_024) & !7
}

#[cfg(test)]
mod tests {
    use super::{chains, empty, flat, flat_empty, late, same_size, tiny_dirs, vm_images};

    #[test]
    fn same_size_has_one_class_and_no_group() {
        let counts = same_size(5_000, 1.0).counts();
        assert_eq!((counts.unlike, counts.groups, counts.lone), (5_000, 0, 0));
        assert_eq!(counts.bytes, 5_000 * 16_384);
    }

    #[test]
    fn late_and_vm_images_have_one_pair_in_each_family() {
        let counts = late(80, 0.01).counts();
        assert_eq!((counts.groups, counts.in_groups, counts.unlike), (10, 20, 60));
        let counts = vm_images(24, 1.0).counts();
        assert_eq!((counts.groups, counts.in_groups, counts.unlike), (4, 8, 16));
        assert_eq!(counts.bytes, 24 << 28);
    }

    #[test]
    fn flat_is_one_directory_and_empty_is_many() {
        let counts = flat(1_000, 1).counts();
        assert_eq!((counts.names, counts.dirs, counts.groups), (1_000, 1, 100));
        let counts = empty(20_000).counts();
        assert_eq!((counts.names, counts.dirs, counts.empty_or_other), (20_000, 20, 20_000));
        let counts = flat_empty(1_000).counts();
        assert_eq!((counts.names, counts.dirs, counts.empty_or_other), (1_000, 1, 1_000));
    }

    #[test]
    fn directories_are_tiny_or_deep() {
        let counts = tiny_dirs(1_000).counts();
        assert_eq!((counts.names, counts.dirs), (1_000, 10 + 500));
        let counts = chains(1_000).counts();
        assert_eq!((counts.names, counts.dirs), (1_000, 2 + 1_000));
    }
}
