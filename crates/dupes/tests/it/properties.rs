//! For random trees, every setup finds the same groups as the oracle.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use content::Fingerprints;
use proptest::prelude::{ProptestConfig, Strategy, TestCaseError, any, prop_assert_eq, proptest};
use proptest::sample::select;
use runtime::Progress;
use testkit::{
    Groups, Rules, TempTree, collapse_links, groups_match, jdupes, naive_truth, random_tree,
};

use crate::changes::SetOnDrop;
use crate::reuse::{copy, remember};
use crate::scan::{Scan, Setup, Walked, ids, in_memory, setup};

fn setups() -> impl Strategy<Value = Setup> {
    let threads = select(vec![1, 2, 8]);
    let (open_files, open_dirs) = (select(vec![2, 3, 32]), select(vec![1, 4, 64]));
    (threads, open_files, open_dirs, any::<[bool; 3]>()).prop_map(
        |(threads, open_files, open_dirs, [hardlinks, empty, inline_reads])| {
            let setup = setup().threads(threads).open_files(open_files).open_dirs(open_dirs);
            setup.hardlinks(hardlinks).empty(empty).inline_reads(inline_reads)
        },
    )
}

fn truth(root: &TempTree, setup: &Setup) -> Groups {
    let rules = Rules { empty: setup.walk.filter.empty, every_link: setup.find.hardlinks };
    let truth = naive_truth(&[root], rules);
    assert!(truth.unread.is_empty());
    truth.groups
}

fn check(expected: &Groups, scan: &Scan) -> Result<(), TestCaseError> {
    prop_assert_eq!(scan.problems().len(), 0);
    groups_match(expected, &scan.absolute_groups()).map_err(TestCaseError::fail)
}

/// Ways to pass a tree to a scan.
#[derive(Clone, Copy, Debug)]
enum Naming {
    Whole,
    Twice,
    Relative,
    ThroughLinkAndDots,
    WithSomeInside,
    Split,
    SplitAndWhole,
}

const NAMINGS: [Naming; 7] = [
    Naming::Whole,
    Naming::Twice,
    Naming::Relative,
    Naming::ThroughLinkAndDots,
    Naming::WithSomeInside,
    Naming::Split,
    Naming::SplitAndWhole,
];

impl Naming {
    fn roots(self, root: &TempTree, outside: &TempTree) -> Vec<PathBuf> {
        let whole = root.path().to_path_buf();
        match self {
            Naming::Whole => vec![whole],
            Naming::Twice => vec![relative(&whole), whole.clone(), whole.join(".")],
            Naming::Relative => vec![relative(&whole)],
            Naming::ThroughLinkAndDots => {
                let link = outside.join("link");
                std::os::unix::fs::symlink(&whole, &link).expect("a new name");
                vec![link.join("."), link]
            }
            Naming::WithSomeInside => {
                let mut roots = entries(&whole, |kind| kind.is_dir());
                roots.push(whole);
                roots
            }
            Naming::Split => entries(&whole, |kind| !kind.is_symlink()),
            Naming::SplitAndWhole => {
                let mut roots = entries(&whole, |kind| !kind.is_symlink());
                roots.insert(roots.len() / 2, whole);
                roots
            }
        }
    }
}

fn entries(dir: &Path, take: impl Fn(std::fs::FileType) -> bool) -> Vec<PathBuf> {
    let entries = dir.read_dir().expect("a directory").map(|e| e.expect("an entry"));
    entries.filter(|e| take(e.file_type().expect("a kind"))).map(|e| e.path()).collect()
}

/// Returns an absolute path relative to the working directory.
pub(crate) fn relative(path: &Path) -> PathBuf {
    let here = std::env::current_dir().expect("a working directory");
    let mut relative: PathBuf = here.components().skip(1).map(|_| "..").collect();
    relative.push(path.strip_prefix("/").expect("an absolute path"));
    relative
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn groups_are_those_of_the_oracle(
        tree in random_tree(60),
        setup in setups(),
        naming in select(&NAMINGS[..]),
    ) {
        let (temp, outside) = (TempTree::new(), TempTree::new());
        tree.make(&temp);
        let scan = setup.scan(&naming.roots(&temp, &outside));
        check(&truth(&temp, &setup), &scan)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn groups_are_those_of_jdupes(tree in random_tree(60), setup in setups()) {
        let temp = in_memory();
        tree.make(&temp);
        if let Some(groups) = jdupes(&temp) {
            let scan = setup.hardlinks(false).empty(false).scan(&[&temp]);
            let expected = collapse_links(&temp, &groups);
            groups_match(&expected, &scan.groups()).map_err(TestCaseError::fail)?;
        }
    }

    #[test]
    fn known_fingerprints_do_not_change_the_groups(
        tree in random_tree(60),
        setup in setups(),
        known in any::<u64>(),
    ) {
        let temp = in_memory();
        tree.make(&temp);
        let first = setup.scan(&[&temp]);
        let expected = truth(&temp, &setup);
        check(&expected, &first)?;
        let fingerprints = part_of(&first, |id| known >> (id % 64) & 1 == 1);
        let second = Walked::new(first.tree, fingerprints).find(&setup);
        check(&expected, &second)?;
        let third = second.again(&setup);
        check(&expected, &third)?;
        prop_assert_eq!((third.opened(), third.bytes_read()), (0, 0));
        prop_assert_eq!(third.found.known, third.found.candidates);
    }

    #[test]
    fn a_tree_that_grew_has_the_same_groups_as_a_new_one(
        tree in random_tree(40),
        more in random_tree(20),
        setup in setups(),
    ) {
        let temp = in_memory();
        tree.make(&temp);
        let before = setup.scan(&[&temp]);
        more.make(temp.join("d/more"));
        let now = setup.walk(&[&temp]);
        remember(&before, &now);
        let scan = now.find(&setup);
        check(&truth(&temp, &setup), &scan)?;
    }

    #[test]
    fn a_stopped_search_can_be_continued(
        tree in random_tree(60),
        setup in setups(),
        after in 0_u64..60,
    ) {
        let temp = in_memory();
        tree.make(&temp);
        let walked = setup.walk(&[&temp]);
        let scan = match stopped_after(after, |progress| walked.try_find(&setup, progress)) {
            Ok(scan) => scan,
            Err(walked) => walked.find(&setup),
        };
        check(&truth(&temp, &setup), &scan)?;
    }
}

/// Returns the fingerprints that a scan found for the files that `take` selects.
fn part_of(scan: &Scan, take: impl Fn(u32) -> bool) -> Fingerprints {
    let fingerprints = Fingerprints::new(scan.tree.files().len());
    // Contents get the same numbers as in the scan.
    let contents: Vec<_> =
        (0..scan.fingerprints.contents()).map(|_| fingerprints.new_content(None)).collect();
    for id in ids(&scan.tree).map(|id| id.0).filter(|&id| take(id)) {
        copy(&scan.fingerprints, id, &fingerprints, id, &contents);
    }
    fingerprints
}

/// Runs `work` with a progress object that another thread stops once this many files have been
/// opened.
fn stopped_after<T>(files: u64, work: impl FnOnce(Arc<Progress>) -> T) -> T {
    let (progress, done) = (Arc::new(Progress::default()), AtomicBool::new(false));
    thread::scope(|scope| {
        let _stop = SetOnDrop(&done);
        scope.spawn(|| {
            while progress.opened.load(Relaxed) < files && !done.load(Relaxed) {
                thread::yield_now();
            }
            progress.stop();
        });
        work(progress.clone())
    })
}
