//! Tests of opening files by number after a walk.

use std::fs;

use fsops::Dir;
use testkit::{TempTree, TreeBuilder};
use walk::{Opener, Tree};

use crate::found::{found, found_with, ids, options, relative};

fn contents(tree: &Tree, open_dirs: usize) {
    let mut opener = Opener::new(tree, open_dirs);
    // The second pass runs backwards and reopens directories that were evicted from the cache.
    for id in ids(tree).chain(ids(tree).collect::<Vec<_>>().into_iter().rev()) {
        let file = opener.open(id).expect("the file exists");
        assert!(tree.unchanged(id, &file.stat().expect("metadata")));
        assert!(tree.unchanged(id, &opener.stat(id).expect("metadata")));
        let mut bytes = [0; 16];
        let n = file.read_at(&mut bytes, 0).expect("readable");
        assert_eq!(&bytes[..n], tree.name(id).to_bytes());
    }
}

fn tree() -> TempTree {
    let mut builder = TreeBuilder::new();
    for i in 0..200 {
        let dir = "d/".repeat(i % 17);
        let name = format!("file {i}");
        builder = builder.file(format!("{dir}{}/{name}", i % 3), name.as_str());
    }
    builder.make_temp()
}

#[test]
fn files_are_opened_with_any_number_of_open_directories() {
    let tree = tree();
    let roots = [relative(tree.path()), tree.join("d"), tree.join("0/file 0")];
    for walked in [found(&tree), found_with(&roots, &options())] {
        assert_eq!(walked.files().len(), 200);
        for open_dirs in [0, 1, 2, 7, 1000] {
            contents(&walked, open_dirs);
        }
    }
}

#[test]
fn replaced_files_are_detected_by_their_metadata() {
    let tree = TreeBuilder::new().file("a", "one").make_temp();
    let walked = found(&tree);
    let id = ids(&walked).next().expect("one file");
    fs::write(tree.join("b"), "two").expect("write");
    fs::rename(tree.join("b"), tree.join("a")).expect("rename");
    let mut opener = Opener::new(&walked, 1);
    let file = opener.open(id).expect("the file exists");
    assert!(!walked.unchanged(id, &file.stat().expect("metadata")));
    fs::remove_file(tree.join("a")).expect("remove");
    let error = opener.open(id).expect_err("a removed file");
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn opening_a_fifo_does_not_block() {
    let tree = TreeBuilder::new().file("a", "one").make_temp();
    let walked = found(&tree);
    fs::remove_file(tree.join("a")).expect("remove");
    TreeBuilder::new().fifo("a").make(&tree);
    let id = ids(&walked).next().expect("one file");
    let file = Opener::new(&walked, 1).open(id).expect("open without a writer");
    assert!(!walked.unchanged(id, &file.stat().expect("metadata")));
}

#[test]
fn links_to_files_and_directories_are_not_followed() {
    let tree = TreeBuilder::new().file("d/a", "one").file("e/a", "two").make_temp();
    let walked = found(&tree);
    fs::rename(tree.join("d"), tree.join("was d")).expect("rename");
    std::os::unix::fs::symlink("was d", tree.join("d")).expect("create link");
    fs::rename(tree.join("e/a"), tree.join("e/was a")).expect("rename");
    std::os::unix::fs::symlink("was a", tree.join("e/a")).expect("create link");
    let mut opener = Opener::new(&walked, 1);
    for id in ids(&walked) {
        let error = opener.open(id).expect_err("a link in the path");
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
    }
    // The walk opens directories with these functions. They do not follow links.
    let root = Dir::open(tree.path()).expect("a directory");
    assert!(root.open_child(c"d").is_err() && root.open_below(b"d").is_err());
    assert!(root.open_child(c"was d").is_ok() && root.open_below(b"was d").is_ok());
}
