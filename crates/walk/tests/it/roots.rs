//! Tests of different kinds and spellings of roots.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use testkit::{PathBytes, TempTree, TreeBuilder};

use crate::found::{found, found_with, names, options, paths, problems, relative};

fn tree() -> TempTree {
    TreeBuilder::new()
        .file("a", "1")
        .file("d/b", "2")
        .file("d/e/c", "3")
        .file("d e/f", "4")
        .symlink("link", "d")
        .symlink("link to file", "a")
        .dangling_symlink("nowhere")
        .fifo("fifo")
        .make_temp()
}

fn joined(tree: &TempTree, names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(|name| tree.join(*name)).collect()
}

#[test]
fn a_root_with_several_spellings_is_walked_once() {
    let tree = tree();
    let dotted = tree.join("d/e/../..");
    let roots = [tree.path().to_path_buf(), relative(tree.path()), dotted, tree.join("./")];
    for first in 0..roots.len() {
        let mut roots = roots.clone();
        roots.rotate_left(first);
        let walked = found_with(&roots, &options());
        assert_eq!(walked.files().len(), 4);
        assert_eq!((walked.skipped.seen_before, walked.roots().len()), (3, 4));
        assert!(walked.roots().iter().all(|root| root.dir == walked.roots()[0].dir));
        // All roots are the same directory, so all paths start with the first root.
        assert!(paths(&walked).iter().all(|p| p.starts_with(roots[0].path_bytes())));
    }
}

#[test]
fn nested_roots_are_walked_once_in_any_order() {
    let tree = tree();
    for names in [["", "d", "d/e"], ["d/e", "d", ""], ["d", "", "d/e"]] {
        let walked = found_with(&joined(&tree, &names), &options());
        assert_eq!(paths(&walked), paths(&found(&tree)));
        assert_eq!((walked.skipped.seen_before, walked.roots().len()), (2, 3));
        for root in walked.roots() {
            assert_eq!(walked.absolute_dir_path(root.dir), root.absolute);
            assert!(root.whole);
        }
    }
}

#[test]
fn roots_with_a_common_name_prefix_are_separate() {
    let tree = tree();
    let walked = found_with(&joined(&tree, &["d", "d e"]), &options());
    assert_eq!(names(&tree, &walked).len(), 3);
    assert_eq!(walked.skipped.seen_before, 0);
}

#[test]
fn links_to_directories_are_followed_only_as_roots() {
    let tree = tree();
    let walked = found(tree.join("link"));
    assert_eq!(names(tree.join("link"), &walked).len(), 2);
    let absolute: Vec<_> = crate::found::ids(&walked).map(|id| walked.absolute_path(id)).collect();
    assert!(absolute.contains(&tree.join("d/b").path_bytes().to_vec()));
    // A link and its target are the same root.
    for names in [["link", "d"], ["d", "link"]] {
        let walked = found_with(&joined(&tree, &names), &options());
        assert_eq!((walked.files().len(), walked.skipped.seen_before), (2, 1));
    }
}

#[test]
fn a_root_may_be_a_file() {
    let tree = tree();
    let given = [relative(&tree.join("a")), tree.join("d/./b"), tree.join("link/e/c")];
    let walked = found_with(&given, &options());
    let expected = [
        relative(&tree.join("a")).path_bytes().to_vec(),
        tree.join("d/b").path_bytes().to_vec(),
        tree.join("link/e/c").path_bytes().to_vec(),
    ];
    let printed = paths(&walked);
    // The `.` component may be dropped or kept.
    let dotted = tree.join("d/./b").path_bytes().to_vec();
    assert_eq!(printed.len(), 3);
    for path in expected {
        assert!(printed.contains(&path) || path.ends_with(b"d/b") && printed.contains(&dotted));
    }
    assert!(walked.roots().iter().all(|root| !root.whole));
    for id in crate::found::ids(&walked) {
        let resolved = PathBuf::from(std::ffi::OsString::from(
            String::from_utf8(walked.absolute_path(id)).expect("UTF-8"),
        ));
        assert_eq!(resolved.canonicalize().expect("the file exists"), resolved);
    }
}

#[test]
fn a_file_in_two_roots_is_found_once() {
    let tree = tree();
    for names in [vec!["", "a", "d/b"], vec!["d/b", "a", ""], vec!["a", "link/b", "", "a", "d/e/c"]]
    {
        let walked = found_with(&joined(&tree, &names), &options());
        assert_eq!(paths(&walked), paths(&found(&tree)), "{names:?}");
        assert_eq!(walked.skipped.seen_before, names.len() as u64 - 1);
    }
    // A file named as a root is found even if the filter excludes its directory.
    let mut options = options();
    options.filter = options.filter.with_patterns(&[], &["d/".into()]).expect("a pattern");
    let walked = found_with(&joined(&tree, &["", "d/b"]), &options);
    assert!(names(&tree, &walked).contains("d/b"));
}

