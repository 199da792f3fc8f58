//! Walks trees, commits them to a catalog, and sums what the catalog has.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, ScanRecord, ScanSizes, TreeMatch, Writer};
use runtime::Progress;
use space::{By, Compared, Space, TOP, decode, encode};
use testkit::{TempTree, TreeBuilder};
use walk::{Tree, walk};

/// A tree and a catalog outside of it.
struct Scanned {
    dir: TempTree,
}

impl Scanned {
    fn new() -> Scanned {
        let scanned = Scanned { dir: TempTree::new() };
        scanned.add(&TreeBuilder::new().dir("t"));
        scanned
    }

    fn add(&self, tree: &TreeBuilder) {
        let _made = tree.make(self.dir.path());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("exists").join(name)
    }

    /// Scans roots, `day` days after the epoch.
    fn scan(&self, roots: &[&str], options: &str, day: i64) {
        let roots: Vec<PathBuf> = roots.iter().map(|root| self.path(root)).collect();
        let mut tree =
            walk(&roots, &walk_options(), None, &Progress::default()).expect("not interrupted");
        let writer = Writer::open(&self.path("catalog.db"), |_| ()).expect("opens");
        let known = if writer.is_new() {
            TreeMatch::empty(&tree)
        } else {
            writer.catalog().match_tree(&mut tree, true).expect("matches")
        };
        let ms = day * 24 * 3600 * 1000;
        let (files, bytes, options) = (0, 0, options.to_string());
        let (started_ms, finished_ms) = (ms, ms);
        let record = ScanRecord { started_ms, finished_ms, options, files, bytes, position: None };
        let sizes = sizes(&tree);
        writer.commit(&tree, known, std::iter::empty(), &[], &record, &sizes).expect("commits");
    }

    fn load(&self) -> (Catalog, Space) {
        let catalog = Catalog::open(&self.path("catalog.db")).expect("opens");
        let space = Space::load(&catalog).expect("loads");
        (catalog, space)
    }

    /// Compares scans, and returns the comparisons and the growth of a directory.
    fn grown(&self, since_ms: Option<i64>, dir: &str) -> (Vec<Compared>, Option<i64>) {
        let (catalog, mut space) = self.load();
        let all = space.compare_scans(&catalog, since_ms, None).expect("compares");
        let dir = space.find(self.path(dir).as_os_str().as_encoded_bytes()).expect("is there");
        (all.compared, space.totals(dir).grown)
    }
}

fn walk_options() -> walk::Options {
    walk::Options {
        filter: walk::Filter::default(),
        one_file_system: false,
        threads: device::Threads { first: 2, grows: true },
        disks: Arc::default(),
        open_dirs: 8,
        root_timeout: Duration::from_secs(60),
        changes: None,
        own: walk::OwnFiles::default(),
    }
}

fn sizes(tree: &Tree) -> Vec<ScanSizes> {
    let roots = tree.roots().iter().filter(|root| root.whole);
    let sizes =
        |root: &walk::Root| ScanSizes { root: root.absolute.clone(), data: encode(tree, root) };
    roots.map(sizes).collect()
}

/// Sums sizes, disk space and numbers of files below each directory, as `du` does.
fn counted(dir: &Path, sums: &mut BTreeMap<PathBuf, (u64, u64, u64)>) -> (u64, u64, u64) {
    let mut sum = (0, 0, 0);
    for entry in std::fs::read_dir(dir).expect("lists") {
        let entry = entry.expect("an entry");
        let found = entry.metadata().expect("metadata");
        let add = if found.is_dir() {
            counted(&entry.path(), sums)
        } else {
            (found.len(), found.blocks() * 512, 1)
        };
        sum = (sum.0 + add.0, sum.1 + add.1, sum.2 + add.2);
    }
    sums.insert(dir.to_path_buf(), sum);
    sum
}

#[test]
fn the_sums_of_a_catalog_are_those_of_the_tree() {
    let scanned = Scanned::new();
    let tree = (0..60u64).fold(TreeBuilder::new(), |tree, n| {
        tree.seeded(format!("t/{}/{}/f{n}", n % 7, n % 3), n, n * 977 + 1)
    });
    scanned.add(&tree.sparse("t/1/holes", 1 << 20, &[(0, b"data")]));
    scanned.scan(&["t"], "", 1);
    let (_, space) = scanned.load();
    let mut expected = BTreeMap::new();
    counted(&scanned.path("t"), &mut expected);
    for (path, sums) in expected {
        let dir = space.find(path.as_os_str().as_encoded_bytes()).expect("is there");
        let totals = space.totals(dir);
        assert_eq!((totals.bytes, totals.allocated, totals.files), sums, "{}", path.display());
    }
    assert_eq!(space.totals(TOP).files, 61);
}

