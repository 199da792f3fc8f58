//! Groups with the same folder set.

use review::{Review, folders_below};

use crate::shelf::{BLOCK, Copy, Shelf, copies};

/// Returns the folders of each set and the number of its groups.
fn sets(shelf: &Shelf, review: &Review) -> Vec<(Vec<String>, u32)> {
    let set = |set| review.sets().set(review.index(), set);
    let sets = (0..review.sets().len()).map(set);
    sets.map(|set| {
        let folders = set.folders.iter().map(|folder| shelf.short(&folder.path)).collect();
        (folders, set.groups)
    })
    .collect()
}

fn only_set(paths: &[&str]) -> Vec<String> {
    let shelf = Shelf::new(&[copies(1, paths)]);
    let review = shelf.review();
    let mut sets = sets(&shelf, &review);
    assert_eq!(sets.len(), 1);
    sets.remove(0).0
}

#[test]
fn shared_trailing_components_are_stripped() {
    for (paths, folders) in [
        (&["photos/2019/a/x", "backup/photos/2019/a/y"][..], &["", "backup"][..]),
        (&["one/2019/a/x", "two/2019/a/x"], &["one", "two"]),
        (&["one/x", "two/x"], &["one", "two"]),
        (&["one/2019/x", "two/2020/x"], &["one/2019", "two/2020"]),
        (&["one/a/x", "two/a/x", "three/a/x"], &["one", "three", "two"]),
        (&["one/a/x", "one/a/y", "two/a/x"], &["one", "two"]),
        (&["one/a/x", "two/a/x", "three/b/x"], &["one/a", "three/b", "two/a"]),
        (&["one/a/x", "one/a/y"], &["one/a"]),
        (&["x", "y"], &[""]),
        (&["one/x", "one/one/x"], &["", "one"]),
        (&["one/two/x", "two/x"], &["", "one"]),
        (&["a/a/a/x", "a/x"], &["", "a/a"]),
    ] {
        assert_eq!(only_set(paths), folders, "{paths:?}");
    }
}

#[test]
fn the_root_directory_can_be_a_folder() {
    assert_eq!(only_set(&["//x", "//y"]), ["//"]);
    assert_eq!(only_set(&["//x", "a/x"]), ["//", "a"]);
    assert_eq!(only_set(&["//tmp/x", "tmp/x"]), ["//", ""]);
}

#[test]
fn groups_of_equal_trees_are_one_set() {
    let mut linked = copies(4, &["one/d/l1", "two/d/l2", "one/d/l3"]);
    linked[0].inode = 9;
    linked[2].inode = 9;
    let files: Vec<Vec<Copy>> = vec![
        copies(1, &["one/x", "two/x"]),
        copies(2, &["one/d/e/x", "two/d/e/x"]),
        copies(3, &["one/u", "three/u", "three/v"]),
        linked,
    ];
    let shelf = Shelf::new(&files);
    let review = shelf.review();
    let expected =
        [(vec!["one".to_string(), "two".into()], 3), (vec!["one".to_string(), "three".into()], 1)];
    assert_eq!(sets(&shelf, &review), expected);
    let (sets, index) = (review.sets(), review.index());
    let set = sets.set(index, 0);
    assert_eq!((set.files, set.reclaimable), (7, 3 * BLOCK));
    let counts: Vec<_> = set.folders.iter().map(|folder| (folder.files, folder.bytes)).collect();
    assert_eq!(counts, [(4, 11_000), (3, 7000)]);
    for set in 0..sets.len() {
        assert!(sets.groups_of(set).iter().all(|&at| sets.set_of(at) == set));
        assert_eq!(sets.groups_of(set).len(), sets.set(index, set).groups as usize);
    }
    let paths = |paths: &[&str]| shelf.paths(paths);
    assert_eq!(sets.find(index, &paths(&["one", "two"])), Some(0));
    assert_eq!(sets.find(index, &paths(&["two", "one"])), Some(0));
    assert_eq!(sets.find(index, &paths(&["one", "three"])), Some(1));
    for none in [&["one"][..], &["one", "two", "three"], &["one", "four"], &["one/d", "two/d"], &[]]
    {
        assert_eq!(sets.find(index, &paths(none)), None, "{none:?}");
    }
}

#[test]
fn the_path_that_all_groups_have_in_common_below_their_folders_is_known() {
    let end = |groups: &[&[&str]]| {
        let groups = (1..).zip(groups).map(|(letter, paths)| copies(letter, paths));
        let review = Shelf::new(&groups.collect::<Vec<_>>()).review();
        assert_eq!(review.sets().len(), 1);
        String::from_utf8(review.sets().common_end(review.index(), 0)).expect("ASCII")
    };
    assert_eq!(end(&[&["one/p/2019/x", "two/p/2019/x"], &["one/p/2020/x", "two/p/2020/x"]]), "p");
    assert_eq!(end(&[&["one/p/a/x", "two/p/a/y"], &["one/p/a/z", "two/p/a/z"]]), "p/a");
    assert_eq!(end(&[&["one/p/x", "two/p/x"], &["one/q/x", "two/q/x"]]), "");
    assert_eq!(end(&[&["one/p/x", "two/p/x"], &["one/y", "two/y"]]), "");
    assert_eq!(end(&[&["one/p/x", "one/two/p/x"]]), "p", "one folder is below the other");
    assert_eq!(end(&[&["one/x", "one/y"]]), "", "a single folder");
}

#[test]
fn folders_below_a_folder_are_not_those_whose_names_only_begin_alike() {
    let below = |folder: &str, paths: &[&str]| -> Vec<String> {
        let paths = paths.iter().map(|path| path.as_bytes());
        let found = folders_below(folder.as_bytes(), paths);
        found.map(|path| String::from_utf8_lossy(path).into_owned()).collect()
    };
    assert_eq!(below("/a", &["/a", "/a/b", "/ab", "/", "/c/a/b"]), ["/a/b"]);
    assert_eq!(below("/", &["/", "/a"]), ["/a"]);
}
