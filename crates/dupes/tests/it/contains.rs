//! Locating the files of one directory in another, compared with an oracle that checks every pair
//! of files.

use std::collections::HashMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use dupes::{Content, ContentLocation, Walked, is_inside, locate_contents, outside};
use proptest::prelude::{ProptestConfig, any, prop_assert_eq, proptest};
use testkit::random_tree;
use walk::{FileId, Tree};

use crate::scan::{in_memory, setup};

fn paths(tree: &Tree) -> Vec<PathBuf> {
    let path = |id| Path::new(std::ffi::OsStr::from_bytes(&tree.path(FileId(id)))).to_path_buf();
    (0..u32::try_from(tree.files().len()).expect("a small tree")).map(path).collect()
}

fn dirs_below(dir: &Path, all: &mut Vec<PathBuf>) {
    all.push(dir.to_path_buf());
    let mut below: Vec<PathBuf> =
        fs::read_dir(dir).expect("a directory").map(|e| e.expect("an entry").path()).collect();
    below.sort();
    let is_dir = |path: &PathBuf| path.symlink_metadata().expect("metadata").is_dir();
    below.into_iter().filter(is_dir).for_each(|path| dirs_below(&path, all));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn located_contents_match_the_oracle(
        tree in random_tree(40),
        choice in any::<(usize, usize)>(),
        unknown in any::<u64>(),
    ) {
        let temp = in_memory();
        tree.make(&temp);
        let mut dirs = Vec::new();
        dirs_below(temp.path(), &mut dirs);
        let (one, other) = (&dirs[choice.0 % dirs.len()], &dirs[choice.1 % dirs.len()]);
        let setup = setup().empty(false);
        let (a, b) = (setup.walk(&[one]), setup.walk(&[other]));
        let mut numbers: HashMap<Vec<u8>, i64> = HashMap::new();
        let mut contents = |tree: &Tree, unknown: u64| -> Vec<Content> {
            let number = |(at, path): (usize, &PathBuf)| {
                let next = i64::try_from(numbers.len()).expect("small");
                let bytes = fs::read(path).expect("readable");
                let number = *numbers.entry(bytes).or_insert(next);
                if unknown >> (at % 64) & 1 == 1 { Content::Unknown } else { Content::Known(number) }
            };
            paths(tree).iter().enumerate().map(number).collect()
        };
        let (unknown_a, unknown_b) = (unknown & unknown >> 1, unknown & unknown >> 7 & unknown >> 9);
        let (in_a, in_b) = (contents(&a.tree, unknown_a), contents(&b.tree, unknown_b));
        let found = locate_contents(
            Walked { tree: &a.tree, contents: &in_a },
            Walked { tree: &b.tree, contents: &in_b },
        );
        let left = |path: &&PathBuf| !path.starts_with(one);
        prop_assert_eq!(is_inside(&a.tree, &b.tree), other.starts_with(one));
        let there = paths(&b.tree);
        prop_assert_eq!(outside(&a.tree, &b.tree).len(), there.iter().filter(left).count());
        let inode = |path: &Path| path.metadata().expect("metadata").ino();
        for ((path, content), place) in paths(&a.tree).iter().zip(&in_a).zip(found) {
            let linked = there.iter().filter(left).any(|p| inode(p) == inode(path));
            let bytes = fs::read(path).expect("readable");
            let as_large: Vec<_> = there
                .iter()
                .zip(&in_b)
                .filter(|(p, _)| left(p) && p.metadata().expect("metadata").len() == bytes.len() as u64)
                .collect();
            let equal = |p: &PathBuf| fs::read(p).expect("readable") == bytes;
            let is_known = |content: &Content| *content != Content::Unknown;
            let copied = as_large.iter().any(|(p, content)| is_known(content) && equal(p));
            let all_known = as_large.iter().all(|(_, content)| is_known(content));
            let expected = match (linked, content, copied) {
                (true, ..) => ContentLocation::Linked,
                _ if as_large.is_empty() => ContentLocation::Missing,
                (_, Content::Unknown, _) => ContentLocation::Unknown,
                (_, _, true) => ContentLocation::Copied,
                _ if all_known => ContentLocation::Missing,
                _ => ContentLocation::Undecided,
            };
            prop_assert_eq!(place, expected, "{}", path.display());
        }
    }
}