#[test]
fn a_record_has_the_same_sums_as_the_catalog() {
    let scanned = Scanned::new();
    let tree = TreeBuilder::new()
        .file("t/a/x", "1")
        .hard_links("linked", &["t/a/y", "t/b/c/z"])
        .file("t/b/w", "22");
    scanned.add(&tree);
    scanned.scan(&["t"], "", 1);
    let (catalog, space) = scanned.load();
    let histories = catalog.histories().expect("lists");
    let data = catalog.scan_size_data(histories[0].scans[0].scan, &histories[0].root);
    let record = decode(&data.expect("reads").expect("is there")).expect("a record");
    let top = space.find(&histories[0].root).expect("is there");
    let below = (0..space.len()).map(space::DirId).filter(|&dir| space.is_at_or_below(dir, top));
    let own: Vec<(&[u8], u64, u64)> = below
        .map(|dir| (if dir == top { b"" } else { space.name(dir) }, space.own(dir)))
        .map(|(name, own)| (name, own.allocated, own.files))
        .collect();
    let recorded = record.dirs.iter();
    let recorded: Vec<(&[u8], u64, u64)> =
        recorded.map(|dir| (record.name(dir), dir.allocated, dir.files.into())).collect();
    assert_eq!(recorded, own);
}

#[test]
fn the_last_scan_is_compared_with_the_one_before_or_with_one_of_an_age() {
    let scanned = Scanned::new();
    for (day, name) in [(10, "t/a/1"), (20, "t/a/2"), (30, "t/b/3")] {
        scanned.add(&TreeBuilder::new().file(name, vec![7; 4096]));
        scanned.scan(&["t"], "", day);
    }
    let ms = |day: i64| day * 24 * 3600 * 1000;
    let (compared, grown) = scanned.grown(None, "t");
    assert_eq!((compared[0].since_ms, compared[0].until_ms), (ms(20), ms(30)));
    assert_eq!(grown, Some(4096));
    let since = |day| scanned.grown(Some(ms(day)), "t").1;
    assert_eq!([9, 10, 29, 30].map(since), [None, Some(8192), Some(4096), Some(4096)]);
    assert_eq!(scanned.grown(None, "t/a").1, Some(0));
}

#[test]
fn the_growth_of_a_root_is_unknown_if_files_were_changed_after_its_last_scan() {
    let scanned = Scanned::new();
    scanned.add(&TreeBuilder::new().file("t/a/1", "x").file("t/b/2", "x"));
    scanned.scan(&["t/a", "t/b"], "", 1);
    scanned.add(&TreeBuilder::new().file("t/a/3", "x").file("t/b/4", "x"));
    scanned.scan(&["t/a"], "", 2);
    scanned.scan(&["t/b"], "", 3);
    let after = |changed_day: i64| {
        let (catalog, mut space) = scanned.load();
        let changed_ms = Some(changed_day * 24 * 3600 * 1000);
        let all = space.compare_scans(&catalog, None, changed_ms).expect("compares");
        let grown = |dir: &str| {
            let path = scanned.path(dir);
            space.totals(space.find(path.as_os_str().as_encoded_bytes()).expect("is there")).grown
        };
        let names = all.outdated.iter().map(|&root| space.name(root).to_vec());
        ((grown("t/a"), grown("t/b")), names.collect::<Vec<_>>())
    };
    let block = Some(4096);
    assert_eq!(after(1), ((block, block), vec![]));
    assert_eq!(after(2), ((None, block), vec![b"a".to_vec()]));
    assert_eq!(after(3), ((None, None), vec![b"a".to_vec(), b"b".to_vec()]));
    // A scan that finds the same sizes stores none, but its numbers are current.
    scanned.scan(&["t/a"], "", 4);
    assert_eq!(after(3), ((block, None), vec![b"b".to_vec()]));
}

#[test]
fn scans_with_other_options_are_not_compared() {
    let scanned = Scanned::new();
    for (day, options) in [(1, "--hidden"), (2, ""), (3, "--hidden")] {
        scanned.add(&TreeBuilder::new().file(format!("t/{day}"), vec![7; 4096]));
        scanned.scan(&["t"], options, day);
    }
    assert_eq!(scanned.grown(None, "t").1, Some(2 * 4096));
}

#[test]
fn the_growth_of_several_roots_adds_up_above_them() {
    let scanned = Scanned::new();
    scanned.add(&TreeBuilder::new().file("t/a/1", "x").file("t/b/2", "x"));
    scanned.scan(&["t/a", "t/b"], "", 1);
    scanned.add(&TreeBuilder::new().file("t/a/3", "x").file("t/b/4", vec![7; 5000]));
    scanned.scan(&["t/a", "t/b"], "", 2);
    let (compared, grown) = scanned.grown(None, "t");
    assert_eq!((compared.len(), grown), (2, Some(3 * 4096)));
}

#[test]
fn file_systems_have_the_lowest_directory_with_all_their_files() {
    let scanned = Scanned::new();
    scanned.add(&TreeBuilder::new().file("t/a/b/1", "x").file("t/a/c/2", "x"));
    scanned.scan(&["t"], "", 1);
    let (catalog, space) = scanned.load();
    let volumes = space.volumes(&catalog).expect("lists");
    let paths: Vec<Vec<u8>> = volumes.iter().map(|(_, dir)| space.path(*dir)).collect();
    assert_eq!(paths, [scanned.path("t/a").into_os_string().into_encoded_bytes()]);
    let parent = space.find(scanned.path("t").as_os_str().as_encoded_bytes()).expect("is there");
    assert_eq!(space.children(parent, By::Size).len(), 1);
}
