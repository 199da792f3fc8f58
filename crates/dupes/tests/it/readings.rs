//! Heads and digests of chosen files, compared with independent ones.

mod disturbed;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::Ordering::Relaxed;

use content::{Digest, Head, head_of};
use device::Io;
use dupes::{Part, Set, Wanted, Work, read_wanted, wanted};
use fsops::FileKey;
use runtime::Progress;
use testkit::{Dice, TempTree, TreeBuilder};
use walk::{FileId, Tree};

use crate::scan::{Setup, Walked, ids, in_memory, setup};

/// The number of bytes of a head.
const HEAD: usize = 8192;

/// The problems by path, and the counters.
struct Reading {
    problems: BTreeMap<Vec<u8>, String>,
    progress: Progress,
}

impl Reading {
    fn bytes(&self) -> u64 {
        self.progress.bytes_read.load(Relaxed)
    }
}

/// Reads the chosen parts.
fn read(walked: &Walked, setup: &Setup, choose: impl Fn(FileId) -> Option<Part>) -> Reading {
    let (progress, mut problems) = (Progress::default(), BTreeMap::new());
    let work = Work::new(&walked.tree, &walked.fingerprints, &setup.find, &progress);
    for batch in wanted(&walked.tree, choose) {
        let found = read_wanted(&work, &batch).expect("not stopped");
        problems.extend(found.into_iter().map(|p| (p.path, p.reason.to_string())));
    }
    Reading { problems, progress }
}

/// Returns the first bytes of a file and all its bytes, hashed without the code under test.
fn expected(bytes: &[u8]) -> (Head, Digest) {
    let head = head_of(&bytes[..bytes.len().min(HEAD)]);
    (head, Digest(*blake3::hash(bytes).as_bytes()))
}

/// Returns what is recorded for a file.
fn recorded(walked: &Walked, id: FileId) -> (Option<Head>, Option<Digest>) {
    let facts = &walked.fingerprints;
    (facts.head(id.0), facts.content(id.0).and_then(|content| facts.digest(content)))
}

fn bytes_of(tree: &Tree, id: FileId) -> Vec<u8> {
    fs::read(OsStr::from_bytes(&tree.path(id))).expect("readable")
}

const SIZES: [u64; 9] = [1, 100, 4096, 8191, 8192, 8193, 65_536, 300_001, 3_000_000];

/// Creates files of many sizes, some with several names, with holes or with odd names.
fn tree() -> TempTree {
    let mut tree = TreeBuilder::new();
    for size in SIZES {
        for n in 0..6_u64 {
            tree = tree.seeded(format!("{size}/{n}"), n / 2, size);
        }
        tree = tree.hard_link(format!("{size}/0"), format!("links/{size}"));
        tree = tree.hard_link(format!("{size}/0"), format!("{size}/again"));
    }
    tree.seeded(b"odd \xff\n name", 9, 20_000)
        .sparse("holes", 2_000_000, &[(1_000_000, b"island")])
        .file("empty", "")
        .make_temp()
}

/// Chooses a part of each inode at random.
fn random_parts(tree: &Tree, seed: u64) -> HashMap<FileKey, Part> {
    let mut dice = Dice::new(seed);
    let parts = [None, Some(Part::Head), Some(Part::Whole)];
    let keys: HashSet<FileKey> = ids(tree).map(|id| tree.key(id)).collect();
    let mut keys: Vec<FileKey> = keys.into_iter().collect();
    keys.sort_unstable_by_key(|key| key.inode);
    keys.into_iter().filter_map(|key| Some((key, (*dice.pick(&parts)?)?))).collect()
}

#[test]
fn heads_and_digests_are_those_of_the_bytes_and_each_inode_is_read_once() {
    let tree = tree();
    let setups = [
        setup(),
        setup().io(Io::Hdd),
        setup().io(Io::Ssd).threads(8),
        setup().io(Io::Hdd).threads(4).open_dirs(1).open_files(2),
    ];
    for (seed, setup) in (0..12).zip(setups.iter().cycle()) {
        let walked = setup.walk(&[&tree]);
        let parts = random_parts(&walked.tree, seed);
        let part = |id| parts.get(&walked.tree.key(id)).copied();
        let reading = read(&walked, setup, part);
        assert!(reading.problems.is_empty(), "{:?}", reading.problems);
        let mut sizes = HashMap::new();
        for id in ids(&walked.tree) {
            let bytes = bytes_of(&walked.tree, id);
            let (head, digest) = expected(&bytes);
            let (length, wanted) = match part(id) {
                None => (0, (None, None)),
                Some(Part::Head) => (bytes.len().min(HEAD), (Some(head), None)),
                // An empty file has no first bytes to read.
                Some(Part::Whole) => (bytes.len(), (Some(head), Some(digest))),
            };
            let found = recorded(&walked, id);
            assert_eq!(found, wanted, "{}", walked.tree.path(id).escape_ascii());
            sizes.insert(walked.tree.key(id), length as u64);
        }
        let all: u64 = sizes.values().sum();
        assert_eq!(reading.bytes(), all);
        let progress = &reading.progress;
        assert_eq!(progress.bytes_done.load(Relaxed), all);
        assert_eq!(progress.files_done.load(Relaxed), parts.len() as u64);
        assert_eq!(progress.opened.load(Relaxed), parts.len() as u64);
    }
}

