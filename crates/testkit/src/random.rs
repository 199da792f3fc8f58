//! Random trees for proptest, as lists of operations that shrink to the few that matter.
//!
//! Sizes are close to the boundaries at which readers change their behaviour. Contents come from a
//! small pool, so that interesting relations between files are frequent. Some files are duplicates.
//! Some have the same size but differ everywhere, only at the start, in the middle or in the last
//! byte. Some have a hole where others have written zeros.

use std::fmt;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::{Strategy, prop_oneof};
use proptest::sample::select;

use crate::content::Content;
use crate::tree::{Made, TreeBuilder};

/// Sizes in bytes: zero, one, and sizes around a page, a first read, a large buffer, and many
/// reads.
const SIZES: [u64; 12] =
    [0, 1, 4095, 4096, 4097, 16_383, 16_384, 16_385, 65_535, 65_536, 65_537, 200 * 1024];

/// Names of directories. No file has the same name as a directory.
const DIR_NAMES: [&[u8]; 4] = [b"d", b".d", b"d\n \xff", b"-d"];

/// Prefixes of file names. The number of the operation follows.
const NAME_STARTS: [&[u8]; 9] =
    [b"f", b".f", b"-f", b"f ", b"f\n", b"f\t\"'", b"$f`", b"\xff\xfe", b"\x1b[1m"];

/// The depth of nested directories.
const MAX_DEPTH: usize = 4;

/// One step in the creation of a random tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// A directory, which stays empty unless a later operation creates something in it.
    Dir {
        /// Components of the path.
        dir: Vec<&'static [u8]>,
    },
    /// A regular file.
    File {
        /// Components of the path of the parent directory.
        dir: Vec<&'static [u8]>,
        /// Prefix of the file name.
        name: &'static [u8],
        /// Content of the file.
        content: Content,
    },
    /// Another name for an earlier file. Has no effect if there is no earlier file.
    HardLink {
        /// Components of the path of the parent directory.
        dir: Vec<&'static [u8]>,
        /// Prefix of the name.
        name: &'static [u8],
        /// The number of the earlier file, modulo the number of files.
        file: usize,
    },
    /// A symbolic link.
    Symlink {
        /// Components of the path of the parent directory.
        dir: Vec<&'static [u8]>,
        /// Prefix of the name.
        name: &'static [u8],
        /// Its target.
        target: &'static str,
    },
}

/// A random tree as data. Its `Debug` form has one line per operation, with escaped paths.
#[derive(Clone, PartialEq, Eq)]
pub struct RandomTree {
    /// The operations, in order.
    pub ops: Vec<Op>,
}

impl RandomTree {
    /// Returns the tree as a description. Any list of operations gives a valid tree.
    pub fn builder(&self) -> TreeBuilder {
        let mut tree = TreeBuilder::new();
        let mut files: Vec<Vec<u8>> = Vec::new();
        for (i, op) in self.ops.iter().enumerate() {
            tree = match op {
                Op::Dir { dir } if dir.is_empty() => tree,
                Op::Dir { dir } => tree.dir(dir.join(&b'/')),
                Op::File { dir, name, content } => {
                    files.push(path(dir, name, i));
                    tree.file(path(dir, name, i), content.clone())
                }
                Op::HardLink { .. } if files.is_empty() => tree,
                Op::HardLink { dir, name, file } => {
                    tree.hard_link(&files[file % files.len()], path(dir, name, i))
                }
                Op::Symlink { dir, name, target } => tree.symlink(path(dir, name, i), target),
            };
        }
        tree
    }

    /// Creates the tree in `root`.
    ///
    /// # Panics
    ///
    /// Same as [`TreeBuilder::make`].
    pub fn make(&self, root: impl AsRef<Path>) -> Made {
        self.builder().make(root)
    }
}

