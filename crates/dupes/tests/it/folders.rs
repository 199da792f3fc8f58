//! Related directories in synthetic trees, checked against the definitions of the relations.

use std::ffi::CString;

use content::Fingerprints;
use dupes::{
    Folders, MAX_ALL_PAIRS_FILES, MAX_CONTAINER_CANDIDATES, Related, Relation, RememberedTree,
    State,
};
use fsops::{FileKey, Volume};
use proptest::collection::vec;
use proptest::prelude::{
    ProptestConfig, Strategy, TestCaseError, any, prop_assert, prop_assert_eq, proptest,
};
use proptest::sample::select;
use runtime::Progress;
use walk::Tree;

use crate::model::{ModelFile, World, known, size};

fn apart(a: &str, b: &str) -> bool {
    !a.starts_with(b) && !b.starts_with(a)
}

fn check(world: &World) -> Result<(), TestCaseError> {
    world.ask(|folders, related| {
        let path = |folder: &dupes::Folder| world.path(folder.dir);
        let redundant: Vec<String> =
            related.iter().flat_map(|r| r.redundant().iter().map(path)).collect();
        let is_redundant = |dir: &str| redundant.iter().any(|s| dir.starts_with(s.as_str()));
        check_each(world, &related)?;
        // Nothing below a redundant directory is reported.
        for r in &related {
            let above =
                |dir: &String| redundant.iter().any(|s| s != dir && dir.starts_with(s.as_str()));
            for folder in r.redundant().iter().map(path) {
                prop_assert!(!above(&folder), "{folder} is below a redundant one");
                prop_assert_eq!(redundant.iter().filter(|s| **s == folder).count(), 1);
            }
            if r.relation == Relation::Overlapping {
                prop_assert!(!r.folders.iter().any(|f| is_redundant(&path(f))));
            }
        }
        // Every content of a redundant directory also exists outside redundant directories.
        let gone = |f: &&ModelFile| is_redundant(&f.dir);
        for file in world.in_dir("").filter(gone) {
            let like = |f: &&ModelFile| f.content == file.content && !is_redundant(&f.dir);
            prop_assert!(world.in_dir("").any(|f| like(&f)), "{file:?} is lost");
        }
        prop_assert_eq!(
            folders.reclaimable(related.iter()),
            world.frees(world.in_dir("").filter(gone))
        );
        check_missed(world, &related, &is_redundant)
    })
}

/// Checks that every reported relation is true.
fn check_each(world: &World, related: &[Related]) -> Result<(), TestCaseError> {
    for r in related {
        let paths: Vec<String> = r.folders.iter().map(|f| world.path(f.dir)).collect();
        for (a, path) in paths.iter().enumerate() {
            prop_assert!(paths[a + 1..].iter().all(|other| apart(path, other)), "{paths:?}");
        }
        let first = &r.folders[0];
        let other = |n: usize| &paths[usize::from(n == 0)];
        for (n, folder) in r.folders.iter().enumerate() {
            let files = world.in_dir(&paths[n]);
            let held = files.fold((0, 0), |(n, b), f| (n + 1, b + size(f.content)));
            prop_assert_eq!((folder.files, folder.bytes), held);
            let shared = world.shared(&paths[n], other(n), |_| true);
            prop_assert_eq!((folder.shared_files, folder.shared_bytes), shared, "{:?}", paths);
        }
        prop_assert_eq!((r.files, r.bytes), (first.shared_files, first.shared_bytes));
        let shared_with = |f: &&ModelFile| {
            f.content.is_some() && world.in_dir(&paths[1]).any(|g| g.content == f.content)
        };
        let frees = match r.relation {
            Relation::Equal => {
                prop_assert!(paths.iter().all(|path| world.is_whole(path)));
                let listing = world.listing(&paths[0]);
                prop_assert!(paths.iter().all(|path| world.listing(path) == listing));
                prop_assert!(!listing.is_empty());
                world.frees(paths[1..].iter().flat_map(|path| world.in_dir(path)))
            }
            Relation::Contained => {
                prop_assert!(world.is_whole(&paths[0]));
                prop_assert_eq!((first.files, first.percent()), (r.files, 100));
                prop_assert!(first.files > 0);
                world.frees(world.in_dir(&paths[0]))
            }
            Relation::Overlapping => {
                prop_assert!(first.shared_bytes * 2 >= first.bytes, "{:?}", paths);
                prop_assert!(first.percent() >= r.folders[1].percent());
                world.frees(world.in_dir(&paths[0]).filter(shared_with))
            }
        };
        prop_assert_eq!(r.reclaimable, frees, "{:?} {:?}", r.relation, paths);
    }
    let pairs = || related.iter().filter(|r| r.relation == Relation::Overlapping);
    for (n, r) in pairs().enumerate() {
        let (a, b) = (world.path(r.folders[0].dir), world.path(r.folders[1].dir));
        for other in pairs().enumerate().filter(|(m, _)| *m != n).map(|(_, r)| r) {
            let (c, d) = (world.path(other.folders[0].dir), world.path(other.folders[1].dir));
            let below = |a: &str, b: &str| a.starts_with(&c) && b.starts_with(&d);
            prop_assert!(!below(&a, &b) && !below(&b, &a), "{a} ~ {b} is below {c} ~ {d}");
        }
    }
    Ok(())
}