#[test]
fn a_search_computes_the_same_heads() {
    let tree = tree();
    let setup = setup();
    let walked = setup.walk(&[&tree]);
    read(&walked, &setup, |_| Some(Part::Whole));
    let scan = setup.scan_once(&[&tree]);
    let with_heads = ids(&scan.tree).filter(|id| scan.fingerprints.head(id.0).is_some());
    let mut compared = 0;
    for id in with_heads {
        let same = walked.file(OsStr::from_bytes(&scan.tree.path(id)).as_ref());
        assert_eq!(walked.fingerprints.head(same.0), scan.fingerprints.head(id.0));
        compared += 1;
    }
    assert!(compared > 40, "{compared} heads were compared");
}

#[test]
fn nothing_chosen_is_nothing_read() {
    let tree = tree();
    let walked = setup().walk(&[&tree]);
    assert!(wanted(&walked.tree, |_| None).is_empty());
    let reading = read(&walked, &setup(), |_| None);
    assert_eq!((reading.bytes(), reading.progress.opened.load(Relaxed)), (0, 0));
    let progress = Progress::default();
    let find = setup().find;
    let work = Work::new(&walked.tree, &walked.fingerprints, &find, &progress);
    assert!(read_wanted(&work, &Wanted::default()).expect("not stopped").is_empty());
}

#[test]
fn batches_have_the_largest_files_first_and_all_names_of_each_inode() {
    let tree = tree();
    let walked = setup().walk(&[&tree]);
    let requested = RefCell::new(Vec::new());
    let batches = wanted(&walked.tree, |id| {
        requested.borrow_mut().push(walked.tree.key(id));
        (walked.tree.file(id).size != 4096).then_some(Part::Head)
    });
    let inodes: HashSet<FileKey> = ids(&walked.tree).map(|id| walked.tree.key(id)).collect();
    let requested = requested.into_inner();
    assert_eq!(requested.len(), inodes.len(), "each inode is requested for once");
    assert_eq!(requested.into_iter().collect::<HashSet<_>>(), inodes);

    let chosen: Vec<_> = batches.iter().flat_map(Wanted::iter).collect();
    let class_and_name = |inode: &Set<'_, Part>| {
        let size = walked.tree.file(inode.files[0]).size;
        (Reverse(size.checked_ilog2()), inode.files[0])
    };
    assert!(chosen.iter().map(class_and_name).is_sorted(), "{chosen:?}");

    let mut names: Vec<FileId> = Vec::new();
    for inode in chosen {
        let key = walked.tree.key(inode.files[0]);
        let all: Vec<FileId> = ids(&walked.tree).filter(|&id| walked.tree.key(id) == key).collect();
        assert_eq!(inode.files, all, "the names of an inode");
        names.extend(inode.files);
    }
    let left_out = ids(&walked.tree).filter(|&id| walked.tree.file(id).size == 4096).count();
    assert_eq!(names.len() + left_out, walked.tree.files().len());
}

#[test]
fn a_batch_has_at_most_four_gigabytes_or_a_single_file() {
    const GIB: u64 = 1 << 30;
    let tree = TreeBuilder::new()
        .sparse("a", 5 * GIB, &[])
        .sparse("b", 2 * GIB, &[])
        .sparse("c", 2 * GIB, &[])
        .file("d", "x")
        .make_temp();
    let walked = setup().walk(&[&tree]);
    let names = |part| -> Vec<Vec<Vec<u8>>> {
        let name = |&id: &FileId| walked.tree.name(id).to_bytes().to_vec();
        let batch = |batch: Wanted| batch.iter().flat_map(|inode| inode.files).map(name).collect();
        wanted(&walked.tree, |_| Some(part)).into_iter().map(batch).collect()
    };
    assert_eq!(names(Part::Whole), [vec![b"a"], vec![b"b", b"c"], vec![b"d"]]);
    assert_eq!(names(Part::Head), [[b"a", b"b", b"c", b"d"]]);
}

#[test]
fn a_batch_has_at_most_a_hundred_thousand_files() {
    let tree = in_memory();
    for dir in 0..10 {
        let dir = tree.join(dir.to_string());
        fs::create_dir(&dir).expect("made");
        for file in 0..10_001 {
            fs::File::create(dir.join(file.to_string())).expect("made");
        }
    }
    let walked = setup().empty(true).walk(&[&tree]);
    let batches = wanted(&walked.tree, |_| Some(Part::Head));
    assert_eq!(batches.iter().map(Wanted::len).collect::<Vec<_>>(), [100_000, 10]);
}