impl fmt::Debug for RandomTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, op) in self.ops.iter().enumerate() {
            let at = |dir: &[&[u8]], name| path(dir, name, i).escape_ascii().to_string();
            match op {
                Op::Dir { dir } => writeln!(f, "dir {}", dir.join(&b'/').escape_ascii())?,
                Op::File { dir, name, content } => match content {
                    Content::Bytes(bytes) => {
                        writeln!(f, "file {}: {} zeros", at(dir, name), bytes.len())?;
                    }
                    content => writeln!(f, "file {}: {content:?}", at(dir, name))?,
                },
                Op::HardLink { dir, name, file } => {
                    writeln!(f, "hard link {} to file {file}", at(dir, name))?;
                }
                Op::Symlink { dir, name, target } => {
                    writeln!(f, "symlink {} -> {target}", at(dir, name))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns a strategy for trees of at most `most_ops` operations.
pub fn random_tree(most_ops: usize) -> impl Strategy<Value = RandomTree> {
    vec(op(), 0..=most_ops).prop_map(|ops| RandomTree { ops })
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        1 => dir().prop_map(|dir| Op::Dir { dir }),
        12 => (dir(), select(&NAME_STARTS[..]), content())
            .prop_map(|(dir, name, content)| Op::File { dir, name, content }),
        3 => (dir(), select(&NAME_STARTS[..]), 0_usize..1000)
            .prop_map(|(dir, name, file)| Op::HardLink { dir, name, file }),
        1 => (dir(), select(&NAME_STARTS[..]), select(vec!["d", "f0", "..", "/", "nowhere"]))
            .prop_map(|(dir, name, target)| Op::Symlink { dir, name, target }),
    ]
}

fn dir() -> impl Strategy<Value = Vec<&'static [u8]>> {
    vec(select(&DIR_NAMES[..]), 0..=MAX_DEPTH)
}

/// Draws from 12 sizes and 11 kinds, so that a few dozen files are likely to include duplicates.
pub fn content() -> impl Strategy<Value = Content> {
    let seeded =
        (select(&SIZES[..]), 0_u64..2).prop_map(|(len, seed)| Content::Seeded { seed, len });
    let differing = (select(&SIZES[..]), 0_u64..3, 1_u8..3).prop_map(|(len, half, variant)| {
        Content::Differing { seed: 0, len, at: len.saturating_sub(1) * half / 2, variant }
    });
    let hole = select(&SIZES[..]).prop_map(|len| Content::Sparse { len, islands: Vec::new() });
    let zeros = hole.clone().prop_map(|hole| Content::Bytes(hole.bytes()));
    prop_oneof![6 => seeded, 4 => differing, 1 => hole, 1 => zeros]
}

fn path(dir: &[&[u8]], name: &[u8], number: usize) -> Vec<u8> {
    let last = [name, number.to_string().as_bytes()].concat();
    let mut components = dir.to_vec();
    components.push(&last);
    components.join(&b'/')
}

#[cfg(test)]
mod tests {
    use super::{Op, random_tree};
    use crate::{Rules, TempTree, collapse_links, groups_match, jdupes, naive_truth};
    use proptest::prelude::{ProptestConfig, Strategy, TestCaseError, prop_assert_eq, proptest};
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 24, failure_persistence: None, ..ProptestConfig::default()
        })]

        #[test]
        fn the_oracle_and_jdupes_agree_on_random_trees(tree in random_tree(60)) {
            let temp = TempTree::new();
            tree.make(&temp);
            let truth = naive_truth(&[&temp], Rules::default());
            prop_assert_eq!(truth.unread.len(), 0);
            if let Some(groups) = jdupes(&temp) {
                let groups = collapse_links(&temp, &groups);
                groups_match(&truth.groups, &groups).map_err(TestCaseError::fail)?;
            }
        }
    }

    #[test]
    fn random_trees_contain_the_intended_cases() {
        let mut runner = TestRunner::deterministic();
        let mut made = (0, 0, 0);
        for _ in 0..20 {
            let tree = random_tree(60).new_tree(&mut runner).expect("a tree").current();
            let temp = TempTree::new();
            tree.make(&temp);
            made.0 += naive_truth(&[&temp], Rules::default()).groups.len();
            made.1 += tree.ops.iter().filter(|op| matches!(op, Op::HardLink { .. })).count();
            made.2 += tree.ops.iter().filter(|op| matches!(op, Op::Symlink { .. })).count();
        }
        assert!(made.0 > 40 && made.1 > 20 && made.2 > 5, "too tame: {made:?}");
    }
}