/// Checks that every relation that is not reported is false or follows from a reported relation.
fn check_missed(
    world: &World,
    related: &[Related],
    is_redundant: &impl Fn(&str) -> bool,
) -> Result<(), TestCaseError> {
    let standing = |f: &ModelFile| !is_redundant(&f.dir);
    let named: Vec<String> =
        related.iter().flat_map(|r| r.folders.iter().map(|f| world.path(f.dir))).collect();
    for dir in world.dirs().iter().filter(|dir| !is_redundant(dir)) {
        let listing = world.listing(dir);
        let all_gone = !world.in_dir(dir).any(standing);
        let whole = world.is_whole(dir) && !listing.is_empty() && !all_gone;
        let copies = listing.values().filter_map(|c| c.0.map(|c| world.copies(c))).min();
        for other in world.dirs().iter().filter(|o| !is_redundant(o) && apart(dir, o)) {
            if whole && world.is_whole(other) {
                prop_assert!(world.listing(other) != listing, "{dir} = {other}");
            }
            if whole && copies.is_some_and(|copies| copies <= MAX_CONTAINER_CANDIDATES) {
                let shared = world.shared(dir, other, standing).0;
                prop_assert!(shared < listing.len() as u64, "{dir} < {other}");
            }
            let near = |f: &ModelFile| {
                standing(f) && f.content.is_some_and(|c| world.copies(c) <= MAX_ALL_PAIRS_FILES)
            };
            let bytes: u64 = world.in_dir(dir).map(|f| size(f.content)).sum();
            if !listing.is_empty() && world.shared(dir, other, near).1 * 2 >= bytes {
                let relations = named.iter().any(|name| !apart(name, dir));
                prop_assert!(relations, "{dir} ~ {other}");
            }
        }
    }
    Ok(())
}

fn states() -> impl Strategy<Value = State> {
    use State::{Changed, Gone, Same, Unknown};
    select(vec![Same, Same, Same, Same, Same, Same, Same, Same, Same, Same, Changed, Gone, Unknown])
}