#[test]
fn invalid_roots_are_reported_and_the_others_walked() {
    let tree = tree();
    let gone = ["gone", "gone/below", "a/below", "a/", "nowhere/below"];
    let mut roots = joined(&tree, &gone);
    roots.push(PathBuf::new());
    roots.push(tree.join("d"));
    roots.push(tree.path().join("n".repeat(300)));
    roots.push(tree.path().join("n/".repeat(3000)));
    let walked = found_with(&roots, &options());
    assert_eq!(walked.files().len(), 2);
    let reported = problems(&walked);
    assert_eq!(reported.len(), roots.len() - 1, "{reported:?}");
    for root in roots.iter().filter(|root| !root.ends_with("d")) {
        assert!(reported.contains_key(root.path_bytes()), "{}", root.display());
    }
}

#[test]
fn a_link_to_a_file_is_followed_as_a_root() {
    let tree = tree();
    let walked = found(tree.join("link to file"));
    assert_eq!((walked.files().len(), walked.problems.len()), (1, 0));
    assert!(names(&tree, &walked).iter().eq(["a"]));
    // A file is counted once if a link and another root both lead to it.
    for others in [vec!["a"], vec![""], vec!["a", "", "link to file"]] {
        let roots = [joined(&tree, &others), joined(&tree, &["link to file"])].concat();
        let walked = found_with(&roots, &options());
        assert_eq!(walked.skipped.seen_before, others.len() as u64);
        assert_eq!(walked.files().len(), if others[0] == "a" && others.len() == 1 { 1 } else { 4 });
    }
}

#[test]
fn dangling_links_are_reported_and_fifos_skipped() {
    let tree = tree();
    let walked = found_with(&joined(&tree, &["nowhere", "fifo"]), &options());
    assert!(problems(&walked).keys().eq([tree.join("nowhere").path_bytes()]));
    assert_eq!((walked.files().len(), walked.skipped.fifos), (0, 1));
}

#[test]
fn a_root_that_loops_is_reported() {
    let tree = TempTree::new();
    symlink("loop", tree.join("loop")).expect("create link");
    let walked = found(tree.join("loop/x"));
    assert_eq!(problems(&walked).len(), 1);
}

#[test]
fn paths_start_with_the_root_as_given() {
    let tree = tree();
    let slashed = [tree.path().path_bytes(), b"/d//"].concat();
    for (root, expected) in [
        (tree.join("d"), tree.join("d/b").path_bytes().to_vec()),
        (slashed.to_path(), [&slashed[..], b"b"].concat()),
        (relative(&tree.join("d")), relative(&tree.join("d/b")).path_bytes().to_vec()),
    ] {
        assert!(paths(&found(&root)).contains(&expected), "{}", root.display());
    }
    assert!(Path::new("Cargo.toml").exists(), "tests run in their crate directory");
    let here = found(".");
    assert!(paths(&here).contains(&b"./Cargo.toml"[..]));
    let bare = found("Cargo.toml");
    assert!(paths(&bare).contains(&b"Cargo.toml"[..]));
    assert_eq!(found("src/lib.rs").files().len(), 1);
}

#[test]
fn a_root_may_have_any_name() {
    let tree = TreeBuilder::new().file(b"odd \xff\n/-/\x1b/a", "1").make_temp();
    for below in [&b"odd \xff\n"[..], b"odd \xff\n/-", b"odd \xff\n/-/\x1b", b"odd \xff\n/-/\x1b/a"]
    {
        let walked = found(tree.join(below));
        let path = tree.join(b"odd \xff\n/-/\x1b/a").path_bytes().to_vec();
        assert!(paths(&walked).into_iter().eq([path]));
    }
}

#[test]
fn no_roots_give_an_empty_tree() {
    let none: [&Path; 0] = [];
    let walked = found_with(&none, &options());
    assert!(walked.files().is_empty() && walked.roots().is_empty() && walked.dirs().is_empty());
}

#[test]
fn own_files_are_skipped_only_in_their_directory() {
    let tree = TreeBuilder::new()
        .file("state/catalog.db", "own")
        .file("state/catalog.db-wal", "own")
        .file("state/catalog", "not own")
        .file("other/catalog.db", "not own")
        .make_temp();
    let own = ["catalog.db", "catalog.db-wal"].map(|name| tree.join("state").join(name));
    let own = walk::OwnFiles::new(&own);
    let walked = found_with(&[&tree], &walk::Options { own, ..options() });
    let left: Vec<_> = names(&tree, &walked).into_iter().collect();
    assert_eq!(left, ["other/catalog.db", "state/catalog"]);
    let own = walk::OwnFiles::new(&[tree.join("no such directory/catalog.db")]);
    assert_eq!(found_with(&[&tree], &walk::Options { own, ..options() }).files().len(), 4);
}