fn files(contents: u8, most: usize) -> impl Strategy<Value = Vec<ModelFile>> {
    let dirs = select(vec!["", "a", "b", "c", "ab", "aa", "ba", "bb", "aba", "abb", "bba", "cab"]);
    let names = select(vec!["f", "g", "h", "i"]);
    let file = (dirs, names, 0..=contents, 0..3u8, states());
    let file = file.prop_map(move |(dir, name, content, inode, state)| ModelFile {
        dir: dir.into(),
        name: name.into(),
        content: (content < contents).then_some(content),
        inode,
        state,
    });
    // Some cases copy all files below `a` to `da`, so that large directories are equal as well.
    (vec(file, 1..most), any::<bool>(), any::<bool>()).prop_map(|(mut files, again, renamed)| {
        if again {
            let copies: Vec<ModelFile> = files
                .iter()
                .filter(|f| f.dir.starts_with('a'))
                .map(|f| {
                    let name = if renamed { format!("{}2", f.name) } else { f.name.clone() };
                    ModelFile { dir: format!("d{}", f.dir), name, inode: 0, ..f.clone() }
                })
                .collect();
            files.extend(copies);
        }
        files
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn relations_match_their_definitions(
        files in files(6, 24),
        untracked in vec(select(vec!["a", "b", "ab", "ba", "da"]), 0..2),
    ) {
        check(&World::new(files, &untracked))?;
    }

    #[test]
    fn relations_match_their_definitions_if_most_contents_are_rare(files in files(30, 40)) {
        check(&World::new(files, &[]))?;
    }
}

#[test]
fn equal_directories_are_one_set_and_nothing_below_them_is_reported() {
    let mut files = Vec::new();
    for dir in ["a", "b", "c"] {
        files.push(known(&format!("{dir}x"), "f", 1));
        files.push(known(&format!("{dir}xy"), "g", 2));
        files.push(known(dir, "h", 3));
    }
    assert_eq!(World::new(files.clone(), &[]).relations(), ["a = b = c"]);
    files.push(known("d", "f", 1));
    files.push(known("dy", "g", 2));
    // A directory below the first one is reported if it has another copy outside the set.
    assert_eq!(World::new(files, &[]).relations(), ["a = b = c", "ax = d"]);
}

#[test]
fn other_names_or_additional_files_turn_equal_into_contained() {
    let mut files = vec![known("a", "f", 1), known("a", "g", 2), known("b", "x", 2)];
    files.push(known("b", "y", 1));
    assert_eq!(World::new(files.clone(), &[]).relations(), ["b < a"]);
    files.push(known("b", "z", 3));
    assert_eq!(World::new(files.clone(), &[]).relations(), ["a < b"]);
    files.push(known("a", "h", 4));
    // The directory that shares the larger part of its bytes comes first.
    assert_eq!(World::new(files, &[]).relations(), ["b ~ a"]);
}

#[test]
fn a_changed_or_untracked_file_keeps_a_directory_from_being_redundant() {
    let files = vec![known("a", "f", 1), known("b", "f", 1)];
    assert_eq!(World::new(files.clone(), &[]).relations(), ["a = b"]);
    assert_eq!(World::new(files.clone(), &["b"]).relations(), ["a < b"]);
    assert_eq!(World::new(files.clone(), &["a", "b"]).relations(), ["a ~ b"]);
    let with = |state| {
        let changed = ModelFile { state, ..known("b", "g", 2) };
        World::new([files.clone(), vec![changed]].concat(), &[]).relations()
    };
    assert_eq!(with(State::Changed), ["a < b"]);
    assert_eq!(with(State::Unknown), ["a < b"]);
    assert_eq!(with(State::Gone), ["a = b"]);
}

#[test]
fn hard_links_are_shared_and_free_nothing() {
    let linked = |dir: &str, content| ModelFile { inode: 1, ..known(dir, "f", content) };
    let world = World::new(vec![linked("a", 1), linked("b", 1)], &[]);
    assert_eq!(world.relations(), ["a = b"]);
    world.ask(|folders, related| {
        assert_eq!((related[0].bytes, related[0].reclaimable), (size(Some(1)), 0));
        assert_eq!(folders.reclaimable(related.iter()), 0);
    });
}

#[test]
fn a_directory_is_not_compared_with_its_parent() {
    let files = vec![known("a", "f", 1), known("ab", "f", 1), known("abc", "f", 1)];
    assert_eq!(World::new(files, &[]).relations(), [""; 0]);
}

#[test]
fn a_directory_that_only_wraps_another_is_not_reported() {
    let files = vec![known("axy", "f", 1), known("axy", "g", 2), known("b", "f", 1)];
    let files = [files, vec![known("b", "g", 2)]].concat();
    assert_eq!(World::new(files, &[]).relations(), ["axy = b"]);
}

/// Each of these directories has one file, so the order of the sets depends only on which directory
/// is above which.
#[test]
fn a_set_is_reported_after_the_directories_that_contain_its_members() {
    let files = vec![known("aba", "i", 4), known("c", "i", 4), known("daba", "i", 4)];
    assert_eq!(World::new(files, &[]).relations(), ["a = da", "aba = c"]);
}

/// If many files have the same content, only adjacent files form hints. That is enough for
/// snapshots, because the copies of a file in successive snapshots are adjacent.
#[test]
fn each_snapshot_overlaps_with_the_next() {
    let mut files = Vec::new();
    for day in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        files.extend((1..6).map(|n| known(&format!("{day}x"), &format!("f{n}"), n)));
        // Each snapshot holds two files with any given content, so the next file is often in the
        // same snapshot.
        files.extend((1..6).map(|n| known(&format!("{day}y"), &format!("g{n}"), n)));
        files.push(ModelFile { content: None, ..known(&format!("{day}x"), "own", 0) });
        files.push(ModelFile { content: None, ..known(&format!("{day}y"), "own", 0) });
    }
    let relations = World::new(files, &[]).relations();
    let next = ["a ~ b", "b ~ c", "c ~ d", "d ~ e", "e ~ f", "f ~ g", "g ~ h"];
    assert!(next.iter().all(|pair| relations.contains(&(*pair).to_string())), "{relations:?}");
}

/// Two paths to one directory are recognized by its inode, not by its content.
#[test]
fn a_directory_is_not_a_duplicate_of_itself() {
    let mut tree = Tree::default();
    let root = tree.remember_root();
    let fingerprints = Fingerprints::new(3);
    let content = fingerprints.new_content(None);
    for (name, inode) in [(c"a", 5), (c"mounted", 5), (c"z", 6)] {
        let dir = tree.remember_dir(root, name);
        let key = FileKey { device: 1, inode };
        tree.place_dir(dir, Some((key, Volume { fsid: 1, magic: 1 })));
        let file = walk::Remembered { size: 7, inode: inode + 10, mtime_ns: 0, ctime_ns: 0 };
        let id = tree.remember_file(dir, c"f", file);
        fingerprints.set_content(id.0, content);
    }
    let (states, counts) = ([State::Same; 3], [0; 4]);
    let (all, progress) = (|_| u64::MAX, Progress::default());
    let remembered = RememberedTree {
        tree: &tree,
        fingerprints: &fingerprints,
        states: &states,
        untracked: &counts,
        reclaimable: &all,
    };
    let folders = Folders::new(&remembered, &progress).expect("not stopped");
    let related = folders.related(&progress).expect("not stopped");
    let paths: Vec<_> = related[0].folders.iter().map(|f| tree.dir_path(f.dir)).collect();
    assert_eq!((related.len(), paths), (1, vec![b"/a".to_vec(), b"/z".to_vec()]));
}

/// So many files have the same content that checking all pairs would take forever.
#[test]
fn the_cost_of_a_common_content_is_linear_in_its_files() {
    let mut tree = Tree::default();
    let root = tree.remember_root();
    let fingerprints = Fingerprints::new(300_000);
    let (common, mut states) = (fingerprints.new_content(None), Vec::new());
    for n in 0..100_000u64 {
        let name = CString::new(n.to_string()).expect("digits");
        let dir = tree.remember_dir(root, &name);
        let key = FileKey { device: 1, inode: 1 + n };
        tree.place_dir(dir, Some((key, Volume { fsid: 1, magic: 1 })));
        for (name, size, content) in [(c"LICENSE", 1000, Some(common)), (c"own", 1001 + n, None)] {
            let inode = 1_000_000 + 2 * n + u64::from(content.is_some());
            let file = walk::Remembered { size, inode, mtime_ns: 0, ctime_ns: 0 };
            let id = tree.remember_file(dir, name, file);
            states.push(State::Same);
            if let Some(content) = content {
                fingerprints.set_content(id.0, content);
            }
        }
    }
    let (counts, progress) = (vec![0; tree.dirs().len()], Progress::default());
    let remembered = RememberedTree {
        tree: &tree,
        fingerprints: &fingerprints,
        states: &states,
        untracked: &counts,
        reclaimable: &|_| u64::MAX,
    };
    let folders = Folders::new(&remembered, &progress).expect("not stopped");
    assert_eq!(folders.related(&progress).expect("not stopped").len(), 0);
}
